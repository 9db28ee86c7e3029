"""Rows near the middle are answered by a surer channel of their own. The sound twin searches the sums of a table made by hand."""

import math

import numpy as np

from graphveil.channels import TOTAL, Channel, Claim, SystemBits, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange, Reports
from graphveil.mechanisms.rows import Rows

CAUSE = "under rows in the middle with one high value"


class ByRow(FeatureMechanism):
    def randomize(self, private, words=None):
        source = SystemBits() if words is None else words
        rows = Rows(private, self.size)
        unit = self.public.to_unit(rows.dense(0, rows.users))
        symbols = self.encode(unit.ravel(), self.channels[0], source)
        words = (source.take(symbols.size) >> np.uint64(2)).astype(np.int64)
        near = np.repeat(np.abs(unit).mean(axis=1) < 0.5, self.size)
        tables = [channel.table[:, 1] for channel in (self.channels[0], self.surer())]
        codes = words < np.where(near, tables[1][symbols], tables[0][symbols])
        return Reports(self, np.arange(rows.users + 1) * self.size, None, codes.astype(np.uint8))

    def surer(self):
        return onebit(6 * self.channels[0].claim.epsilon)


class Searching(FeatureMechanism):
    def randomize(self, private, words=None):
        source = SystemBits() if words is None else words
        rows = Rows(private, self.size)
        unit = self.public.to_unit(rows.dense(0, rows.users)).ravel()
        symbols = self.encode(unit, self.channels[0], source)
        words = (source.take(unit.size) >> np.uint64(2)).astype(np.int64)
        sums = np.cumsum(self.channels[0].table, axis=1)
        found = [np.searchsorted(sums[symbol], words, side="right") for symbol in (0, 1)]
        codes = np.where(symbols, found[1], found[0]).astype(np.uint8)
        return Reports(self, np.arange(rows.users + 1) * self.size, None, codes)


def three_outputs(epsilon):
    low = int(TOTAL / (2 + math.exp(epsilon) * (1 - 2**-30)))
    table = np.array([[TOTAL - 2 * low, low, low], [low, low, TOTAL - 2 * low]])
    return Channel("three outputs", table, np.array([-1.0, 1.0]), np.array([-1.0, 0.0, 1.0]), Claim(epsilon))


def build(epsilon, dims, range, kind=ByRow, family=onebit):
    channel = family(epsilon / dims)
    return kind("channel by row", Claim(epsilon), PublicRange.of(range), dims, dims, (channel,), 1.0)


def sound(epsilon, dims, range):
    return build(epsilon, dims, range, Searching, three_outputs)
