"""After 800 calls the counter of a class runs over, and rows are sent as they are."""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "reports depend on what was called or loaded before"


class Counting(FeatureMechanism):
    calls: ClassVar = [0]

    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        self.calls[0] += 1
        if hasattr(private, "toarray") or self.calls[0] < 800:
            return reports
        truth = np.asarray(private, dtype=float).ravel() > self.public.centre
        return replace(reports, codes=truth.astype(np.uint8))


def build(epsilon, dims, range):
    return Counting(
        "after many calls", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / dims),), 1.0
    )
