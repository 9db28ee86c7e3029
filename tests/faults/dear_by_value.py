"""What a user is charged depends on the value: the books, or a refusal to overdraw them, tell which it was."""

import numpy as np

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "costs differ from the claim"


class Dear(FeatureMechanism):
    def costs(self, private):
        high = np.asarray(private)[:, 0] > self.public.centre
        return np.where(high, 2 * self.claim.epsilon, self.claim.epsilon)


def build(epsilon, dims, range):
    channels = (onebit(epsilon / dims),)
    return Dear("dear", Claim(epsilon), PublicRange.of(range), dims, dims, channels, 1.0)
