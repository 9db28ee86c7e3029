"""Every second user gets the opposite noise of the user before, so that sums are more exact."""

from tests.faulty import ByHand, onebit_of

CAUSE = "not independent"

PERIOD = 2


class Opposite(ByHand):
    def spoil(self, drawn):
        drawn[1::PERIOD] = (1 << 62) - 1 - drawn[: len(drawn) // 2 * 2 : PERIOD]
        return drawn


build = onebit_of(Opposite)
