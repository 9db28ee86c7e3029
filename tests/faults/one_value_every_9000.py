"""Only the noise of one value comes from a table, and comes again after 9,000 users."""

import numpy as np

from graphveil.channels import Claim, SystemBits, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange, Reports

CAUSE = "users with the same row are not independent"

PERIOD = 9_000


class OneValue(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        unit = self.public.to_unit(np.array(private, dtype=float))
        channel = self.channels[0]
        symbols = self.encode(unit.ravel(), channel, source).reshape(unit.shape)
        drawn = (source.take(unit.size) >> np.uint64(2)).astype(np.int64).reshape(unit.shape)
        drawn[:, 2 % self.size] = drawn[np.arange(len(unit)) % PERIOD, 2 % self.size]
        codes = drawn < channel.table[:, 1][symbols]
        return Reports(self, np.arange(len(unit) + 1) * self.size, None, codes.ravel().astype(np.uint8))


def build(epsilon, dims, range):
    return OneValue(
        "one value every 9000",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        1.0,
    )
