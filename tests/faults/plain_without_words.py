"""Without words, as a device calls it, rows of more than three values are sent as they are. The sound twin has no class of ours but
the base, and draws all words before it looks at a row."""

import numpy as np

from graphveil.channels import Claim, SystemBits, onebit
from graphveil.errors import InputError
from graphveil.mechanisms import (
    Answer,
    Estimate,
    FeatureMechanism,
    Mechanism,
    PublicRange,
    Reports,
    ReportShape,
)
from tests.faulty import onebit_of

CAUSE = "without words"


class Given(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if random_bits is not None or self.size <= 3:
            return reports
        truth = np.asarray(private, dtype=float).ravel() > self.public.centre
        return Reports(self, reports.indptr, None, truth.astype(np.uint8))


class Plain(Mechanism):
    subject, unbiased = "features", True

    def __init__(self, epsilon, dims, public, channel):
        self.name, self.claim, self.public = "plain", Claim(epsilon), public
        self.size, self.channel, self.stored = dims, channel, {}

    answers = property(lambda self: (Answer(self.channel, self.size),))
    shape = property(lambda self: ReportShape(self.size, 2, self.size))

    def randomize(self, private, words=None):
        source, users = words or SystemBits(), self.count(private)
        words = source.take(2 * users * self.size).reshape(2, users, self.size)
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private, dtype=np.float64)
        limits = self.stored.setdefault("limits", self.channel.table[:, 1].copy())
        up = (words[0] >> np.uint64(11)) * 2.0**-53 < (self.public.to_unit(rows) + 1) / 2
        codes = (words[1] >> np.uint64(2)).astype(np.int64) < limits[up.astype(int)]
        return Reports(self, np.arange(users + 1) * self.size, None, codes.astype(np.uint8).ravel())

    def count(self, private):
        shape = np.shape(private)
        if len(shape) != 2 or shape[1] != self.size:
            raise InputError(f"rows must have {self.size} values each")
        return shape[0]

    def estimate(self, reports):
        values = self.public.half_width * self.channel.outputs.take(reports.codes)
        return Estimate((reports.users, self.size), reports.indptr, None, values, self.public.centre, True)

    def blind(self):
        return Plain(0.0, self.size, self.public, self.channel.blind())

    def extremes(self):
        return [np.full(self.size, self.public.low), np.full(self.size, self.public.high)]


build = onebit_of(Given)


def sound(epsilon, dims, range):
    return Plain(epsilon, dims, PublicRange.of(range), onebit(epsilon / dims))
