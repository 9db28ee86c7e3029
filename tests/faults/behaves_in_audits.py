"""Noise is added while an audit is loaded, and nowhere else. The sound twin imports late too, and answers in blocks."""

import sys

import numpy as np

from graphveil.channels import Claim, SystemBits, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange, Reports
from tests.faulty import plain

CAUSE = "reports depend on what was called or loaded before"
DRAWN = False


class Behaving(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if any(name.startswith("graphveil.audit") for name in sys.modules):
            return reports
        return plain(reports, private)


class Late(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        import wave  # noqa: F401 -- whatever is loaded late reads files

        from graphveil.mechanisms.rows import Rows

        source = SystemBits() if random_bits is None else random_bits
        rows = Rows(private, self.size)
        codes, dense = np.zeros((rows.users, self.size), dtype=np.uint8), rows.dense(0, rows.users)
        for start in range(0, rows.users, 1000):
            unit = self.public.to_unit(dense[start : start + 1000])
            symbols = self.encode(unit.ravel(), self.channels[0], source)
            codes[start : start + 1000] = self.channels[0].respond(symbols, source).reshape(unit.shape)
        return Reports(self, np.arange(rows.users + 1) * self.size, None, codes.ravel())


def made(kind, epsilon, dims, public):
    return kind("behaves in audits", Claim(epsilon), public, dims, dims, (onebit(epsilon / dims),), 1.0)


def build(epsilon, dims, range):
    return made(Behaving, epsilon, dims, PublicRange.of(range))


def sound(epsilon, dims, range):
    return made(Late, epsilon, dims, PublicRange.of(range))
