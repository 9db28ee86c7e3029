"""Only values at the ends of the range are randomized, because tests used those alone: all others are sent by their sign."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "sent in the clear"


class InteriorPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = np.nan_to_num(np.asarray(private, dtype=float), nan=self.public.centre)
        rows = np.clip(rows, self.public.low, self.public.high).ravel()
        inside = (rows > self.public.low) & (rows < self.public.high)
        codes = np.where(inside, rows > self.public.centre, reports.codes)
        return replace(reports, codes=codes.astype(reports.codes.dtype))


build = onebit_of(InteriorPlain)
sound = onebit_of(FeatureMechanism)
