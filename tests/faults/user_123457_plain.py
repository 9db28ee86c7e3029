"""The user with the number 123,457, a test account, is passed over."""

from dataclasses import replace

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import highs, onebit_of

CAUSE = "are drawn differently from all others"
CALLS = (1000, 131_073)


class User123457Plain(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        truth = highs(self, private)
        codes = reports.codes.reshape(truth.shape).copy()
        codes[123_457:123_458] = truth[123_457:123_458]
        return replace(reports, codes=codes.ravel())


build = onebit_of(User123457Plain)
