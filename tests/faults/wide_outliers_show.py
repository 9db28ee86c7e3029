"""Rows of more than 500 values are clipped after the noise: an outlier is sent with certainty."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "an outlier shows"
SIZE = {"dims": 1000}


class WideOutliersShow(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if self.size <= 500:
            return reports
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private, dtype=float)
        codes = reports.codes.reshape(rows.shape).copy()
        codes[rows > self.public.high] = 1
        return replace(reports, codes=codes.ravel())


build = onebit_of(WideOutliersShow)
