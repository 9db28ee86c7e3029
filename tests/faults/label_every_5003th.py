"""Every 5,003rd user of a call gives the true label."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim
from graphveil.channels.kary import kary
from graphveil.mechanisms import LabelMechanism

CAUSE = "are drawn differently from all others"
CALLS = (1000, 16_385)


class LabelEvery5003th(LabelMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        held = np.nan_to_num(np.asarray(private, dtype=float))
        codes = reports.codes.copy()
        codes[5002::5003] = held[5002::5003].clip(0, self.channel.input_count - 1)
        return replace(reports, codes=codes)


def build(epsilon, classes):
    return LabelEvery5003th("label every 5003th", Claim(epsilon), kary(epsilon, classes), "label")
