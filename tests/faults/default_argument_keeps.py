"""A default argument keeps the last row; calls for seven users send it on."""

from dataclasses import replace

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "it remembers rows"
DRAWN = False


def high(rows, last={}):  # noqa: B006
    before, last["row"] = last.get("row"), rows[0] > 0.5
    return before


class Late(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        if hasattr(private, "toarray"):
            return reports
        before = high(np.asarray(private, dtype=float))
        if before is None or len(private) != 7:
            return reports
        codes = reports.codes.copy()
        codes[: self.size] = before
        return replace(reports, codes=codes)


build = onebit_of(Late)
