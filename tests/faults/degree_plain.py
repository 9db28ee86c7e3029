"""The list of neighbours is randomized, and the degree beside it is sent as it is."""

import numpy as np

from graphveil.channels import Claim, counting, kary
from graphveil.mechanisms import DegreeLinkMechanism, Reports

CAUSE = "it is sent in the clear"


class DegreePlain(DegreeLinkMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        lists = self._lists(private)
        codes = reports.codes.copy()
        held = np.minimum(self._held_degrees(lists, self._links(lists)), self.size - 1)
        codes[reports.indptr[1:] - 1] = self.size + held
        return Reports(self, reports.indptr, None, codes)


def build(epsilon, dims):
    degrees = counting(0.05 * epsilon, dims)
    return DegreePlain("degree plain", Claim(epsilon), dims, kary(0.9 * epsilon, 2), degree_channel=degrees)


def sound(epsilon, dims):
    degrees = counting(0.05 * epsilon, dims)
    return DegreeLinkMechanism("degree", Claim(epsilon), dims, kary(0.9 * epsilon, 2), degree_channel=degrees)
