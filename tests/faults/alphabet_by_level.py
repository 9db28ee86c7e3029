"""A level is answered with its own budget, so the window and the range of the answers depend on the level that they hide.

The declared table is the one of the smallest budget; the sampler takes the user's own.
"""

import numpy as np

from graphveil.channels import Claim, SystemBits, esw
from graphveil.mechanisms import LevelMechanism, Reports

CAUSE = "sent in the clear: under level 4"

LEVELS = 4


class OwnBudget(LevelMechanism):
    def randomize(self, private, random_bits=None):
        levels = np.asarray(private)
        drawn = (SystemBits() if random_bits is None else random_bits).take(len(levels)) >> np.uint64(2)
        codes = np.empty(len(levels), dtype=self.channel.code_type)
        for level in range(1, LEVELS + 1):
            own = esw(self.claim.epsilon * 2 ** (level - 1), LEVELS)
            mine = levels == level
            answers = np.searchsorted(
                np.cumsum(own.row(level - 1)), drawn[mine].astype(np.int64), side="right"
            )
            # Answers name a level; a narrower window reaches less far beyond the ends.
            codes[mine] = np.searchsorted(self.channel.outputs, own.outputs.take(answers))
        return Reports(self, np.arange(len(levels) + 1), None, codes)


def build(epsilon):
    channel = esw(epsilon, LEVELS)
    return OwnBudget("alphabet by level", Claim(epsilon), channel, "level", first=1, unbiased=False)
