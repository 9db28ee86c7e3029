"""The budget is divided by m in place, on every call: the second call is stricter than the first, and the third again."""

from graphveil.channels import onebit
from graphveil.mechanisms import FeatureMechanism
from tests.faulty import some_values_of

CAUSE = "a call changes the mechanism"


class Dividing(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        budget = self.channels[0].claim.epsilon / self.sampled
        object.__setattr__(self, "channels", (onebit(budget),))
        self.__dict__.pop("answers", None)
        return reports


build = some_values_of(Dividing, sampled=2)
