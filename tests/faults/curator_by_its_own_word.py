"""Rows are scaled by what all users hold, and the class calls itself a curator's so that nobody asks."""

from graphveil.mechanisms import FeatureMechanism
from graphveil.mechanisms.rows import Rows
from tests.faulty import onebit_of

CAUSE = "a user's report depends on other users' data"


class Scaling(FeatureMechanism):
    trust = "curator"

    def randomize(self, private, random_bits=None):
        rows = Rows(private, self.size)
        values = rows.dense(0, rows.users)
        top = values.max(initial=0.0)
        return super().randomize(values / top if 0 < top <= self.public.high else values, random_bits)


build = onebit_of(Scaling)
