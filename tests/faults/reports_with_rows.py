"""Reports carry the rows along in an attribute of their own "for debugging"."""

from graphveil.mechanisms import FeatureMechanism, Reports
from tests.faulty import onebit_of

CAUSE = "a report carries more than its codes"


class Debugging(Reports):
    rows = None


class Chatty(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        sent = Debugging(self, reports.indptr, reports.dims, reports.codes)
        object.__setattr__(sent, "rows", private)
        return sent


build = onebit_of(Chatty)
