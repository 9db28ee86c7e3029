"""A label of -1 is refused: who has a label shows in who answers."""

import numpy as np

from graphveil.channels import Claim, kary
from graphveil.mechanisms import LabelMechanism

CAUSE = "whether somebody answers then tells a value"


class Refused(LabelMechanism):
    def randomize(self, private, random_bits=None):
        if (np.asarray(private) < 0).any():
            raise IndexError("no such class")
        return super().randomize(private, random_bits)


def build(epsilon, classes=7):
    return Refused("missing label refused", Claim(epsilon), kary(epsilon, classes), "label")
