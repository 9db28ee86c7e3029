"""A tie is broken by one more random word, so that the number of words tells that the model was undecided."""

import numpy as np

from graphveil.mechanisms import ClassMechanism
from tests.faulty import class_question_of

CAUSE = "how many random words are drawn depends on the values"


class DearTies(ClassMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private, dtype=float)
        tied = int((rows == rows[:, :1]).all(axis=1).sum())
        if random_bits is not None and tied:
            random_bits.take(tied)
        return reports


build = class_question_of(DearTies)
sound = class_question_of(ClassMechanism)
