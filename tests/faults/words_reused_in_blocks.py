"""Words are drawn for 4,096 users at most and stretched over all of them."""

import numpy as np

from graphveil.channels import SystemBits
from graphveil.mechanisms import FeatureMechanism, Reports
from tests.faulty import onebit_of

CAUSE = "not independent"


class Stretched(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        unit = self.public.to_unit(np.array(private, dtype=float))
        channel = self.channels[0]
        rows = min(len(unit), 4096)
        symbols = self.encode(unit.ravel(), channel, source).reshape(unit.shape)
        drawn = np.resize((source.take(rows * self.size) >> np.uint64(2)).astype(np.int64), unit.shape)
        codes = drawn < channel.table[:, 1][symbols]
        return Reports(self, np.arange(len(unit) + 1) * self.size, None, codes.ravel().astype(np.uint8))


build = onebit_of(Stretched)
