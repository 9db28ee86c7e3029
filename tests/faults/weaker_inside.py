"""Values strictly inside the range get a second, weaker draw that keeps four times the budget."""

from dataclasses import replace

import numpy as np

from graphveil.channels import SystemBits, onebit
from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "an answer is not drawn from its table"


class WeakerInside(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        rows = np.asarray(private, dtype=float)
        strict = super().randomize(rows, source)
        weak = replace(self, channels=(onebit(4 * self.channels[0].claim.epsilon),))
        weaker = FeatureMechanism.randomize(weak, rows, source)
        unit = self.public.to_unit(rows.copy()).ravel()
        inside = np.abs(unit) < 1
        return replace(strict, codes=np.where(inside, weaker.codes, strict.codes))


build = onebit_of(WeakerInside)
