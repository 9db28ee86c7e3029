"""Label inference against models: which label a user trained with, from what the model says of the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphveil.attacks.game import Numbers, balanced, likeliest
from graphveil.attacks.model import Floats, Lesson, ModelAttack
from graphveil.graphs.graph import Graph


class LearnedLabelAttack(ModelAttack):
    """Half of the training users draw a class, all equally likely, and train with it.

    The attacker knows all other labels and sees what the model says of everybody. The class is guessed whose score has grown most
    beside the attacker's own model. The ε of the bound is that of a label; where labels are public nothing is promised.

    In the natural game the real classes of test users are guessed, which is what models are for: features and neighbours tell them, and
    no ε of labels bounds that. In its control features are blind.
    """

    name: ClassVar[str] = "label"
    summary: ClassVar[str] = "the label that a user trained with, from a model's scores or its embedding"
    unit: ClassVar[str] = "the label of one user"
    game: ClassVar[str] = (
        "half of the training users draw a class, all equally likely, and train with it; the attacker knows all other labels and sees what "
        "the model says of everybody; in the control the model learned from classes drawn anew"
    )

    def values(self, graph: Graph) -> int:
        return graph.class_count

    def plant(self, lesson: Lesson, dice: np.random.Generator) -> tuple[NDArray[Any], Numbers]:
        classes = dice.integers(0, lesson.graph.class_count, len(lesson.attacked))
        return classes, classes

    def decide(
        self, lesson: Lesson, changes: Floats, secrets: NDArray[Any], dice: np.random.Generator
    ) -> NDArray[Any]:
        return likeliest(changes, dice)

    def natural(
        self, lesson: Lesson, dice: np.random.Generator
    ) -> tuple[str, Callable[[Floats], float | None]]:
        strangers = np.flatnonzero(lesson.graph.test & (lesson.own >= 0))
        return "test user", lambda scores: balanced(likeliest(scores[strangers], dice), lesson.own[strangers])
