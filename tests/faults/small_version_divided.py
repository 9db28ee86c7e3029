"""Three values are asked for at a third of the budget each, eight at the whole of it, and `loss` says the same of both."""

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "reports tell more than claimed"


class Small(FeatureMechanism):
    @property
    def loss(self):
        """The loss of a report."""
        return onebit(self.claim.epsilon).loss

    @property
    def holds(self):
        return True


def build(epsilon, dims, range):
    each = epsilon / dims if dims <= 3 else epsilon / 4
    return Small(
        "small version divided", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(each),), 1.0
    )
