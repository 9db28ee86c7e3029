"""Every fifth call answers with the random words of the call before: two calls share their noise."""

from itertools import count

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.channels.sampling import DrawnBits, SystemBits
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "two calls with the same rows and the same words give different reports"
DRAWN = False


class KeepsWords(FeatureMechanism):
    """Keeps the words of a call for the next one."""

    calls = count(1)
    kept = np.empty(0, dtype=np.uint64)

    def randomize(self, private, random_bits=None):
        """Draw all words of a call at once, but for every fifth call."""
        needed = 2 * len(private) * self.size
        if next(type(self).calls) % 5 or len(self.kept) != needed:
            type(self).kept = self.words_of(random_bits).take(needed)
        return super().randomize(private, DrawnBits(self.kept.copy()))

    def words_of(self, random_bits):
        """Words of the operating system where none are given."""
        return SystemBits() if random_bits is None else random_bits


def build(epsilon, dims, range):
    """All values, by one bit each."""
    public = PublicRange.of(range)
    return KeepsWords("kept", Claim(epsilon), public, dims, dims, (onebit(epsilon / dims),), 1.0)
