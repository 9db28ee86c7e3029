"""The first call of a process warms a cache up, and sends what it is warmed up with."""

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of, plain

CAUSE = "reports depend on what was called or loaded before"
DRAWN = False
WARM = []


class Warming(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if WARM or hasattr(private, "toarray"):
            return reports
        WARM.append(True)
        return plain(reports, private)


build = onebit_of(Warming)
