"""A counter of 16 bits: after 65,536 users the same noise comes again."""

import numpy as np

from tests.faulty import ByHand, onebit_of

CAUSE = "users with the same row are not independent"

PERIOD = 1 << 16


class Every65536(ByHand):
    def spoil(self, drawn):
        return drawn[np.arange(len(drawn)) % PERIOD]


build = onebit_of(Every65536)
