"""Whole rows are claimed, but `compares` admits only pairs that differ in one value."""

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.errors import InputError
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "no enumeration shows that it is less"


class OneValue(FeatureMechanism):
    @property
    def loss(self):
        return self.channels[0].loss

    @property
    def holds(self):
        return True

    def compares(self, one, other):
        return int((np.asarray(one) != np.asarray(other)).sum()) == 1

    def joint_counts(self, private):
        raise InputError("not enumerated")


def build(epsilon, dims, range):
    return OneValue(
        "own comparison", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon),), 1.0
    )
