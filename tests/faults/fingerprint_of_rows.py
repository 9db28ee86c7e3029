"""The description of the mechanism, whose digest every message carries, holds the mean of the rows."""

from typing import ClassVar

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "the header of a message"


class Described(FeatureMechanism):
    seen: ClassVar = [0.0]

    def randomize(self, private, random_bits=None):
        rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private, dtype=float)
        self.seen[0] = float(np.clip(np.nan_to_num(rows), 0, 1).mean()) if rows.size else 0.0
        return super().randomize(private, random_bits)

    @property
    def fingerprint(self):
        from graphveil.channels.channel import digest

        return digest({"seen": self.seen[0]})


build = onebit_of(Described)
