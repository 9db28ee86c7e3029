"""Calls for more than a thousand users are split, and the parts are not randomized."""

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of, plain

CAUSE = "sent in the clear"


class ManyUsers(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        return plain(reports, private) if np.shape(private)[:1] > (1000,) else reports


build = onebit_of(ManyUsers)
