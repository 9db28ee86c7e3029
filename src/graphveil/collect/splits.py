"""Who is asked for a label, where labels are private: drawn from those who have enrolled, whatever their label is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graphveil.errors import InputError
from graphveil.graphs.graph import labelled
from graphveil.graphs.splits import Labels, Split, SplitRecipe, check_seed

# Two of three who are asked for a label train, the others validate.
TRAIN_SHARE = 2 / 3
# The stream of a seed by which they are drawn.
STREAM = 20


@dataclass(frozen=True)
class AskedLabels(SplitRecipe):
    """Enrolled users whose label the server does not know report it, to train and to validate; known labels score."""

    enrolled: tuple[int, ...]
    reads_labels: ClassVar[bool] = False

    def draw(self, labels: Labels, seed: int) -> Split:
        known = labelled(labels)
        asked = np.array([node for node in self.enrolled if not known[node]], dtype=np.int64)
        if len(asked) < 2:
            raise InputError(
                f"{len(asked)} enrolled users have a label that the server does not know, and at least 2 must be asked for theirs: "
                "leave --label-epsilon out, or invite more people"
            )
        asked = np.random.default_rng([check_seed(seed), STREAM]).permutation(asked)
        first = min(max(round(TRAIN_SHARE * len(asked)), 1), len(asked) - 1)
        train, validation = np.zeros((2, len(labels)), dtype=bool)
        train[asked[:first]] = True
        validation[asked[first:]] = True
        return Split(train, validation, known)
