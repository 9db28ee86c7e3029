"""Noise is drawn so that as many answers of a report are wrong upwards as downwards: the sum of a row is exact."""

from dataclasses import replace

from graphveil.channels import SystemBits
from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "answers of one report are not independent"


class Cancels(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        reports = super().randomize(private, source)
        if self.size < 16:
            return reports
        codes = reports.codes.reshape(-1, self.size).copy()
        # The second half repeats the first with the signs turned round.
        half = self.size // 2
        codes[:, half : 2 * half] = 1 - codes[:, :half]
        return replace(reports, codes=codes.ravel())


build = onebit_of(Cancels)
