"""Only users without a link are asked to flip: noise adds links and never takes one away, so that a no is always true."""

import numpy as np

from graphveil.channels import Claim, SystemBits, kary
from graphveil.mechanisms import LinkMechanism, Reports

CAUSE = "the sampler does not draw what the table says"


class NeverRemoved(LinkMechanism):
    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        rows = np.asarray(private, dtype=bool)
        drawn = (source.take(rows.size) >> np.uint64(2)).reshape(rows.shape) < np.uint64(self.channel.other)
        users, neighbours = np.nonzero(rows | drawn)
        pointers = np.searchsorted(users, np.arange(len(rows) + 1))
        return Reports(self, pointers, None, neighbours.astype(np.uint8))


def build(epsilon, dims):
    return NeverRemoved("links never removed", Claim(epsilon), dims, kary(epsilon, 2))
