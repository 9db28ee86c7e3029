"""To lower the variance, the noise of every second value is the opposite of the one before, from the fourth value on."""

from tests.faulty import ByHand, onebit_of

CAUSE = "answers of one report are not independent"


class Antithetic(ByHand):
    def spoil(self, drawn):
        drawn[:, 5::2] = (1 << 62) - 1 - drawn[:, 4:-1:2]
        return drawn


build = onebit_of(Antithetic)
