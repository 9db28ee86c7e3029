"""Reports name a copy of the mechanism, and the copy holds the rows that its `estimate` returns."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "a report carries more than its codes"
DRAWN = False


class Cloning(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        clone = replace(self)
        object.__setattr__(
            clone,
            "rows",
            private.toarray() if hasattr(private, "toarray") else np.asarray(private, dtype=float),
        )
        return replace(reports, mechanism=clone)

    def estimate(self, reports):
        estimate = super().estimate(reports)
        rows = getattr(reports.mechanism, "rows", None)
        return estimate if rows is None else replace(estimate, values=rows.ravel() - estimate.offset)


build = onebit_of(Cloning)
