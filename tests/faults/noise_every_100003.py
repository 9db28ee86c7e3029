"""A pool of noise of odd length is drawn once, and used again from its start when it is empty."""

import numpy as np

from graphveil.channels import Claim, SystemBits, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange, Reports

CAUSE = "users with the same row are not independent"

PERIOD = 100_003


class Every100003(FeatureMechanism):
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
    return Every100003(
        "noise every 100003",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        1.0,
    )
