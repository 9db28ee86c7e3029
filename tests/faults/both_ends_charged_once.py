"""Both users of a pair answer for it and count it in their degrees, each at the whole budget: one link costs twice that.

Each user's own report keeps the budget, and the mechanism says so; together they do not.
"""

from graphveil.channels import Claim, Loss, counting, kary
from graphveil.mechanisms import DegreeLinkMechanism

CAUSE = "what its two ends spend on it adds up"


class ChargedOnce(DegreeLinkMechanism):
    @property
    def loss(self):
        """One user's answer about a link and one user's degree: what a single report costs."""
        return Loss.total([self.channel.loss, self.counted.loss])


def build(epsilon, dims):
    degrees = counting(0.1 * epsilon, dims)
    return ChargedOnce(
        "charged once", Claim(epsilon), dims, kary(0.9 * epsilon, 2), degree_channel=degrees, ends="both"
    )


def sound(epsilon, dims):
    degrees = counting(0.05 * epsilon, dims)
    return DegreeLinkMechanism(
        "charged", Claim(epsilon), dims, kary(0.45 * epsilon, 2), degree_channel=degrees, ends="both"
    )
