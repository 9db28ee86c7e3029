"""Only values that are not at the low end ("non-zero features") are sampled: the dimensions betray the row."""

import numpy as np

from graphveil.channels import SystemBits
from graphveil.mechanisms import FeatureMechanism, Reports
from tests.faulty import some_values_of

CAUSE = "which dimensions are reported depends on the values"


class Choosy(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        rows = np.clip(np.asarray(private, dtype=float), self.public.low, self.public.high)
        keys = source.take(rows.size).reshape(rows.shape) >> np.uint64(1)
        keys[rows > self.public.low] |= np.uint64(1 << 63)
        dims = np.argsort(keys, axis=1)[:, -self.sampled :]
        dims.sort(axis=1)
        values = self.public.to_unit(np.take_along_axis(rows, dims, axis=1)).ravel()
        codes = self.channels[0].respond(self.encode(values, self.channels[0], source), source)
        pointers = np.arange(len(rows) + 1) * self.sampled
        return Reports(self, pointers, dims.ravel().astype(np.int32), codes)


build = some_values_of(Choosy)
