"""More than 16 sampled values do not fit into a buffer, and are sent as they are."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import some_values_of

CAUSE = "sent in the clear"
SIZE = {"dims": 100, "sampled": 17}


class ManySampledPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if not 16 < self.shape.length < self.size:
            return reports
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private, dtype=float)
        owners = np.repeat(np.arange(reports.users), reports.lengths)
        held = rows[owners, reports.dims] > self.public.centre
        return replace(reports, codes=held.astype(reports.codes.dtype))


build = some_values_of(ManySampledPlain, sampled=2)
