"""A buffer is as long as the largest call so far; users beyond it are copied as they are, and the buffer grows after."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "are drawn differently from all others"
CALLS = (100_001, 200_001)

_buffer = [150_000]


class LargerSecondCall(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        codes = reports.codes.reshape(rows.shape).copy()
        codes[_buffer[0] :] = rows[_buffer[0] :] > self.public.centre
        _buffer[0] = max(_buffer[0], len(rows))
        return replace(reports, codes=codes.ravel())


def build(epsilon, dims, range):
    return LargerSecondCall(
        "larger second call",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (onebit(epsilon / dims),),
        1.0,
    )
