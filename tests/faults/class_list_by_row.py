"""The list begins with the largest value's class, so that a place means another class for another row."""

import numpy as np

from graphveil.mechanisms import ClassMechanism, ClassModel, PublicRange, mechanism
from graphveil.mechanisms.classes import Integers

CAUSE = "is not the class that the plan's model gives"


class ListByRow(ClassMechanism):
    def places_of(self, private):
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private, dtype=float)
        largest = np.argmax(np.nan_to_num(rows), axis=1)
        return (super().places_of(private) + largest) % self.places_open


def question(kind, epsilon, dims, range):
    model = ClassModel.of(
        {"kind": "linear", "weights": np.eye(4, dims, dtype=np.int64), "bias": [0, 0, 0, 0]}
    )
    label = mechanism("krr", epsilon=epsilon, classes=3)
    return kind(label, PublicRange.of(range), model, Integers.of([[2, 0, 1]], "lists", 2))


def build(epsilon, dims, range):
    return question(ListByRow, epsilon, dims, range)


def sound(epsilon, dims, range):
    return question(ClassMechanism, epsilon, dims, range)
