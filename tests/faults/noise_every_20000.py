"""A table of 20,000 noise rows is drawn once and used again from its start."""

import numpy as np

from tests.faulty import ByHand, onebit_of

CAUSE = "users with the same row are not independent"

PERIOD = 20_000


class Every20000(ByHand):
    def spoil(self, drawn):
        return drawn[np.arange(len(drawn)) % PERIOD]


build = onebit_of(Every20000)
