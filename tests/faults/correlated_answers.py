"""One random number is drawn for each user and used for all of the user's answers: they err together or not at all."""

import numpy as np

from graphveil.channels import SystemBits
from graphveil.mechanisms import FeatureMechanism, Reports
from tests.faulty import onebit_of

CAUSE = "the sampler does not draw what the table says"


class OneNumber(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        channel = self.channels[0]
        unit = self.public.to_unit(np.asarray(private, dtype=float))
        symbols = self.encode(unit.ravel(), channel, source).reshape(unit.shape)
        drawn = (source.take(len(unit)) >> np.uint64(2)).astype(np.int64)
        codes = drawn[:, None] < channel.table[:, 1][symbols]
        return Reports(self, np.arange(len(unit) + 1) * self.size, None, codes.ravel().astype(np.uint8))


build = onebit_of(OneNumber)
