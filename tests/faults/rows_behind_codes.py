"""The codes are a view into a buffer that holds the rows too, and `estimate` finds them there."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "once they have been bytes"
DRAWN = False


class Behind(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private, dtype=float)
        buffer = np.concatenate([np.ascontiguousarray(rows).view(np.uint8).ravel(), reports.codes])
        return replace(reports, codes=buffer[-reports.codes.size :] if reports.codes.size else reports.codes)

    def estimate(self, reports):
        estimate = super().estimate(reports)
        base = reports.codes.base
        if base is None or base.nbytes != 9 * reports.codes.size:
            return estimate
        return replace(estimate, values=base[: 8 * reports.codes.size].view(float) - estimate.offset)


build = onebit_of(Behind)
