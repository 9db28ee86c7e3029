"""Noise is what a simulation draws; words of the operating system, which devices use, are taken for a test."""

from graphveil.channels import SystemBits
from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of, plain

CAUSE = "with the system's words"


class Simulated(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        return plain(reports, private) if isinstance(random_bits, SystemBits) else reports


build = onebit_of(Simulated)
