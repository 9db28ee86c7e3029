"""Label inference: which class a user has, from reports, or which label a user trained with, from what a model says of the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphveil.attacks.game import (
    REPORTS,
    Deal,
    MechanismAttack,
    Natural,
    Numbers,
    Reporting,
    Stakes,
    balanced,
    check_one_class,
    likeliest,
    naturals,
)
from graphveil.attacks.model import Lesson, ModelAttack
from graphveil.channels.sampling import SeededWords
from graphveil.graphs.graph import Graph
from graphveil.mechanisms import LabelMechanism, Mechanism, mechanism
from graphveil.mechanisms.base import Subject

# No class counts as rarer than this beside another: what is fitted to noise may come out below 0.
RAREST = 1e-3

Floats = NDArray[np.float64]


class LabelAttack(MechanismAttack):
    """Everybody draws a class, all equally likely, and it is guessed from the report by Bayes. k-ary response reaches the bound."""

    name: ClassVar[str] = "label"
    summary: ClassVar[str] = "the class of a user, from the own report and from those of neighbours"
    subjects: ClassVar[tuple[Subject, ...]] = ("label",)
    mechanism: ClassVar[str] = "krr"
    unit: ClassVar[str] = "the label of one user"
    game: ClassVar[str] = (
        "everybody draws a class, all equally likely; the attacker sees the report; in the control reports are blind"
    )

    def build(self, name: str, epsilon: float, graph: Graph, seed: int, options: dict[str, Any]) -> Mechanism:
        check_one_class(graph)
        return mechanism(name, epsilon=epsilon, classes=graph.class_count, **options)

    def deal(self, target: Reporting, seed: int, dice: np.random.Generator) -> Deal:
        assert isinstance(target.mechanism, LabelMechanism)
        logs, pair = np.log(target.mechanism.transition), target.pair
        classes = dice.integers(0, len(logs), len(target.users))

        def guess(control: bool) -> Numbers:
            return likeliest(
                logs[:, pair[control].randomize(classes, SeededWords(seed, REPORTS)).codes].T, dice
            )

        stakes = Stakes(len(logs), target.mechanism.claim.epsilon)
        return Deal(stakes, classes, guess, lambda: _natural(target, seed, dice))


def _natural(target: Reporting, seed: int, dice: np.random.Generator) -> dict[str, Natural]:
    """Real classes; in the control one's own report is blind, and neighbours' are what they are."""
    assert isinstance(target.mechanism, LabelMechanism)
    labels, transition = target.users.raw.labels, target.mechanism.transition
    real, blind = (
        each.randomize(labels, SeededWords(seed, REPORTS)).codes.astype(np.int64) for each in target.pair
    )
    known = labels >= 0
    logs, around = np.log(transition), neighbour_scores(transition, target.graph, real)
    found = {}
    for name, more in (("own report", 0.0), ("own report and neighbours, Bayes", around)):
        pair = [
            balanced(likeliest(logs[:, own].T + more, dice)[known], labels[known]) for own in (real, blind)
        ]
        found[name] = (pair[0], pair[1])
    return naturals(found)


def neighbour_scores(transition: Floats, graph: Graph, codes: Numbers) -> Floats:
    """Return Σ over neighbours of log P[their report | one's class]: (users, classes).

    How often two linked users have two classes is fitted to the reports: of what pairs report, the noise is
    taken out as it is from one report, J = T⁻ᵀ·J'·T⁻¹, and what comes out below 0 counts as next to nothing.

    Parameters
    ----------
    transition
        T, the chance of each report given each class: (classes, classes).
    codes
        The reported class of each user: (users,) int64.
    """
    count = len(transition)
    ends = graph.edge_list()
    pairs = np.bincount(codes[ends[0]] * count + codes[ends[1]], minlength=count * count).reshape(
        count, count
    )
    inverse = np.linalg.inv(transition)
    joint = inverse.T @ (pairs / max(pairs.sum(), 1)) @ inverse
    joint = np.maximum(joint, RAREST * max(float(joint.max()), RAREST))
    beside = joint / joint.sum(axis=1, keepdims=True)
    logs = np.log(beside @ transition)
    scores = np.zeros((graph.node_count, count))
    np.add.at(scores, ends[0], logs[:, codes[ends[1]]].T)
    return scores


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
