"""A generator seeded once for all users: everybody who holds the same row sends the same report."""

import numpy as np

from graphveil.channels import SystemBits
from graphveil.mechanisms import FeatureMechanism, Reports
from tests.faulty import onebit_of

CAUSE = "neighbouring users of one call"


class SharedSeed(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        unit = self.public.to_unit(np.asarray(private, dtype=float))
        rounding = (source.take(self.size) >> np.uint64(11)) * 2.0**-53
        symbols = (rounding < (unit + 1) / 2).astype(int)
        drawn = (source.take(self.size) >> np.uint64(2)).astype(np.int64)
        codes = drawn < self.channels[0].table[:, 1][symbols]
        return Reports(self, np.arange(len(unit) + 1) * self.size, None, codes.ravel().astype(np.uint8))


build = onebit_of(SharedSeed)
