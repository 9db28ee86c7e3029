"""Reports carry the rows along in an attribute of their own "for debugging"."""

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange, Reports

CAUSE = "a report carries more than its codes"


class Debugging(Reports):
    rows = None


class Chatty(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        sent = Debugging(self, reports.indptr, reports.dims, reports.codes)
        object.__setattr__(sent, "rows", private)
        return sent


def build(epsilon, dims, range):
    return Chatty(
        "reports with rows", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / dims),), 1.0
    )
