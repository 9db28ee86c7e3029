"""The class that is reported is that of another user's row: rows went by one when they were put into blocks."""

import numpy as np

from graphveil.mechanisms import ClassMechanism, ClassModel, PublicRange, mechanism
from graphveil.mechanisms.classes import Integers

CAUSE = "a user's report depends on other users' data"


class OfNeighbour(ClassMechanism):
    def places_of(self, private):
        return np.roll(super().places_of(private), 1)


def question(kind, epsilon, dims, range):
    model = ClassModel.of(
        {"kind": "linear", "weights": np.eye(4, dims, dtype=np.int64), "bias": [0, 0, 0, 0]}
    )
    label = mechanism("krr", epsilon=epsilon, classes=3)
    return kind(label, PublicRange.of(range), model, Integers.of([[2, 0, 1]], "lists", 2))


def build(epsilon, dims, range):
    return question(OfNeighbour, epsilon, dims, range)


def sound(epsilon, dims, range):
    return question(ClassMechanism, epsilon, dims, range)
