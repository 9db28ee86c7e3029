"""Asked for a class, whoever holds a row of zeros answers without noise: a model has nothing to say there."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import ClassMechanism
from tests.faulty import class_question_of

CAUSE = "sent in the clear"


class ZerosPlain(ClassMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        zero = (np.asarray(private) == 0).all(axis=1)
        codes = np.where(zero, self.places_of(private), reports.codes)
        return replace(reports, codes=codes.astype(reports.codes.dtype))


build = class_question_of(ZerosPlain)
sound = class_question_of(ClassMechanism)
