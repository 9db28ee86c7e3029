"""As many neighbours are named as the user has: which ones is random, how many is the exact degree."""

import numpy as np

from graphveil.channels import Claim, SystemBits, kary
from graphveil.mechanisms import LinkMechanism, Reports

CAUSE = "the sampler does not draw what the table says"


class ExactDegree(LinkMechanism):
    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        reports = super().randomize(private, source)
        lists = self._lists(private)
        held = np.bincount(self._links(lists)[0], minlength=len(lists.owners))
        keys = source.take(len(held) * self.size).reshape(len(held), self.size) >> np.uint64(1)
        keys[np.repeat(np.arange(len(held)), reports.lengths), reports.codes] |= np.uint64(1 << 63)
        # The neighbours that were named come first, then others, until there are as many as the user has.
        chosen = np.argsort(np.argsort(~keys, axis=1), axis=1) < held[:, None]
        codes = np.nonzero(chosen)[1].astype(reports.codes.dtype)
        return Reports(self, np.concatenate([[0], np.cumsum(held)]), None, codes)


def build(epsilon, dims):
    return ExactDegree("exact degree of list", Claim(epsilon), dims, kary(epsilon, 2))
