"""The sparse vector technique without its cut-off: one noisy threshold for all values, and every answer is given, not the first only.

Its proof covers a single answer above the threshold. With many values all of them together tell the row.
"""

import numpy as np

from graphveil.channels import Claim, SystemBits, onebit
from graphveil.errors import InputError
from graphveil.mechanisms import FeatureMechanism, Mechanism, PublicRange, Reports, ReportShape

CAUSE = "reports tell more than claimed"
SIZE = {"dims": 1024}


class SparseVector(Mechanism):
    finite = False
    subject = "features"
    unbiased = False
    answers = ()

    def __init__(self, epsilon, dims, public):
        self.name, self.claim, self.public = "sparse vector", Claim(epsilon), public
        self.size = dims

    @property
    def shape(self):
        return ReportShape(self.size, 2, self.size)

    @property
    def loss(self):
        """The loss ε of AboveThreshold: half of it for the threshold, half for the answer above it."""
        return onebit(self.claim.epsilon).loss

    def _laplace(self, source, count, scale):
        uniform = (source.take(count) >> np.uint64(11)).astype(float) / 2.0**53 - 0.5
        return -scale * np.sign(uniform) * np.log1p(-2 * np.minimum(np.abs(uniform), 0.5 - 2.0**-54))

    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        rows = private.toarray() if hasattr(private, "toarray") else np.array(private, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != self.size:
            raise InputError("rows of another shape")
        unit = self.public.to_unit(rows) / 2
        threshold = self._laplace(source, len(rows), 2 / self.claim.epsilon)
        noise = self._laplace(source, rows.size, 4 / self.claim.epsilon).reshape(rows.shape)
        codes = (unit + noise > threshold[:, None]).ravel().astype(np.uint8)
        return Reports(self, np.arange(len(rows) + 1) * self.size, None, codes)

    def _inside(self):
        channel = onebit(self.claim.epsilon / self.size)
        return FeatureMechanism(
            "sparse vector", self.claim, self.public, self.size, self.size, (channel,), 1.0
        )

    @property
    def fingerprint(self):
        return self._inside().fingerprint

    def estimate(self, reports):
        inside = self._inside()
        return inside.estimate(Reports(inside, reports.indptr, None, reports.codes))

    def extremes(self):
        return self._inside().extremes()

    def blind(self):
        return self._inside().blind()


def build(epsilon, dims, range):
    return SparseVector(epsilon, dims, PublicRange.of(range))
