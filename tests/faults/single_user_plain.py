"""A call for one user skips the vectorised code, and the noise with it."""

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of, plain

CAUSE = "in calls for one user"


class SingleUser(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        return plain(reports, private) if reports.users == 1 and not hasattr(private, "tocsr") else reports


build = onebit_of(SingleUser)
