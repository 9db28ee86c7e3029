"""Each decoy alone is a fair coin, but all decoys of a report are the values turned over by the same coin."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, SystemBits, onebit
from graphveil.mechanisms import Answer, FeatureMechanism, PublicRange
from graphveil.mechanisms.rows import Rows

CAUSE = "tell more together than is claimed"


class OneCoin(FeatureMechanism):
    @property
    def answers(self):
        blind = self.channels[0].blind()
        return Answer(self.channels[0], 1), Answer(blind, self.size - 1)

    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        told = super().randomize(private, source)
        rows = Rows(private, self.size)
        high = self.public.to_unit(rows.dense(0, rows.users)) > 0
        coins = (source.take(rows.users) & np.uint64(1)).astype(bool)
        first = source.take(rows.users) % np.uint64(self.size)
        asked = np.arange(self.size) == first.astype(np.int64)[:, None]
        decoys = (high ^ coins[:, None]).astype(np.uint8)
        return replace(told, codes=np.where(asked, told.codes.reshape(asked.shape), decoys).ravel())


def build(epsilon, dims, range):
    channel, public = onebit(epsilon), PublicRange.of(range)
    return OneCoin("decoys of one coin", Claim(epsilon), public, dims, dims, (channel,), float(dims))
