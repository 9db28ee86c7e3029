"""A game: users get secrets by a throw of dice, send what they send, and somebody who sees it guesses.

Real data know more than a report tells: a graph, neighbours and common values make guesses right that no report was needed for, and
no ε bounds that. So what a budget bounds is measured on planted secrets. Each is drawn from a stated prior (all values equally likely, unless an attack says otherwise), independently of all else, and
put in the place of what the user holds there. All that an attacker could know beforehand says nothing more about it: chance is the share of
the likeliest value, and `guess_bound` is a theorem. The natural game, real secrets and no bound, stands beside it.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import FiniteChannel
from graphveil.channels.sampling import SeededBits
from graphveil.checks import check_number, check_whole
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.users import Users
from graphveil.mechanisms import Mechanism, PersonalMechanism, PersonalRows, Reports, entry, mechanism
from graphveil.mechanisms.base import Subject

# Streams of a run's seed: what users draw reports from, what secrets and ties are drawn from, and what reports come from that a prior is
# fitted to: whoever has seen the words of a report knows more than its table says.
REPORTS, SECRETS, FITTING = 20, 21, 22

# Shares that add up to 1 but for this are a prior.
ROUNDING = 1e-9

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
# What an attack is played on.
Target = TypeVar("Target")


@dataclass(frozen=True)
class Stakes:
    """One of ``values`` secrets, about which what is seen promises (ε, δ); all equally likely, or as the ``prior`` says."""

    values: int
    epsilon: float
    delta: float = 0.0
    prior: tuple[float, ...] | None = None

    @property
    def shares(self) -> tuple[float, ...]:
        """The probability of each value."""
        return (1 / self.values,) * self.values if self.prior is None else self.prior

    @property
    def chance(self) -> float:
        """The accuracy of an attacker who sees nothing."""
        return max(self.shares)

    @property
    def bound(self) -> float:
        """The largest accuracy of any attacker."""
        return guess_bound(self.epsilon, self.values, self.delta, self.prior)


@dataclass(frozen=True)
class Tally:
    """So many guesses, and so many of them right."""

    right: int
    guesses: int

    @classmethod
    def of(cls, guessed: NDArray[Any], secret: NDArray[Any]) -> Tally:
        """Count the right ones in a list of guesses."""
        return cls(int((guessed == secret).sum()), len(secret))

    @property
    def accuracy(self) -> float:
        """The share of guesses that are right."""
        return self.right / self.guesses


@dataclass(frozen=True)
class Natural:
    """The balanced accuracies of an attack on real secrets in one run, and on the control."""

    accuracy: float
    control: float | None


@dataclass(frozen=True)
class Played:
    """One run: what was at stake, planted secrets, the same on the control, and real ones by the name of the attack."""

    stakes: Stakes
    planted: Tally
    control: Tally
    natural: Mapping[str, Natural] = field(default_factory=dict)


@dataclass(frozen=True)
class Deal:
    """A game whose secrets are planted: ``guess`` guesses all of them, from what is seen (False) or from the control (True)."""

    stakes: Stakes
    secrets: NDArray[Any]
    guess: Callable[[bool], NDArray[Any]]
    natural: Callable[[], Mapping[str, Natural]] = dict


class Attack(ABC, Generic[Target]):
    """An attack: its name, sentences about the game that it plays, and how the game is dealt. All games are counted alike."""

    name: ClassVar[str]
    summary: ClassVar[str]
    # What is drawn, what is seen, and what the control is: the planted game in words.
    game: ClassVar[str]
    # What the ε of the bound protects.
    unit: ClassVar[str]

    @abstractmethod
    def deal(self, target: Target, seed: int, dice: np.random.Generator) -> Deal:
        """Plant secrets, and say how they are guessed.

        Parameters
        ----------
        target
            What is attacked.
        seed
            The seed of the run.
        dice
            The generator that draws secrets and ties.
        """

    def play(self, target: Target, seed: int) -> Played:
        """One run."""
        deal = self.deal(target, seed, dice_of(seed))
        planted, control = (Tally.of(deal.guess(blind), deal.secrets) for blind in (False, True))
        return Played(deal.stakes, planted, control, deal.natural())


@dataclass(frozen=True)
class Reporting:
    """Users of a graph who report by a mechanism, or whose curator publishes by one."""

    mechanism: Mechanism
    graph: Graph
    users: Users

    @property
    def pair(self) -> tuple[Mechanism, Mechanism]:
        """The mechanism and its control."""
        return self.mechanism, self.mechanism.blind()


class MechanismAttack(Attack[Reporting]):
    """An attack on what users report by a mechanism, or on what a curator publishes by one."""

    subjects: ClassVar[tuple[Subject, ...]]
    # What is attacked where no mechanism is named.
    mechanism: ClassVar[str]

    def check(self, name: str) -> None:
        """Refuse a mechanism of these subjects that has nothing to guess."""
        return

    @abstractmethod
    def build(self, name: str, epsilon: float, graph: Graph, seed: int, options: dict[str, Any]) -> Mechanism:
        """Build the mechanism, as it would ask the users of a graph.

        Parameters
        ----------
        name
            The name of the mechanism.
        epsilon
            Its budget.
        options
            Its options.
        """


def dice_of(seed: int) -> np.random.Generator:
    """Return the generator that draws a run's secrets, targets and ties: never the words of reports."""
    return np.random.default_rng([seed, SECRETS])


def draw_reports(
    mechanism: Mechanism, private: Any, seed: int, stream: int = REPORTS, levels: Numbers | None = None
) -> Reports:
    """Return the reports of a run.

    Parameters
    ----------
    mechanism
        The mechanism or its control.
    private
        What users hold, one row each; None where that is a level alone.
    seed
        The seed of the run.
    stream
        The stream of random words.
    levels
        The users' privacy levels, where they report by one: (users,) int64.
    """
    if levels is not None:
        private = levels if private is None else PersonalRows(levels, private)
    return mechanism.randomize(private, SeededBits(seed, stream))


def named_values(mechanism: PersonalMechanism, reports: Reports) -> NDArray[np.int32]:
    """Return the values that reports by a level name, (users, values) int32."""
    if reports.dims is None:
        return np.tile(np.arange(mechanism.size, dtype=np.int32), (reports.users, 1))
    return reports.dims.reshape(reports.users, mechanism.shape.length)[:, :-1]


@lru_cache(maxsize=64)
def channel_logs(channel: FiniteChannel, least: float = 0.0) -> Floats:
    """Return the logarithm of a channel's table; of what comes less often, that of the ``least`` probability."""
    rows = [channel.row(symbol) for symbol in range(channel.input_count)]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(np.array(rows, dtype=np.float64) / channel.total, least)))


def likeliest(scores: Floats, dice: np.random.Generator) -> Numbers:
    """The place of the largest score of each row, at random where several are the largest.

    >>> likeliest(np.array([[0.0, 1.0], [2.0, 1.0]]), dice_of(0)).tolist()
    [1, 0]
    """
    largest = scores == scores.max(axis=1, keepdims=True)
    return np.asarray((largest * (1 + dice.random(scores.shape))).argmax(axis=1))


def likelier(ratios: Floats, dice: np.random.Generator) -> NDArray[np.bool_]:
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


def features_mechanism(name: str, epsilon: float, graph: Graph, options: dict[str, Any]) -> Mechanism:
    """Return a mechanism that reports features of a graph, as a method would ask for them.

    Parameters
    ----------
    name
        The name of the mechanism.
    epsilon
        Its budget.
    options
        Its options.
    """
    known = {
        "dims": graph.feature_count,
        "range": astuple(graph.feature_range),
        "binary": graph.binary and "points" not in options or None,
    }
    return mechanism(name, epsilon=epsilon, **accepted_by(name, known), **options)


def check_one_class(graph: Graph) -> None:
    """Refuse a graph whose users do not have one class each."""
    if graph.multilabel or graph.class_count < 2:
        raise InputError(
            f"users of {graph.name} do not have one class each: choose a label with data.label=0"
        )


def accepted_by(name: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """Those of some settings that a mechanism takes."""
    parameters = inspect.signature(entry(name).build).parameters
    return {key: value for key, value in known.items() if key in parameters and value is not None}


def guess_bound(
    epsilon: float, values: int = 2, delta: float = 0.0, prior: Sequence[float] | None = None
) -> float:
    """Return the largest accuracy of any guess of one of k values from one (ε, δ)-private report.

    Where all are equally likely it is (e^ε + (k-1)δ)/(e^ε + k-1), for two values e^ε/(1+e^ε). With a
    ``prior`` it is the largest δ + (1-δ)·e^ε/(e^ε + m-1)·(π_1 + … + π_m) over m, the π in falling order. With
    m = 1 that is to name the commonest value without a look at the report.

    Let p_i(j) be how often j is guessed where i is true, and t_j the least p_i(j) over i ≠ j. Privacy says
    p_j(j) ≤ e^ε·t_j + δ, and what is guessed adds up to 1: p_j(j) ≤ 1 - S + t_j, S being the sum of all t. So
    t_j counts up to (1-δ-S)/(e^ε-1), and Σ π_j·p_j(j) is the largest where the m commonest values have just
    that, t = (1-δ)/(e^ε+m-1), and the others nothing: it is linear in between. k-ary randomized response
    among m values reaches it at δ = 0. For equal shares this is the balanced accuracy too (the mean of all
    values' hit rates), however common values are. Reports of others are not covered: they tell about a user
    what the user has in common with them.

    Parameters
    ----------
    epsilon, delta
        The claim of the report.
    values
        The number of values k.
    prior
        The probability of each value; equal by default.

    >>> round(guess_bound(1.0), 4), guess_bound(0.0), round(guess_bound(1.0, 4), 4), guess_bound(1.0, prior=[0.9, 0.1])
    (0.7311, 0.5, 0.4754, 0.9)
    """
    check_number(epsilon, "epsilon", least=0, infinite=True)
    check_number(delta, "delta", least=0, most=1)
    count = check_whole(values, "values", least=2)
    shares = [1 / count] * count if prior is None else _checked_prior(prior, count)
    # e^ε may be too large for a float, e^-ε is not.
    small = math.exp(-epsilon)
    likeliest = sorted(shares, reverse=True)
    detail = max(math.fsum(likeliest[:most]) / (1 + (most - 1) * small) for most in range(1, count + 1))
    return min(1.0, delta + (1 - delta) * detail)


def _checked_prior(prior: Sequence[float], count: int) -> list[float]:
    shares = [float(share) for share in prior]
    if len(shares) != count or min(shares) < 0 or abs(math.fsum(shares) - 1) > ROUNDING:
        raise InputError(f"prior must be {count} shares of at least 0 that add up to 1, got {shares}")
    return shares
