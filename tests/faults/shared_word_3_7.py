"""Value 7 is answered with the random word of value 3, by an index that was copied from there."""

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import ByHand, onebit_of

CAUSE = "answers of one report are not independent"


class SharedWord(ByHand):
    def spoil(self, drawn):
        if self.size > 7:
            drawn[:, 7] = drawn[:, 3]
        return drawn


build = onebit_of(SharedWord)
sound = onebit_of(FeatureMechanism)
