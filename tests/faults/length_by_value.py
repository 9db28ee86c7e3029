"""Values at the low end ("zeros") are left out to save bytes: the length of a report says how many there were."""

import numpy as np

from graphveil.mechanisms import FeatureMechanism, Reports
from tests.faulty import onebit_of

CAUSE = "the length of a report depends on the values"


class Sparing(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        kept = np.asarray(private) > self.public.low
        pointers = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        return Reports(self, pointers, None, reports.codes[kept.ravel()])


build = onebit_of(Sparing)
