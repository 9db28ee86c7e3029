"""A game: users get secrets by a throw of dice, send what they send, and somebody who sees it guesses.

Real data know more than a report tells: a graph, neighbours and common values make guesses right that no report was needed for, and
no ε bounds that. So what a budget bounds is measured on planted secrets. Each is drawn uniformly, independently of all else, and put in
the place of what the user holds there. All that an attacker could know beforehand says nothing about it: chance is exactly 1/k, and
`guess_bound` is a theorem. The natural game, real secrets and no bound, stands beside it.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphveil.attacks.bounds import guess_bound
from graphveil.channels.words import SeededWords
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.users import Users
from graphveil.mechanisms import Mechanism, entry, mechanism
from graphveil.mechanisms.base import Subject

# Streams of a run's seed: what users draw reports from, and what secrets and ties are drawn from.
REPORTS, SECRETS = 20, 21

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Stakes:
    """One of ``values`` equally likely secrets, about which what is seen promises (ε, δ)."""

    values: int
    epsilon: float
    delta: float = 0.0

    @property
    def chance(self) -> float:
        """How often whoever sees nothing is right."""
        return 1 / self.values

    @property
    def bound(self) -> float:
        """How often anybody can be right."""
        return guess_bound(self.epsilon, self.values, self.delta)


@dataclass(frozen=True)
class Tally:
    """So many guesses, and so many of them right."""

    right: int
    guesses: int

    @classmethod
    def of(cls, guessed: NDArray[Any], secret: NDArray[Any]) -> Tally:
        """What a list of guesses comes to."""
        return cls(int((guessed == secret).sum()), len(secret))

    @property
    def accuracy(self) -> float:
        """The share of guesses that are right."""
        return self.right / self.guesses


@dataclass(frozen=True)
class Natural:
    """What an attack reaches on real secrets in one run, and on the control, as balanced accuracies."""

    accuracy: float
    control: float | None


@dataclass(frozen=True)
class Played:
    """One run: planted secrets, the same on the control, and real ones by the name of the attack."""

    planted: Tally
    control: Tally
    natural: Mapping[str, Natural] = field(default_factory=dict)


class Attack(ABC):
    """What is common to all attacks: their names, and sentences about the game that they play."""

    name: ClassVar[str]
    summary: ClassVar[str]
    # What is drawn, what is seen, and what the control is: the planted game in words.
    game: ClassVar[str]
    # What the ε of the bound protects.
    unit: ClassVar[str]


class MechanismAttack(Attack):
    """An attack on what users report by a mechanism, or on what a curator publishes by one."""

    subjects: ClassVar[tuple[Subject, ...]]
    # What is attacked where no mechanism is named.
    mechanism: ClassVar[str]

    def check(self, name: str) -> None:
        """Refuse a mechanism of these subjects that has nothing to guess."""
        return

    @abstractmethod
    def build(self, name: str, epsilon: float, graph: Graph, seed: int, options: dict[str, Any]) -> Mechanism:
        """The mechanism, as it would ask the users of a graph."""

    @abstractmethod
    def stakes(self, mechanism: Mechanism) -> Stakes:
        """What a guess about planted secrets can win."""

    @abstractmethod
    def play(self, mechanism: Mechanism, graph: Graph, users: Users, seed: int) -> Played:
        """One run."""


def words_of(seed: int) -> SeededWords:
    """What reports of a run are drawn from; the same words each time, so that a control differs in nothing else."""
    return SeededWords(seed, REPORTS)


def dice_of(seed: int) -> np.random.Generator:
    """What secrets, targets and ties of a run are drawn from: never the words of reports."""
    return np.random.default_rng([seed, SECRETS])


def likeliest(scores: NDArray[np.float64], dice: np.random.Generator) -> Numbers:
    """The place of the largest score of each row, at random where several are the largest.

    >>> likeliest(np.array([[0.0, 1.0], [2.0, 1.0]]), dice_of(0)).tolist()
    [1, 0]
    """
    largest = scores == scores.max(axis=1, keepdims=True)
    return np.asarray((largest * (1 + dice.random(scores.shape))).argmax(axis=1))


def likelier(ratios: NDArray[np.float64], dice: np.random.Generator) -> NDArray[np.bool_]:
    """The guess of a bit from log P[seen | 1]/P[seen | 0]: the likelier one, at random where both are alike."""
    return np.asarray(np.where(ratios == 0, dice.random(len(ratios)) < 0.5, ratios > 0))


def balanced(guessed: NDArray[Any], truth: NDArray[Any]) -> float | None:
    """The mean of all values' hit rates; None where there is one value only.

    >>> balanced(np.array([1, 0, 0, 0]), np.array([1, 1, 0, 0]))
    0.75
    """
    rates = [float((guessed[truth == value] == value).mean()) for value in np.unique(truth)]
    return float(np.mean(rates)) if len(rates) > 1 else None


def naturals(found: Mapping[str, tuple[float | None, float | None]]) -> dict[str, Natural]:
    """Accuracies and those of the control by the name of the attack, as far as there are any."""
    return {
        name: Natural(accuracy, control)
        for name, (accuracy, control) in found.items()
        if accuracy is not None
    }


def features_mechanism(
    attack: MechanismAttack, name: str, epsilon: float, graph: Graph, options: dict[str, Any]
) -> Mechanism:
    """A mechanism that reports features of a graph, as a method would ask for them."""
    if graph.public_range is None:
        raise InputError(
            f"{graph.name} has no features, so there is nothing for {attack.name} to attack: take another graph"
        )
    known = {
        "dims": graph.feature_count,
        "range": (graph.public_range.low, graph.public_range.high),
        "binary": graph.binary and "points" not in options or None,
    }
    return mechanism(name, epsilon=epsilon, **accepted_by(name, known), **options)


def accepted_by(name: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """Those of some settings that a mechanism takes."""
    parameters = inspect.signature(entry(name).build).parameters
    return {key: value for key, value in known.items() if key in parameters and value is not None}
