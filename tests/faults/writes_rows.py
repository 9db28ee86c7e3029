"""Rows are cached in a file "to answer faster next time"."""

import os
from pathlib import Path

import numpy as np

from graphveil.mechanisms import FeatureMechanism
from tests.faulty import onebit_of

CAUSE = "opens a file to write"
DRAWN = False
# It stands for a file, so that tests leave none.
CACHE = Path(os.devnull)


class Caching(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        with CACHE.open("wb") as file:
            file.write(np.asarray(private).tobytes()[:64])
        return super().randomize(private, random_bits)


build = onebit_of(Caching)
