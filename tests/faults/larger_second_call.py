"""A buffer is as long as the largest call so far; users beyond it are copied as they are, and the buffer grows after."""

from dataclasses import replace

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import highs, onebit_of

CAUSE = "are drawn differently from all others"
CALLS = (100_001, 200_001)

_buffer = [150_000]


class LargerSecondCall(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        truth = highs(self, private)
        codes = reports.codes.reshape(truth.shape).copy()
        codes[_buffer[0] :] = truth[_buffer[0] :]
        _buffer[0] = max(_buffer[0], len(truth))
        return replace(reports, codes=codes.ravel())


build = onebit_of(LargerSecondCall)
