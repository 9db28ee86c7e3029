"""Attacks on what a method learned: labels are planted before it learns, and its scores or its embedding are seen."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from graphveil.attacks.game import Attack, Deal, Natural, Numbers, Stakes, check_one_class
from graphveil.errors import InputError
from graphveil.graphs.graph import UNKNOWN, Graph
from graphveil.graphs.splits import GivenSplit
from graphveil.graphs.users import Users
from graphveil.methods.tasks import Outcome

# What of a model is seen: its scores of all classes for all users, or its embedding of them.
Seen = Literal["scores", "embedding"]
SEEN: tuple[Seen, ...] = ("scores", "embedding")
# Users whose secrets are guessed at least: fewer say nothing.
FEWEST = 8
# What is flipped of a run's seed where labels are reported, and where the attacker's own model learns from some: the noise of labels is that
# of nothing else, so that nobody who knows all other noise knows it.
LABELS, APART = 1 << 32, 1 << 33

Floats = NDArray[np.float64]


class Learner(Protocol):
    """A trainer of models on a graph and its users."""

    @property
    def label_epsilon(self) -> float | None:
        """The budget of a label; None where labels are public."""

    @property
    def has_control(self) -> bool:
        """Whether features are reported, so that a blind control exists."""

    def split(self, seed: int) -> tuple[Graph, Users]:
        """The data with the split of a run."""

    def learn(self, graph: Graph, users: Users, seed: int, *, label_seed: int, blind: bool) -> Outcome:
        """Return the outcome of a method on a graph whose split is given, from users who answer.

        Parameters
        ----------
        seed
            The seed of everything but the noise of labels.
        label_seed
            The seed of the noise of labels.
        blind
            Whether reports about features are blind.
        """


@dataclass(frozen=True)
class Learned:
    """A learner that is trained on planted labels, and the part of its outcome that is seen."""

    learner: Learner
    seen: Seen = "scores"


@dataclass(frozen=True)
class Lesson:
    """One run's data: half of the training users have planted labels (``attacked``), the labels of the others are known."""

    target: Learned
    seed: int
    graph: Graph
    users: Users
    attacked: Numbers
    known: Numbers

    @classmethod
    def of(cls, target: Learned, seed: int, dice: np.random.Generator) -> Lesson:
        """A run's split; refused where it has too few training users."""
        graph, users = target.learner.split(seed)
        check_one_class(graph)
        training = dice.permutation(np.flatnonzero(graph.train))
        if len(training) < 4 * FEWEST:
            raise InputError(
                f"an attack on a model needs at least {4 * FEWEST} training users, {graph.name} has {len(training)}: take another split, "
                "on town for example --set data.labelled=0.3"
            )
        attacked, known = np.split(training, [len(training) // 2])
        return cls(target, seed, graph, users, attacked, known)

    @property
    def own(self) -> Numbers:
        """Everybody's own label."""
        return self.users.raw.labels

    def with_labels(self, planted: Numbers) -> Numbers:
        """Everybody's label, those of the attacked users replaced."""
        labels = self.own.copy()
        labels[self.attacked] = planted
        return labels

    def scores(self, planted: Numbers, *, blind: bool = False) -> Floats:
        """The logarithm of how likely everybody has each class, by a model of these labels of the attacked users."""
        return self._learned(self.with_labels(planted), self.graph.train, blind=blind)

    def reference(self) -> Floats:
        """The same by the attacker's own model, which is trained without the attacked users.

        Reports of features and what training draws may be known, and are the same: no secret is in them.
        """
        others = self.graph.train.copy()
        others[self.attacked] = False
        return self._learned(self.own, others, flipped=APART)

    def _learned(
        self,
        labels: Numbers,
        train: NDArray[np.bool_],
        *,
        blind: bool = False,
        flipped: int = LABELS,
    ) -> Floats:
        raw, graph = self.users.raw, self.graph
        users = Users(raw.features, labels, neighbours=raw.neighbours, levels=raw.levels)
        known = np.where(train | graph.validation, labels, UNKNOWN)
        recipe = GivenSplit(train, graph.validation, graph.test)
        given = replace(graph, train=train, labels=known, recipe=recipe)
        outcome = self.target.learner.learn(
            given, users, self.seed, label_seed=self.seed ^ flipped, blind=blind
        )
        return class_scores(outcome, self.target.seen, self.own, self.known)


class ModelAttack(Attack[Learned]):
    """An attack on a model. The attacker trains one of the same kind without the attacked users, and looks at the difference.

    What a model says of a user comes of the user's features and neighbours for the most part, and they are in both models: what
    is left is what the planted label changed. The control is a model that learned from other secrets.
    """

    @abstractmethod
    def plant(self, lesson: Lesson, dice: np.random.Generator) -> tuple[NDArray[Any], Numbers]:
        """Secrets of the attacked users, and the labels with which they train."""

    @abstractmethod
    def decide(
        self, lesson: Lesson, changes: Floats, secrets: NDArray[Any], dice: np.random.Generator
    ) -> NDArray[Any]:
        """Guesses of those secrets that are counted, from how the scores of the attacked users' classes changed."""

    def counted(self, secrets: NDArray[Any]) -> NDArray[Any]:
        """The secrets that are guessed: all, or those that the attacker is not told."""
        return secrets

    @abstractmethod
    def values(self, graph: Graph) -> int:
        """Return the number of possible secrets."""

    @abstractmethod
    def natural(
        self, lesson: Lesson, dice: np.random.Generator
    ) -> tuple[str, Callable[[Floats], float | None]]:
        """A name for the natural game, and its balanced accuracy by a model's scores."""

    def deal(self, target: Learned, seed: int, dice: np.random.Generator) -> Deal:
        lesson = Lesson.of(target, seed, dice)
        (secrets, labels), (_, others) = (self.plant(lesson, dice) for _ in range(2))
        reference = cache(lesson.reference)

        @cache
        def scores(control: bool) -> Floats:
            return lesson.scores(others if control else labels)

        def guess(control: bool) -> NDArray[Any]:
            changes = (scores(control) - reference())[lesson.attacked]
            # What all attacked users together changed is nobody's own.
            return self.decide(lesson, changes - changes.mean(axis=0), secrets, dice)

        def natural() -> Mapping[str, Natural]:
            name, measure = self.natural(lesson, dice)
            found, control = measure(scores(False)), None
            if target.learner.has_control:
                control = measure(lesson.scores(labels, blind=True))
            return {} if found is None else {name: Natural(found, control)}

        epsilon = target.learner.label_epsilon
        stakes = Stakes(self.values(lesson.graph), math.inf if epsilon is None else epsilon)
        return Deal(stakes, self.counted(secrets), guess, natural)


def class_scores(outcome: Outcome, seen: Seen, labels: Numbers, known: Numbers) -> Floats:
    """Return the log-probability of each class for every user, by a model: (users, classes) float64.

    From an embedding the attacker makes such a model: the nearer the centre of a class among users whose
    labels are known, the likelier.

    Parameters
    ----------
    outcome
        The outcome of the attacked model.
    seen
        The part of the outcome that the attacker sees: "scores" or "embedding".
    labels
        The class of each user; class centres are those of the ``known`` users alone.
    known
        The users whose labels the attacker knows.
    """
    rows: Any = outcome.scores if seen == "scores" else outcome.embedding
    if rows is None:
        raise InputError(
            f"this method has no {seen} of users to attack: take another method, or --seen {'scores' if seen == 'embedding' else 'embedding'}"
        )
    scores = np.asarray(rows, dtype=np.float64)
    if seen == "embedding":
        scores = _nearness(scores, labels, known)
    scores = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))


def _nearness(rows: Floats, labels: Numbers, known: Numbers) -> Floats:
    """Minus the squared distance of rows from each class's centre, in mean squared distances from their own one."""
    everywhere = rows[known].mean(axis=0)
    centres = np.stack(
        [
            rows[known[labels[known] == each]].mean(axis=0) if (labels[known] == each).any() else everywhere
            for each in range(int(labels.max()) + 1)
        ]
    )
    squares = ((rows[:, None, :] - centres) ** 2).sum(axis=2)
    usual = squares[known, labels[known]].mean()
    return np.asarray(-squares / max(float(usual), 1e-12))
