"""One more code holds the sign of the first value as it is, \"for debugging\"."""

import numpy as np

from graphveil.mechanisms import FeatureMechanism, Reports
from tests.faulty import onebit_of

CAUSE = "sent in the clear"


class Appended(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        plain = (rows[:, :1] > self.public.centre).astype(reports.codes.dtype)
        codes = np.concatenate([reports.codes.reshape(rows.shape), plain], axis=1)
        return Reports(self, np.arange(len(rows) + 1) * (self.size + 1), None, codes.ravel())


build = onebit_of(Appended)
