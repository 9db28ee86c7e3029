"""The control keeps the channel: it claims to carry nothing, and carries everything."""

from dataclasses import replace

from graphveil.channels import Claim
from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "its control is not blind"


class Sighted(FeatureMechanism):
    def blind(self):
        return replace(self, name=f"blind {self.name}", claim=Claim(0.0))


build = onebit_of(Sighted)
sound = onebit_of(FeatureMechanism)
