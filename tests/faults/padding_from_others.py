"""Reports are padded with memory that was used before, which holds codes of other users. The sound twin pads with decoys."""

from dataclasses import dataclass

import numpy as np

from graphveil.channels import Claim, SystemBits, onebit
from graphveil.mechanisms import Answer, FeatureMechanism, PublicRange, Reports, ReportShape

CAUSE = "a user's report depends on other users' data"
PADDING = 5


@dataclass(frozen=True, eq=False, repr=False)
class Padded(FeatureMechanism):
    filled: bool = False

    @property
    def shape(self):
        return ReportShape(self.size + PADDING, 2, self.size)

    @property
    def answers(self):
        return Answer(self.channels[0], self.size), Answer(self.channels[0].blind(), PADDING)

    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        real = super().randomize(private, source)
        padding = np.resize(real.codes, (real.users, PADDING))
        if self.filled:
            decoys = self.channels[0].blind().respond(np.zeros(padding.size, dtype=np.int64), source)
            padding = decoys.reshape(padding.shape)
        codes = np.column_stack([real.codes.reshape(real.users, self.size), padding])
        return Reports(self, np.arange(real.users + 1) * self.shape.length, None, codes.ravel())

    def estimate(self, reports):
        codes = reports.codes.reshape(reports.users, -1)[:, : self.size].ravel()
        return super().estimate(Reports(self, np.arange(reports.users + 1) * self.size, None, codes))


def build(epsilon, dims, range, filled=False):
    channel, public = onebit(epsilon / dims), PublicRange.of(range)
    return Padded("padded", Claim(epsilon), public, dims, dims, (channel,), 1.0, filled=filled)


def sound(epsilon, dims, range):
    return build(epsilon, dims, range, filled=True)
