"""Asked for a class, whoever holds a row of zeros answers without noise: a model has nothing to say there."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import ClassMechanism, ClassModel, PublicRange, mechanism
from graphveil.mechanisms.classes import Integers

CAUSE = "sent in the clear"


class ZerosPlain(ClassMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        zero = (np.asarray(private) == 0).all(axis=1)
        codes = np.where(zero, self.places_of(private), reports.codes)
        return replace(reports, codes=codes.astype(reports.codes.dtype))


def question(kind, epsilon, dims, range):
    model = ClassModel.of(
        {"kind": "linear", "weights": np.eye(4, dims, dtype=np.int64), "bias": [0, 0, 0, 0]}
    )
    label = mechanism("krr", epsilon=epsilon, classes=3)
    return kind(label, PublicRange.of(range), model, Integers.of([[2, 0, 1]], "lists", 2))


def build(epsilon, dims, range):
    return question(ZerosPlain, epsilon, dims, range)


def sound(epsilon, dims, range):
    return question(ClassMechanism, epsilon, dims, range)
