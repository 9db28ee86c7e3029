"""Others get 1/(e^ε+k) each, computed with k instead of k-1, and the label itself all that is left: more than e^ε."""

import math

import numpy as np

from graphveil.channels import TOTAL, Channel, Claim
from graphveil.mechanisms import LabelMechanism

CAUSE = "k was given 1 and has 1.313"


def build(epsilon, classes=7):
    other = round(TOTAL / (math.exp(epsilon) + classes))
    table = np.full((classes, classes), other, dtype=np.int64)
    np.fill_diagonal(table, TOTAL - (classes - 1) * other)
    symbols = np.arange(float(classes))
    return LabelMechanism(
        "label wrong count", Claim(epsilon), Channel("k", table, symbols, symbols, Claim(epsilon)), "label"
    )
