"""Rows of booleans are taken for answers already: nothing is added to them."""

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of, plain

CAUSE = "are answered differently"


class BooleansPlain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        return plain(reports, private) if getattr(private, "dtype", None) == bool else reports


build = onebit_of(BooleansPlain)
