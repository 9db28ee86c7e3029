"""A code that nobody should send is sent by one class alone, once in a million times."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Channel, Claim, SystemBits, kary
from graphveil.mechanisms import LevelMechanism

CAUSE = "rare under both"

CLASSES = 5


class Marked(LevelMechanism):
    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        reports = super().randomize(private, source)
        marked = (source.take(reports.users) >> np.uint64(11)) * 2.0**-53 < 1e-6
        mine = np.asarray(private, dtype=float) == 3
        return replace(
            reports, codes=np.where(marked & mine, CLASSES, reports.codes).astype(reports.codes.dtype)
        )


def build(epsilon, kind=Marked):
    usual = kary(epsilon, CLASSES)
    table = np.array([[*usual.row(symbol), 0] for symbol in np.arange(CLASSES).tolist()], dtype=np.int64)
    # The last code is there for all, at 2^-52, so that nothing is impossible.
    table[:, -1] = 1 << 10
    table[:, 0] -= 1 << 10
    symbols = np.arange(float(CLASSES))
    channel = Channel("marked", table, symbols, np.arange(CLASSES + 1.0), Claim(epsilon + 1e-9))
    return kind("rare code", Claim(epsilon), channel, "level", unbiased=False)


def sound(epsilon):
    return build(epsilon, LevelMechanism)
