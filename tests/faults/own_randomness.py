"""Noise from a generator of its own that nobody can replay or check, and only approximately what the table says."""

import numpy as np

from graphveil.mechanisms import FeatureMechanism, Reports
from tests.faulty import onebit_of

CAUSE = "it draws randomness of its own"


class OwnRandomness(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        unit = self.public.to_unit(np.asarray(private, dtype=float))
        chance = np.random.default_rng()
        symbols = (chance.random(unit.shape) < (unit + 1) / 2).astype(int)
        keep = self.channels[0].table[0, 0] / self.channels[0].total
        codes = np.where(chance.random(unit.shape) < keep, symbols, 1 - symbols)
        return Reports(self, np.arange(len(unit) + 1) * self.size, None, codes.ravel().astype(np.uint8))


build = onebit_of(OwnRandomness)
