"""Rows are scaled by what all users hold, and the class calls itself a curator's so that nobody asks."""

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange
from graphveil.mechanisms.rows import Rows

CAUSE = "a user's report depends on other users' data"


class Scaling(FeatureMechanism):
    trust = "curator"

    def randomize(self, private, random_bits=None):
        rows = Rows(private, self.size)
        values = rows.dense(0, rows.users)
        top = values.max(initial=0.0)
        return super().randomize(values / top if 0 < top <= self.public.high else values, random_bits)


def build(epsilon, dims, range):
    channel, public = onebit(epsilon / dims), PublicRange.of(range)
    return Scaling("curator by its own word", Claim(epsilon), public, dims, dims, (channel,), 1.0)
