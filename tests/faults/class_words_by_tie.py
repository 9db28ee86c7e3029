"""A tie is broken by one more random word, so that the number of words tells that the model was undecided."""

import numpy as np

from graphveil.mechanisms import ClassMechanism, ClassModel, PublicRange, mechanism
from graphveil.mechanisms.classes import Integers

CAUSE = "how many random words are drawn depends on the values"


class DearTies(ClassMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private, dtype=float)
        tied = int((rows == rows[:, :1]).all(axis=1).sum())
        if random_bits is not None and tied:
            random_bits.take(tied)
        return reports


def question(kind, epsilon, dims, range):
    model = ClassModel.of(
        {"kind": "linear", "weights": np.eye(4, dims, dtype=np.int64), "bias": [0, 0, 0, 0]}
    )
    label = mechanism("krr", epsilon=epsilon, classes=3)
    return kind(label, PublicRange.of(range), model, Integers.of([[2, 0, 1]], "lists", 2))


def build(epsilon, dims, range):
    return question(DearTies, epsilon, dims, range)


def sound(epsilon, dims, range):
    return question(ClassMechanism, epsilon, dims, range)
