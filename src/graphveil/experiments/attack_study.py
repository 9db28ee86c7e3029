"""An attack over several runs and budgets, beside chance, control and bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from graphveil import learn
from graphveil.attacks.game import Attack, MechanismAttack, Played, Reporting, Stakes, Tally
from graphveil.attacks.model import SEEN, Learned, ModelAttack, Seen
from graphveil.attacks.registry import ATTACKS, MODEL_ATTACKS
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment, Part, check_data
from graphveil.experiments.figure import Chart, Panel, Series
from graphveil.experiments.page import Section, page
from graphveil.experiments.statistics import Summary, at_least, exact_interval, t_interval
from graphveil.experiments.table import Table
from graphveil.experiments.unit import load_data, make_ready
from graphveil.graphs import Graph, Users, load
from graphveil.graphs.splits import check_seed
from graphveil.mechanisms import Reports
from graphveil.mechanisms.registry import check_budget, load_entry
from graphveil.methods.outcome import Outcome
from graphveil.number_format import NONE, PERCENT, budget, counted, low_to_high, percent, points, rounded
from graphveil.privacy import Plan, Respondents
from graphveil.version import __version__


class Ground(Protocol):
    """Whoever can play an attack at a budget."""

    @property
    def attack(self) -> Attack[Any]:
        """The attack."""

    @property
    def against(self) -> str:
        """What is attacked, by its name."""

    @property
    def data(self) -> str:
        """The name of the graph."""

    def check(self, epsilon: float | None) -> None:
        """Refuse what cannot be played, before anything heavy is done."""

    def play(self, epsilon: float | None, seed: int) -> Played:
        """One run."""


@dataclass(frozen=True)
class MechanismGround:
    """An attack on reports: ``options`` are the mechanism's, ``data_options`` the loader's."""

    attack: MechanismAttack
    data: str
    against: str
    options: dict[str, Any] = field(default_factory=dict)
    data_options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, attack: str | MechanismAttack, data: str, mechanism: str = "", **more: Any
    ) -> MechanismGround:
        """By the name of the attack, or itself; its own mechanism unless one is named."""
        found = ATTACKS.find(attack) if isinstance(attack, str) else attack
        name = mechanism or found.mechanism
        subject = load_entry(name).subject
        if subject not in found.subjects:
            raise InputError(
                f"{name} reports {_told(subject)}, and the attack {found.name} is about {_told(found.subjects[0])}: choose another mechanism"
            )
        found.check(name)
        return cls(found, data, name, **more)

    def check(self, epsilon: float | None) -> None:
        if epsilon is None:
            raise InputError("an attack on reports needs their budget: give --epsilon, for example 1")
        check_budget(epsilon)
        check_data(self.data)

    def play(self, epsilon: float | None, seed: int) -> Played:
        assert epsilon is not None
        try:
            graph, users = load(self.data, seed=seed, **self.data_options)
        except TypeError as error:
            raise InputError(f"{self.data} cannot be loaded with {self.data_options}: {error}") from None
        built = self.attack.build(self.against, epsilon, graph, seed, self.options)
        return self.attack.play(Reporting(built, graph, users), seed)


def _told(subject: str) -> str:
    """Several of what a mechanism is for."""
    return subject if subject.endswith("s") else f"{subject}s"


@dataclass(frozen=True)
class MethodGround:
    """An attack on what a method learns; the budget is that of a label, where labels are private."""

    attack: ModelAttack
    spec: Experiment
    seen: Seen = "scores"

    @classmethod
    def of(cls, attack: str, spec: Experiment, seen: str = "scores") -> MethodGround:
        """By the name of the attack."""
        found = [each for each in SEEN if each == seen]
        if not found:
            raise InputError(f"--seen takes {' or '.join(SEEN)}, got {seen!r}")
        return cls(MODEL_ATTACKS.find(attack), spec, found[0])

    @property
    def against(self) -> str:
        """The method."""
        return self.spec.method

    @property
    def data(self) -> str:
        """The name of the graph."""
        return self.spec.data

    def check(self, epsilon: float | None) -> None:
        self._at(epsilon).check()

    def play(self, epsilon: float | None, seed: int) -> Played:
        learner = ExperimentLearner(self._at(epsilon).having(runs=1, seed=seed))
        return self.attack.play(Learned(learner, self.seen), seed)

    def _at(self, epsilon: float | None) -> Experiment:
        return self.spec.having(label_epsilon=epsilon)


@dataclass(frozen=True)
class ExperimentLearner:
    """Trains what a spec says, on a graph and users that are given."""

    spec: Experiment

    @property
    def label_epsilon(self) -> float | None:
        """The budget of a label."""
        return self.spec.budgets.label_epsilon

    @property
    def has_control(self) -> bool:
        """Whether features are reported."""
        return self.spec.resolved_method.reports_features

    def split(self, seed: int) -> tuple[Graph, Users]:
        """The data with the split of a run."""
        return self.spec.resolved_task.divide(*load_data(self.spec), seed)

    def learn(self, graph: Graph, users: Users, seed: int, *, label_seed: int, blind: bool) -> Outcome:
        """What the method learns."""
        part: Part = "control" if blind else "method"
        with learn.one_thread():
            ready, other = (
                make_ready(replace(self.spec, seed=each), part, 0, None, (graph, users))
                for each in (seed, label_seed)
            )
            answering = LabelsApart(ready.job.users, other.job.users)
            return ready.method.run(replace(ready.job, users=answering))


class LabelsApart:
    """Respondents of whom others answer for labels: no word that is drawn for a label is ever drawn for something else."""

    def __init__(self, users: Respondents, labels: Respondents) -> None:
        self._users, self._labels = users, labels

    def report(self, plan: Plan) -> Reports:
        """Answer, each what they are there for."""
        return (self._labels if plan.subject == "label" else self._users).report(plan)


def finite(epsilon: float) -> float | None:
    """An ε for JSON, which has no infinity: None where nothing is promised."""
    return epsilon if math.isfinite(epsilon) else None


# What is rarer than this is called less than one in a million.
RARE = 1e-6
# From here on a share is 100.0% with one digit.
ALL_BUT = 0.9995

Watch = Callable[[str, float], None]


@dataclass(frozen=True)
class NaturalPoint:
    """An attack on real secrets over all runs, and on the control; there is no bound for it."""

    name: str
    found: Summary
    control: Summary | None


@dataclass(frozen=True)
class Point:
    """What the runs at one budget come to."""

    epsilon: float | None
    plays: tuple[Played, ...]

    @property
    def stakes(self) -> Stakes:
        """What was at stake: the same in all runs but for a fitted prior, whose mean it has."""
        first = self.plays[0].stakes
        if first.prior is None:
            return first
        shares = np.mean([each.stakes.shares for each in self.plays], axis=0)
        return replace(first, prior=tuple(shares.tolist()))

    @property
    def chance(self) -> float:
        """How often whoever sees nothing is right."""
        return self._mean([each.stakes.chance for each in self.plays])

    @property
    def bound(self) -> float:
        """How often anybody can be right: with a prior of its own in each run, the mean over all guesses."""
        return self._mean([each.stakes.bound for each in self.plays])

    @property
    def balanced_chance(self) -> float:
        """How often whoever sees nothing is right about real secrets, each value counting as much as the others."""
        return 1 / self.stakes.values

    @property
    def prior_told(self) -> str:
        """How likely planted secrets are, in words."""
        if self.stakes.prior is None:
            return (
                f"{'both' if self.stakes.values == 2 else f'all {self.stakes.values}'} values equally likely"
            )
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
    def natural(self) -> list[NaturalPoint]:
        """Attacks on real secrets, with 95% t-intervals over runs."""
        return [self._natural(name) for name in self.plays[0].natural]

    def _natural(self, name: str) -> NaturalPoint:
        each = [play.natural[name] for play in self.plays if name in play.natural]
        control = [one.control for one in each if one.control is not None]
        return NaturalPoint(
            name, _share([one.accuracy for one in each]), _share(control) if control else None
        )

    @property
    def holds(self) -> bool:
        """Whether the bound may be true: it is not below the whole interval."""
        assert self.found.low is not None
        return self.found.low <= self.bound

    @property
    def how_likely(self) -> float:
        """How often so many guesses or more are right at most, where the bound is true."""
        return at_least(self.tally.right, self.tally.guesses, self.bound)

    @property
    def verdict(self) -> str:
        """Bound and attack in a sentence."""
        found = f"{shown(self.found.mean)} of guesses are right"
        if math.isinf(self.stakes.epsilon):
            return f"{found}; no ε promises anything about it"
        bound = f"{shown(self.bound)} that {budget(round(self.stakes.epsilon, 4))} allows"
        if self.found.mean <= self.bound:
            return f"{found}, not above the {bound}"
        if self.holds:
            return f"{found}, above the {bound} by no more than so few guesses are off by"
        likely = (
            f"at most {percent(self.how_likely, '.2g')}"
            if self.how_likely > RARE
            else "less than one in a million"
        )
        return f"{found}, above the {bound}: the promise is broken (where it is kept, {likely} of campaigns come out like this)"

    def to_dict(self) -> dict[str, Any]:
        """As `--json` has it."""
        return {
            "epsilon": self.epsilon,
            "values": self.stakes.values,
            "guesses": self.tally.guesses,
            "right": self.tally.right,
            "runs": [each.planted.accuracy for each in self.plays],
            **_fields(self.found),
            "control": _fields(self.control),
            "prior": list(self.stakes.shares),
            "chance": self.chance,
            "bound": self.bound,
            "bound_epsilon": finite(self.stakes.epsilon),
            "bound_delta": self.stakes.delta,
            "holds": self.holds,
            "how_likely": self.how_likely,
            "verdict": self.verdict,
            "natural": [
                {
                    "name": each.name,
                    "metric": "balanced accuracy",
                    "chance": self.balanced_chance,
                    **_fields(each.found),
                    "control": None if each.control is None else _fields(each.control),
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
    points: tuple[Point, ...]

    @property
    def holds(self) -> bool:
        """Whether no bound was broken."""
        return all(point.holds for point in self.points)

    @property
    def summary(self) -> str:
        """What all budgets say together, in a sentence; of one it is the verdict."""
        if len(self.points) == 1:
            return self.points[0].verdict
        broken = [point for point in self.points if not point.holds]
        if broken:
            worst = max(broken, key=lambda point: point.found.mean - point.bound)
            where = f" at {_listed(broken)}" if len(broken) < len(self.points) else " at every budget"
            return f"the promise is broken{where}, most at {budget(worst.epsilon)}: {worst.verdict.partition(':')[0]}"
        promised = [point for point in self.points if not math.isinf(point.stakes.epsilon)]
        found = [point.found.mean for point in self.points]
        right = f"{shown(min(found))} to {shown(max(found))} of guesses are right"
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
    ground: Ground,
    epsilons: Sequence[float | None],
    *,
    runs: int,
    seed: int,
    watch: Watch | None = None,
) -> Campaign:
    """Play an attack so many times at each budget; run i uses the seed S + i for everything."""
    check_campaign(ground, epsilons, runs=runs, seed=seed)
    points = []
    for place, epsilon in enumerate(epsilons):
        plays = []
        for run in range(runs):
            if watch is not None:
                watch(f"{ground.attack.name} at {budget(epsilon)}", (place + run / runs) / len(epsilons))
            plays.append(ground.play(epsilon, seed + run))
        points.append(Point(epsilon, tuple(plays)))
    return Campaign(ground.attack, ground.against, ground.data, seed, tuple(points))


def check_campaign(ground: Ground, epsilons: Sequence[float | None], *, runs: int, seed: int) -> None:
    """Refuse what cannot be played, before the first run."""
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
        raise InputError(f"runs must be an integer of at least 1, got {runs!r}")
    check_seed(seed, runs)
    for epsilon in epsilons:
        ground.check(epsilon)


def shown(share: float) -> str:
    """A share in percent; with more digits where it would round to all of it.

    >>> shown(0.8808), shown(0.99966), shown(1.0)
    ('88.1%', '99.966%', '100.0%')
    """
    return percent(share, ".1f" if share == 1 or share < ALL_BUT else ".3f")


def _listed(points: Sequence[Point]) -> str:
    """Budgets in their order.

    >>> _listed([Point(0.5, ()), Point(2.0, ())])
    'ε = 0.5 and 2'
    """
    *first, last = ("none" if point.epsilon is None else f"{point.epsilon:g}" for point in points)
    return f"ε = {', '.join(first)} and {last}" if first else f"ε = {last}"


def _share(values: Sequence[float]) -> Summary:
    """The t-interval of a share, which ends at 0 and 1."""
    found = t_interval(values)
    if found.low is None or found.high is None:
        return found
    return Summary(found.mean, max(0.0, found.low), min(1.0, found.high))


def _together(tallies: Sequence[Tally]) -> Tally:
    return Tally(sum(each.right for each in tallies), sum(each.guesses for each in tallies))


def _fields(summary: Summary) -> dict[str, float | None]:
    return {"mean": summary.mean, "low": summary.low, "high": summary.high}


def campaign_chart(campaign: Campaign) -> Chart:
    """Return a campaign with budgets at equal distances in their order; an attack above its bound is a broken promise."""
    points = campaign.points
    places = tuple(map(float, range(len(points))))
    bounds, chances = (
        tuple(Summary(share, None, None) for share in shares)
        for shares in ([point.bound for point in points], [point.chance for point in points])
    )
    series = (
        Series(
            f"attack on {campaign.against}", places, tuple(point.found for point in points), role="method"
        ),
        Series("the control", places, tuple(point.control for point in points), role="control"),
        Series("the bound", places, bounds, role="limit"),
        Series("chance", places, chances, role="chance"),
    )
    panel = Panel(
        f"{campaign.attack.name} inference on {Path(campaign.data).stem}",
        "privacy budget ε",
        "planted secrets guessed right (%)",
        series,
        ticks=tuple("none" if point.epsilon is None else f"{point.epsilon:g}" for point in points),
        unit=PERCENT,
        limits=(0, 103),
    )
    return Chart((panel,))


BUDGET = "ε"
NUMBERS = ("right (%)", "95% interval", "control", "chance", "bound")
REAL = "Real ones are balanced accuracies, which no ε bounds: a graph and others' reports tell something too."


def campaign_page(campaign: Campaign) -> str:
    """The whole page."""
    title = f"{campaign.attack.name} inference on {campaign.against}, {Path(campaign.data).stem}"
    table = Table(
        ("what is guessed", BUDGET, *NUMBERS),
        tuple(
            (what, NONE if point.epsilon is None else f"{point.epsilon:g}", *cells)
            for point in campaign.points
            for what, *cells in point_rows(point)
        ),
        frozenset({BUDGET, *NUMBERS}),
    )
    results = Section("What is found out", svg=campaign_chart(campaign).svg(), table=table)
    explained = Section("How to read it", tuple(sentences(campaign)))
    runs = counted(len(campaign.points[0].plays), "run")
    footer = f"graphveil {__version__}, seed {campaign.seed}, {runs} at each budget."
    headline = campaign.summary
    return page(title, f"{headline[0].upper()}{headline[1:]}.", (results, explained), footer)


def point_rows(point: Point) -> list[tuple[str, ...]]:
    """What was guessed, and the `NUMBERS` of it: planted secrets first, then real ones."""
    bound = shown(point.bound).removesuffix("%")
    planted = ("planted secrets", *_cells(point.found, point.control), points(point.chance), bound)
    real = [
        (f"real ones: {each.name}", *_cells(each.found, each.control), points(point.balanced_chance), NONE)
        for each in point.natural
    ]
    return [planted, *real]


def sentences(campaign: Campaign) -> list[str]:
    """The game, what the bound is about, and what real secrets say."""
    said = [
        f"Planted: {campaign.attack.game}.",
        f"The bound is about {campaign.attack.unit}{_told_stakes(campaign.points)}.",
    ]
    return [*said, REAL] if any(point.natural for point in campaign.points) else said


def _cells(found: Summary, control: Summary | None) -> tuple[str, str, str]:
    return points(found.mean), low_to_high(found), NONE if control is None else points(control.mean)


def _told_stakes(of: Sequence[Point]) -> str:
    """The prior of the bound, and its ε where that is not the budget that was given."""
    priors = dict.fromkeys(point.prior_told for point in of)
    told = [
        f"ε = {rounded(point.stakes.epsilon, 4)}"
        for point in of
        if point.stakes.epsilon not in (point.epsilon, float("inf"))
    ]
    spent = f" ({', '.join(told)})" if told else ""
    return f"{spent}; prior: {' / '.join(priors)}"
