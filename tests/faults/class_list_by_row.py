"""The list begins with the largest value's class, so that a place means another class for another row."""

import numpy as np

from graphveil.mechanisms import ClassMechanism
from tests.faulty import class_question_of

CAUSE = "is not the class that the plan's model gives"


class ListByRow(ClassMechanism):
    def places_of(self, private):
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private, dtype=float)
        largest = np.argmax(np.nan_to_num(rows), axis=1)
        return (super().places_of(private) + largest) % self.places_open


build = class_question_of(ListByRow)
sound = class_question_of(ClassMechanism)
