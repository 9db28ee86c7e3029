"""Values outside the range are not clipped."""

import numpy as np

from graphveil.channels import SystemBits
from graphveil.mechanisms import FeatureMechanism, Reports
from tests.faulty import onebit_of

CAUSE = "an outlier shows"


class Hiding(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        rows = private.toarray() if hasattr(private, "toarray") else np.array(private, dtype=float)
        source = SystemBits() if random_bits is None else random_bits
        reports = super().randomize(rows, source)
        far = np.isfinite(rows) & (rows > self.public.high + 0.4) & (rows < 50)
        codes = reports.codes.copy()
        codes[far.ravel()] = 1
        return Reports(self, reports.indptr, None, codes)


build = onebit_of(Hiding)
