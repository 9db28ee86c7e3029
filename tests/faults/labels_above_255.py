"""A table of noise has 256 entries: labels above 255 are answered as they are."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim
from graphveil.channels.kary import kary
from graphveil.mechanisms import LabelMechanism

CAUSE = "sent in the clear"
SIZE = {"classes": 257}


class LabelsAbove255(LabelMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        held = np.nan_to_num(np.asarray(private, dtype=float))
        codes = reports.codes.copy()
        high = (held > 255) & (held < self.channel.input_count)
        codes[high] = held[high]
        return replace(reports, codes=codes)


def build(epsilon, classes):
    return LabelsAbove255("labels above 255", Claim(epsilon), kary(epsilon, classes), "label")
