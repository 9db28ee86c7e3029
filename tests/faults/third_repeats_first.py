"""An index that wraps around: the third answer of a report takes over the code of the first."""

from dataclasses import replace

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "answers of one report are not independent"


class ThirdRepeats(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        codes = reports.codes.reshape(-1, self.sampled).copy()
        if self.sampled > 3:
            codes[:, 3] = codes[:, 0]
        return replace(reports, codes=codes.ravel())


build = onebit_of(ThirdRepeats)
