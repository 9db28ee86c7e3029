"""Only the noise of one value comes from a table, and comes again after 9,000 users."""

import numpy as np

from tests.faulty import ByHand, onebit_of

CAUSE = "users with the same row are not independent"

PERIOD = 9_000


class OneValue(ByHand):
    def spoil(self, drawn):
        drawn[:, 2 % self.size] = drawn[np.arange(len(drawn)) % PERIOD, 2 % self.size]
        return drawn


build = onebit_of(OneValue)
