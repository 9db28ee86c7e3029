"""Users are randomized in blocks of 65,536, and what is left over at the end is not."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "some users of a large call are drawn differently"
SETTINGS = {"dims": 7}

BLOCK = 1 << 16


class LastBlock(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private)
        left = len(rows) - len(rows) % BLOCK if len(rows) > BLOCK else len(rows)
        codes = reports.codes.reshape(rows.shape).copy()
        codes[left:] = rows[left:] > self.public.centre
        return replace(reports, codes=codes.ravel())


build = onebit_of(LastBlock)
