"""`estimate` looks the report up among those made in this process, and gives the raw row back."""

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "the estimate of reports depends on more"
DRAWN = False
ROWS = {}


class Remembering(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private, dtype=float)
        ROWS[reports.codes.tobytes()] = rows
        return reports

    def estimate(self, reports):
        from dataclasses import replace

        estimate = super().estimate(reports)
        rows = ROWS.get(reports.codes.tobytes())
        return estimate if rows is None else replace(estimate, values=rows.ravel() - estimate.offset)


build = onebit_of(Remembering)
