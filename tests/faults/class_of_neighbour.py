"""The class that is reported is that of another user's row: rows went by one when they were put into blocks."""

import numpy as np

from graphveil.mechanisms import ClassMechanism
from tests.faulty import class_question_of

CAUSE = "a user's report depends on other users' data"


class OfNeighbour(ClassMechanism):
    def places_of(self, private):
        return np.roll(super().places_of(private), 1)


build = class_question_of(OfNeighbour)
sound = class_question_of(ClassMechanism)
