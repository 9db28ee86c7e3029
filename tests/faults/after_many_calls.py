"""After 800 calls the counter of a class runs over, and rows are sent as they are."""

from typing import ClassVar

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of, plain

CAUSE = "reports depend on what was called or loaded before"


class Counting(FeatureMechanism):
    calls: ClassVar = [0]

    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        self.calls[0] += 1
        if hasattr(private, "toarray") or self.calls[0] < 800:
            return reports
        return plain(reports, private)


build = onebit_of(Counting)
