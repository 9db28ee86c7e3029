"""A label is sent among decoys in a random order, and every decoy answers it once more. The sound twin's decoys are blind."""

import numpy as np

from graphveil.channels import Claim, SystemBits, kary
from graphveil.errors import InputError
from graphveil.mechanisms import Answer, Estimate, Mechanism, Reports, ReportShape

CAUSE = "decoys are not blind"
DECOYS = 2


class Among(Mechanism):
    subject, unbiased = "label", False

    def __init__(self, claim, classes, channel, sighted):
        self.name, self.claim, self.classes = "among decoys", claim, classes
        self.channel, self.sighted = channel, sighted

    answers = property(lambda self: (Answer(self.channel, 1), Answer(self.channel.blind(), DECOYS)))
    shape = property(lambda self: ReportShape(1 + DECOYS, self.classes, self.classes))

    def randomize(self, private, random_bits=None):
        source, users = SystemBits() if random_bits is None else random_bits, self.count(private)
        labels = np.asarray(private, dtype=float)
        known = np.isin(labels, np.arange(self.classes))
        symbols = np.where(known, np.nan_to_num(labels, posinf=0, neginf=0), 0) * known
        symbols = np.where(known, symbols, source.below(self.classes, users)).astype(np.int64)
        decoy = self.channel if self.sighted else self.channel.blind()
        codes = np.stack(
            [channel.respond(symbols, source) for channel in (self.channel, decoy, decoy)], axis=1
        )
        order = np.argsort(source.take(codes.size).reshape(codes.shape), axis=1)
        sent = np.take_along_axis(codes, order, axis=1).ravel()
        return Reports(self, np.arange(users + 1) * codes.shape[1], None, sent)

    def count(self, private):
        if np.ndim(private) != 1:
            raise InputError("labels must be one number a user")
        return len(private)

    def estimate(self, reports):
        told = np.eye(self.classes)[reports.codes.reshape(reports.users, -1)].sum(axis=1)
        pointers = np.arange(reports.users + 1) * self.classes
        return Estimate((reports.users, self.classes), pointers, None, told.ravel(), 0.0, False)

    def blind(self):
        return Among(Claim(0.0), self.classes, self.channel.blind(), self.sighted)

    def extremes(self):
        return [0, self.classes - 1]


def build(epsilon, classes, sighted=True):
    return Among(Claim(epsilon), classes, kary(epsilon, classes), sighted)


def sound(epsilon, classes):
    return build(epsilon, classes, sighted=False)
