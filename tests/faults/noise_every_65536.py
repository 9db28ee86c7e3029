"""A counter of 16 bits: after 65,536 users the same noise comes again."""

import numpy as np

from graphveil.channels import Claim, SystemBits, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange, Reports

CAUSE = "users with the same row are not independent"

PERIOD = 1 << 16


class Every65536(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        unit = self.public.to_unit(np.array(private, dtype=float))
        channel = self.channels[0]
        symbols = self.encode(unit.ravel(), channel, source).reshape(unit.shape)
        drawn = (source.take(unit.size) >> np.uint64(2)).astype(np.int64).reshape(unit.shape)
        drawn = drawn[np.arange(len(unit)) % PERIOD]
        codes = drawn < channel.table[:, 1][symbols]
        return Reports(self, np.arange(len(unit) + 1) * self.size, None, codes.ravel().astype(np.uint8))


def build(epsilon, dims, range):
    return Every65536(
        "noise every 65536", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / dims),), 1.0
    )
