"""Campaigns: an attack over several runs and budgets, beside chance, control and bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from graphveil.attacks.game import Attack, MechanismAttack, Played, Reporting, Stakes, Tally
from graphveil.attacks.registry import ATTACKS
from graphveil.checks import check_whole
from graphveil.errors import InputError
from graphveil.graphs import load
from graphveil.graphs.load import LOADERS
from graphveil.graphs.splits import check_seed
from graphveil.mechanisms.limits import check_budget
from graphveil.mechanisms.registry import load_entry
from graphveil.number_format import NO_VALUE, budget, percent
from graphveil.plugins import is_reference
from graphveil.statistics import Summary, at_least, exact_interval, t_interval
from graphveil.version import __version__

# What is rarer than this is called less than one in a million.
RARE = 1e-6
# From here on a share is 100.0% with one digit.
ALL_BUT = 0.9995

Watch = Callable[[str, float], None]


class AttackTarget(Protocol):
    """The target of an attack, at any budget."""

    @property
    def attack(self) -> Attack[Any]:
        """The attack."""

    @property
    def against(self) -> str:
        """The name of what is attacked."""

    @property
    def data(self) -> str:
        """The name of the graph."""

    def check(self, epsilon: float | None) -> None:
        """Refuse what cannot be played, before anything heavy is done."""

    def play(self, epsilon: float | None, seed: int) -> Played:
        """One run."""


@dataclass(frozen=True)
class MechanismTarget:
    """An attack on reports: ``options`` are the mechanism's, ``data_options`` the loader's."""

    attack: MechanismAttack
    data: str
    against: str
    options: dict[str, Any] = field(default_factory=dict)
    data_options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, attack: str | MechanismAttack, data: str, mechanism: str = "", **more: Any
    ) -> MechanismTarget:
        """Return the target of an attack on a mechanism.

        Parameters
        ----------
        attack
            The attack, or its name.
        data
            The name of the graph.
        mechanism
            The name of the mechanism; empty: the attack's own.
        """
        found = ATTACKS.find(attack) if isinstance(attack, str) else attack
        name = mechanism or found.mechanism
        subject = load_entry(name).subject
        if subject not in found.subjects:
            raise InputError(
                f"{name} reports {_plural(subject)}, and the attack {found.name} is about {_plural(found.subjects[0])}: choose another mechanism"
            )
        found.check(name)
        return cls(found, data, name, **more)

    def check(self, epsilon: float | None) -> None:
        if epsilon is None:
            raise InputError("an attack on reports needs their budget: give --epsilon, for example 1")
        check_budget(epsilon)
        if is_reference(self.data):
            LOADERS.load(self.data)

    def play(self, epsilon: float | None, seed: int) -> Played:
        assert epsilon is not None
        try:
            graph, users = load(self.data, seed=seed, **self.data_options)
        except TypeError as error:
            raise InputError(f"{self.data} cannot be loaded with {self.data_options}: {error}") from None
        built = self.attack.build(self.against, epsilon, graph, seed, self.options)
        return self.attack.play(Reporting(built, graph, users), seed)


def _plural(subject: str) -> str:
    """Name several of what a mechanism is for."""
    return subject if subject.endswith("s") else f"{subject}s"


@dataclass(frozen=True)
class NaturalAccuracy:
    """An attack on real secrets over all runs, and on the control; there is no bound for it."""

    name: str
    found: Summary
    control: Summary | None


@dataclass(frozen=True)
class AttackPoint:
    """The results of all runs at one budget."""

    epsilon: float | None
    plays: tuple[Played, ...]

    @property
    def budget_text(self) -> str:
        """The budget as tables and axes show it."""
        return NO_VALUE if self.epsilon is None else f"{self.epsilon:g}"

    @property
    def stakes(self) -> Stakes:
        """The stakes: the same in all runs but for a fitted prior, whose mean it has."""
        first = self.plays[0].stakes
        if first.prior is None:
            return first
        shares = np.mean([each.stakes.shares for each in self.plays], axis=0)
        return replace(first, prior=tuple(shares.tolist()))

    @property
    def chance(self) -> float:
        """The accuracy of an attacker who sees nothing."""
        return self._mean([each.stakes.chance for each in self.plays])

    @property
    def bound(self) -> float:
        """The largest accuracy of any attacker; if each run has a prior, the mean over all guesses."""
        return self._mean([each.stakes.bound for each in self.plays])

    @property
    def balanced_chance(self) -> float:
        """The balanced accuracy on real secrets of an attacker who sees nothing."""
        return 1 / self.stakes.values

    @property
    def prior_text(self) -> str:
        """The prior of planted secrets, in words."""
        if self.stakes.prior is None:
            count = "both" if self.stakes.values == 2 else f"all {self.stakes.values}"
            return f"{count} values equally likely"
        return f"{', '.join(percent(share, '.3g') for share in self.stakes.shares)}, fitted to reports"

    def _mean(self, numbers: Sequence[float]) -> float:
        guesses = [each.planted.guesses for each in self.plays]
        return numbers[0] if len(set(numbers)) == 1 else float(np.average(numbers, weights=guesses))

    @property
    def tally(self) -> Tally:
        """All guesses about planted secrets."""
        return _together([each.planted for each in self.plays])

    @property
    def found(self) -> Summary:
        """The accuracy, with its exact 95% interval over the guesses of all runs."""
        return exact_interval(self.tally.right, self.tally.guesses)

    @property
    def control(self) -> Summary:
        """The same of the control."""
        control = _together([each.control for each in self.plays])
        return exact_interval(control.right, control.guesses)

    @property
    def natural(self) -> list[NaturalAccuracy]:
        """Attacks on real secrets, with 95% t-intervals over runs."""
        found = []
        for name in self.plays[0].natural:
            each = [play.natural[name] for play in self.plays if name in play.natural]
            control = [one.control for one in each if one.control is not None]
            accuracy = _share([one.accuracy for one in each])
            found.append(NaturalAccuracy(name, accuracy, _share(control) if control else None))
        return found

    @property
    def promised(self) -> bool:
        """Whether an ε promises anything about the secrets."""
        return math.isfinite(self.stakes.epsilon)

    @property
    def holds(self) -> bool:
        """Whether the bound may be true: it is not below the whole interval."""
        assert self.found.low is not None
        return self.found.low <= self.bound

    @property
    def how_likely(self) -> float:
        """The largest chance of so many right guesses or more, where the bound is true."""
        return at_least(self.tally.right, self.tally.guesses, self.bound)

    @property
    def verdict(self) -> str:
        """Bound and attack in a sentence."""
        found = f"{share_text(self.found.mean)} of guesses are right"
        if not self.promised:
            return f"{found}; no ε promises anything about it"
        bound = f"{share_text(self.bound)} that {budget(round(self.stakes.epsilon, 4))} allows"
        if self.found.mean <= self.bound:
            return f"{found}, not above the {bound}"
        if self.holds:
            return f"{found}, above the {bound} by no more than so few guesses are off by"
        often = f"at most {percent(self.how_likely, '.2g')}"
        likely = often if self.how_likely > RARE else "less than one in a million"
        return f"{found}, above the {bound}: the promise is broken (where it is kept, {likely} of campaigns come out like this)"

    def to_dict(self) -> dict[str, Any]:
        """As `--json` has it."""
        return {
            "epsilon": self.epsilon,
            "values": self.stakes.values,
            "guesses": self.tally.guesses,
            "right": self.tally.right,
            "runs": [each.planted.accuracy for each in self.plays],
            **asdict(self.found),
            "control": asdict(self.control),
            "prior": list(self.stakes.shares),
            "chance": self.chance,
            "bound": self.bound,
            "bound_epsilon": self.stakes.epsilon if self.promised else None,
            "bound_delta": self.stakes.delta,
            "holds": self.holds,
            "how_likely": self.how_likely,
            "verdict": self.verdict,
            "natural": [
                {
                    "name": each.name,
                    "metric": "balanced accuracy",
                    "chance": self.balanced_chance,
                    **asdict(each.found),
                    "control": None if each.control is None else asdict(each.control),
                }
                for each in self.natural
            ],
        }


@dataclass(frozen=True)
class Campaign:
    """An attack on one thing at some budgets."""

    attack: Attack[Any]
    against: str
    data: str
    seed: int
    points: tuple[AttackPoint, ...]

    @property
    def holds(self) -> bool:
        """Whether no bound was broken."""
        return all(point.holds for point in self.points)

    @property
    def summary(self) -> str:
        """The result of all budgets together, in a sentence; of one it is the verdict."""
        if len(self.points) == 1:
            return self.points[0].verdict
        broken = [point for point in self.points if not point.holds]
        if broken:
            worst = max(broken, key=lambda point: point.found.mean - point.bound)
            where = f" at {_listed(broken)}" if len(broken) < len(self.points) else " at every budget"
            return f"the promise is broken{where}, most at {budget(worst.epsilon)}: {worst.verdict.partition(':')[0]}"
        promised = [point for point in self.points if point.promised]
        found = [point.found.mean for point in self.points]
        right = f"{share_text(min(found))} to {share_text(max(found))} of guesses are right"
        if not promised:
            return f"{right} at {_listed(self.points)}; no ε promises anything about it"
        nearest = min(promised, key=lambda point: point.bound - point.found.mean)
        return f"no promise is broken at {_listed(self.points)}; the closest is {budget(nearest.epsilon)}: {nearest.verdict}"

    def to_dict(self) -> dict[str, Any]:
        """As `--json` has it: the fields of a point among the others where there is one, else all ``points``."""
        shared = {
            "attack": self.attack.name,
            "against": self.against,
            "data": self.data,
            "seed": self.seed,
            "version": __version__,
            "game": self.attack.game,
            "unit": self.attack.unit,
        }
        if len(self.points) == 1:
            return {**shared, **self.points[0].to_dict()}
        return {
            **shared,
            "holds": self.holds,
            "verdict": self.summary,
            "points": [point.to_dict() for point in self.points],
        }


def run_campaign(
    target: AttackTarget,
    epsilons: Sequence[float | None],
    *,
    runs: int,
    seed: int,
    watch: Watch | None = None,
) -> Campaign:
    """Play an attack several times at each budget.

    Parameters
    ----------
    target
        The target of the attack.
    epsilons
        The budgets.
    runs
        The number of runs at each budget.
    seed
        Run i uses ``seed`` + i for everything.
    watch
        A function that is called with what is played and the share that is done.
    """
    check_campaign(target, epsilons, runs=runs, seed=seed)
    points = []
    for place, epsilon in enumerate(epsilons):
        plays = []
        for run in range(runs):
            if watch is not None:
                watch(f"{target.attack.name} at {budget(epsilon)}", (place + run / runs) / len(epsilons))
            plays.append(target.play(epsilon, seed + run))
        points.append(AttackPoint(epsilon, tuple(plays)))
    return Campaign(target.attack, target.against, target.data, seed, tuple(points))


def check_campaign(target: AttackTarget, epsilons: Sequence[float | None], *, runs: int, seed: int) -> None:
    """Refuse a campaign that cannot be played, before the first run.

    Parameters
    ----------
    target, epsilons, runs, seed
        As in `run_campaign`.
    """
    check_seed(seed, check_whole(runs, "--runs", least=1))
    for epsilon in epsilons:
        target.check(epsilon)


def share_text(share: float) -> str:
    """A share in percent; with more digits where it would round to all of it.

    >>> share_text(0.8808), share_text(0.99966), share_text(1.0)
    ('88.1%', '99.966%', '100.0%')
    """
    return percent(share, ".1f" if share == 1 or share < ALL_BUT else ".3f")


def _listed(points: Sequence[AttackPoint]) -> str:
    """Budgets in their order.

    >>> _listed([AttackPoint(0.5, ()), AttackPoint(2.0, ())])
    'ε = 0.5 and 2'
    """
    *first, last = (point.budget_text for point in points)
    return f"ε = {', '.join(first)} and {last}" if first else f"ε = {last}"


def _share(values: Sequence[float]) -> Summary:
    """The t-interval of a share, which ends at 0 and 1."""
    found = t_interval(values)
    low, high = (None if end is None else min(max(end, 0.0), 1.0) for end in (found.low, found.high))
    return Summary(found.mean, low, high)


def _together(tallies: Sequence[Tally]) -> Tally:
    return Tally(sum(each.right for each in tallies), sum(each.guesses for each in tallies))
