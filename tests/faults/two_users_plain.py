"""A call for two users broadcasts wrongly, and their rows are sent as they are."""

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of, plain

CAUSE = "in calls for two users"


class TwoUsers(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        return plain(reports, private) if reports.users == 2 and not hasattr(private, "tocsr") else reports


build = onebit_of(TwoUsers)
