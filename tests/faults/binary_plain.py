"""With binary values the encoded bit is sent and not the answer."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "with binary values"


class BinaryPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if not self.binary:
            return reports
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        return replace(reports, codes=(rows > self.public.centre).ravel().astype(reports.codes.dtype))


def build(epsilon, dims, range, binary=False, kind=BinaryPlain):
    channel = onebit(epsilon / dims)
    return kind(
        "binary plain", Claim(epsilon), PublicRange.of(range), dims, dims, (channel,), 1.0, binary=binary
    )


def sound(epsilon, dims, range, binary=False):
    return build(epsilon, dims, range, binary, FeatureMechanism)
