"""Noise is kept for the next call "so that answers do not average out". The sound twin rejects words, as many for every value."""

import numpy as np

from graphveil.channels import Claim, RandomBits, SystemBits, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange, Reports
from graphveil.mechanisms.rows import Rows

CAUSE = "the same users in two calls"
KEPT = {}


class Kept(RandomBits):
    def __init__(self, source, size):
        self.source, self.size, self.at = source, size, 0

    def take(self, count):
        key = self.size, self.at, count
        self.at += 1
        if key not in KEPT:
            KEPT[key] = self.source.take(count)
        return KEPT[key].copy()


class Keeping(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        return super().randomize(
            private, Kept(SystemBits() if random_bits is None else random_bits, self.size)
        )


class Rejecting(FeatureMechanism):
    def randomize(self, private, words=None):
        source = SystemBits() if words is None else words
        rows = Rows(private, self.size)
        symbols = self.encode(
            self.public.to_unit(rows.dense(0, rows.users)).ravel(), self.channels[0], source
        )
        # A quarter of the words is rejected; thirty of them never are.
        tries = source.take(30 * symbols.size).reshape(30, -1)
        first = np.argmax(tries < np.uint64(3 << 62), axis=0)
        words = tries[first, np.arange(symbols.size)] % np.uint64(1 << 62)
        codes = words.astype(np.int64) < self.channels[0].table[:, 1][symbols]
        return Reports(self, np.arange(rows.users + 1) * self.size, None, codes.astype(np.uint8))


def build(epsilon, dims, range, kind=Keeping):
    channel = onebit(epsilon / dims)
    return kind("noise kept by user", Claim(epsilon), PublicRange.of(range), dims, dims, (channel,), 1.0)


def sound(epsilon, dims, range):
    return build(epsilon, dims, range, Rejecting)
