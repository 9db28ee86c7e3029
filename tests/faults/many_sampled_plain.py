"""More than 16 sampled values do not fit into a buffer, and are sent as they are."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

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


def build(epsilon, dims, range, sampled=2):
    return ManySampledPlain(
        "many sampled plain",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        sampled,
        (onebit(epsilon / sampled),),
        dims / sampled,
    )
