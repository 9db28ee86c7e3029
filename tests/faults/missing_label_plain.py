"""A label of -1 stands for none and is sent as the first class, without noise."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, kary
from graphveil.mechanisms import LabelMechanism

CAUSE = "under the label -1"


class MissingPlain(LabelMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        missing = np.asarray(private, dtype=float) < 0
        return replace(reports, codes=np.where(missing, 0, reports.codes).astype(reports.codes.dtype))


def build(epsilon, classes=7):
    return MissingPlain("missing label plain", Claim(epsilon), kary(epsilon, classes), "label")


def sound(epsilon, classes=7):
    return LabelMechanism("missing label", Claim(epsilon), kary(epsilon, classes), "label")
