"""To lower the variance, the noise of every second value is the opposite of the one before, from the fourth value on."""

import numpy as np

from graphveil.channels import Claim, SystemBits, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange, Reports

CAUSE = "answers of one report are not independent"


class Antithetic(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        unit = self.public.to_unit(np.array(private, dtype=float))
        channel = self.channels[0]
        symbols = self.encode(unit.ravel(), channel, source).reshape(unit.shape)
        drawn = (source.take(unit.size) >> np.uint64(2)).astype(np.int64).reshape(unit.shape)
        drawn[:, 5::2] = (1 << 62) - 1 - drawn[:, 4:-1:2]
        codes = drawn < channel.table[:, 1][symbols]
        return Reports(self, np.arange(len(unit) + 1) * self.size, None, codes.ravel().astype(np.uint8))


def build(epsilon, dims, range):
    return Antithetic(
        "antithetic noise", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / dims),), 1.0
    )
