"""Values that are not asked get decoys, so that nobody sees which were: but the decoys are the values. The sound twin's are blind."""

from dataclasses import dataclass

import numpy as np

from graphveil.channels import Claim, SystemBits, onebit
from graphveil.errors import InputError
from graphveil.mechanisms import Answer, FeatureMechanism, PublicRange, Reports, ReportShape
from graphveil.mechanisms.rows import Rows

CAUSE = "an answer is not drawn from its table"
SETTINGS = {"epsilon": 3.0, "dims": 4}


@dataclass(frozen=True, eq=False, repr=False)
class Decoys(FeatureMechanism):
    decoys: int = 2
    sighted: bool = False

    @property
    def shape(self):
        length = min(self.sampled + self.decoys, self.size)
        return ReportShape(length, 2, self.size, names_dimensions=length < self.size)

    @property
    def answers(self):
        blind = self.channels[0].blind()
        return Answer(self.channels[0], self.sampled), Answer(blind, self.shape.length - self.sampled)

    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        rows = Rows(private, self.size)
        unit, length = self.public.to_unit(rows.dense(0, rows.users)), self.shape.length
        order = np.argsort(source.take(unit.size).reshape(unit.shape), axis=1)[:, :length]
        values = np.take_along_axis(unit, order, axis=1)
        real = self.channels[0].respond(self.encode(values.ravel(), self.channels[0], source), source)
        empty = self.channels[0].blind().respond(np.zeros(values.size, dtype=np.int64), source)
        decoys = (values > 0).astype(np.uint8) if self.sighted else empty.reshape(values.shape)
        codes = np.where(np.arange(length) < self.sampled, real.reshape(values.shape), decoys)
        # Values are named in their own order: nobody sees which were asked.
        sort = np.argsort(order, axis=1)
        dims = np.take_along_axis(order, sort, axis=1).astype(np.int32).ravel()
        sent = np.take_along_axis(codes, sort, axis=1).ravel()
        pointers = np.arange(rows.users + 1) * length
        return Reports(self, pointers, dims if self.shape.names_dimensions else None, sent)

    def check_reports(self, reports):
        pass

    def joint_counts(self, private):
        raise InputError("not enumerated")


def build(epsilon, dims, range, sampled=1, sighted=True):
    channel, public = onebit(epsilon / sampled), PublicRange.of(range)
    scale = dims / sampled
    return Decoys("decoys", Claim(epsilon), public, dims, sampled, (channel,), scale, sighted=sighted)


def sound(epsilon, dims, range, sampled=1):
    return build(epsilon, dims, range, sampled, sighted=False)
