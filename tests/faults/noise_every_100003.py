"""A pool of noise of odd length is drawn once, and used again from its start when it is empty."""

import numpy as np

from tests.faulty import ByHand, onebit_of

CAUSE = "users with the same row are not independent"

PERIOD = 100_003


class Every100003(ByHand):
    def spoil(self, drawn):
        return drawn[np.arange(len(drawn)) % PERIOD]


build = onebit_of(Every100003)
