"""Users are counted, and refused, by what they hold: a row with a high first value is not answered at all."""

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.errors import InputError
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "count fails on"


class Counted(FeatureMechanism):
    def count(self, private):
        if (np.asarray(private)[:, 0] > self.public.centre).any():
            raise InputError("the first value is high")
        return super().count(private)


def build(epsilon, dims, range):
    channels = (onebit(epsilon / dims),)
    return Counted("counted", Claim(epsilon), PublicRange.of(range), dims, dims, channels, 1.0)
