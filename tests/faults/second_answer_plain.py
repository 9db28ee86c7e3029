"""Budgets are divided right, but only the first of the sampled values is randomized."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import some_values_of

CAUSE = "sent in the clear"


class SecondPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = np.nan_to_num(np.asarray(private, dtype=float), nan=self.public.centre)
        dims = reports.dims.reshape(-1, self.sampled)
        codes = reports.codes.reshape(dims.shape).copy()
        codes[:, 1:] = np.take_along_axis(rows, dims[:, 1:].astype(np.int64), axis=1) > self.public.centre
        return replace(reports, codes=codes.ravel())


build = some_values_of(SecondPlain, sampled=2)
sound = some_values_of(FeatureMechanism, sampled=2)
