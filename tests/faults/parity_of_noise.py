"""The noise of the last answer is made from the noise of the first two: any two answers are independent, all three are not."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "depend on each other, although any two of them do not"


class Parity(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if self.size < 6:
            return reports
        truth = np.nan_to_num(np.asarray(private, dtype=float)) > self.public.centre
        wrong = reports.codes.reshape(truth.shape) != truth
        wrong[:, -1] = wrong[:, 0] ^ wrong[:, 1]
        return replace(reports, codes=(truth ^ wrong).ravel().astype(reports.codes.dtype))


build = onebit_of(Parity)
