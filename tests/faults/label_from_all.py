"""A label is kept with e^ε/(e^ε+k-1), else drawn from all k labels instead of the k-1 others: it is kept too often."""

import numpy as np

from graphveil.channels import Claim, SystemBits, kary
from graphveil.mechanisms import LabelMechanism, Reports

CAUSE = "the sampler does not draw what the table says"


class FromAll(LabelMechanism):
    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        labels = np.asarray(private)
        keep = self.channel.row(0)[0] / self.channel.total
        kept = (source.take(len(labels)) >> np.uint64(11)) * 2.0**-53 < keep
        codes = np.where(kept, labels, source.below(self.channel.size, len(labels)))
        return Reports(self, np.arange(len(labels) + 1), None, codes.astype(self.channel.code_type))


def build(epsilon, classes=7):
    return FromAll("label from all", Claim(epsilon), kary(epsilon, classes), "label")
