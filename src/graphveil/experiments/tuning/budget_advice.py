"""Advice on a budget: what veil would buy over structure, before anybody is asked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.errors import InputError
from graphveil.experiments.runs.unit import make_ready
from graphveil.experiments.specs.spec import Spec
from graphveil.experiments.tuning.gain_model import LEAST_NATS, GainModel, Predicted
from graphveil.experiments.tuning.measured_gains import TOWN, MeasuredGain, Situation, measured_gains
from graphveil.experiments.tuning.public_numbers import PublicNumbers, unlabelled_rows, within_reach
from graphveil.experiments.tuning.simulated_answers import Told, simulated_gain, told_by
from graphveil.graphs import Graph, Users
from graphveil.graphs.panel import Panel
from graphveil.methods.job import Job, Progress
from graphveil.methods.structure_posterior import Posterior, structure_posterior
from graphveil.methods.veil_answers import Known, teacher_of
from graphveil.methods.veil_model import taught_by_panel
from graphveil.privacy import Nobody

Floats = NDArray[np.float64]
# A gain that is worth asking for, in points.
WORTH = 2.0
# Below this a gain is none; where as much as `TOO_MUCH` may come, asking nobody is not said to be as good.
NOTHING, TOO_MUCH = 0.5, 3.0
# With fewer labels than this share of the users, and a budget above this one, some real graphs gained more than others foretold: without a
# panel, asking nobody is not said to be as good there.
FEW_LABELS, SURPRISING = 0.1, 2.0
# How many times as many users or volunteers are looked at, and in how many steps.
MOST_TIMES, STEPS = 10.0, 61
# Without a panel: the fewest volunteers that are looked at, and the most. Panels of 100 and 300 have been measured.
FEWEST, MOST_VOLUNTEERS = 25, 1000
# The fewest volunteers that teach a model from which the next doubling is foretold.
SPLIT_PANEL = 40
# Published methods on ten real graphs at ε = 4, half of the labels and few: the best of them less structure (docs/veil.md).
OTHERS = (-11.6, 0.5)
OTHERS_SAID = (
    "Other private methods: none of those measured on real graphs at ε = 4 was clearly better than structure; the best on each was "
    f"from {-OTHERS[0]:g} points below it to {OTHERS[1]:g} above, within noise. This is a stored fact, not a prediction."
)
OTHERS_IN_TOWNS = (
    "Other private methods gain in towns too: 8 points over structure by ppgnn at ε = 0.5 and 19 by togl at ε = 4 in the town as it "
    "comes. This is a stored fact, not a prediction."
)


@dataclass(frozen=True)
class BudgetLine:
    """One budget: what veil would gain, in points, and what it would take to gain `WORTH`; None: not within what was looked at."""

    epsilon: float
    gain: float
    low: float
    high: float
    users_needed: int | None = None
    volunteers_needed: int | None = None
    # Whether a gain beyond the interval has been seen in such a case.
    surprising: bool = False

    @property
    def collect(self) -> str:
        """yes, no or open."""
        if self.gain < NOTHING and self.high < TOO_MUCH and not self.surprising:
            return "no"
        return "yes" if self.gain >= WORTH and self.low > 0 else "open"

    @property
    def verdict(self) -> str:
        """The same as a sentence."""
        if self.collect == "no":
            return "do not collect: asking nobody is as good"
        if self.collect == "yes":
            return "collect: answers are worth their budget"
        return "open: a pilot or volunteers would tell"

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {**asdict(self), "collect": self.collect, "verdict": self.verdict}


@dataclass(frozen=True, eq=False)
class Ground:
    """A graph as advice sees it: its numbers, how sure graph and labels are of those without a label, and what volunteers tell.

    ``doubling`` is what twice as many volunteers would add to the nats of their rows.
    """

    numbers: PublicNumbers
    rows: Floats
    town: bool = False
    told: Told | None = None
    doubling: float = 0.0

    @property
    def panel(self) -> int:
        """How many volunteers there are."""
        return 0 if self.told is None else len(self.told.scores)

    @property
    def most_volunteers(self) -> int:
        """The most that are looked at: training users alone volunteer."""
        most = round(MOST_TIMES * self.panel) if self.panel else MOST_VOLUNTEERS
        return min(most, self.numbers.trained)

    def at(self, epsilon: float) -> Situation:
        """The graph and a budget."""
        here = Situation(self.numbers, epsilon, within_reach(self.rows, epsilon), town=self.town)
        if self.told is None:
            return here
        simulated = simulated_gain(self.rows, self.told, epsilon)
        return replace(here, panel=self.panel, nats=self.told.nats, simulated=simulated)

    def with_volunteers(self, situation: Situation, count: int) -> Situation:
        """The same with so many volunteers. What their rows would tell is foretold from those who are there; what answers add grows alike."""
        if self.told is None:
            return replace(situation, panel=count)
        most = math.log(self.numbers.classes)
        nats = min(max(self.told.nats + self.doubling * math.log2(count / self.panel), 0.0), most)
        simulated = situation.simulated * nats / max(self.told.nats, LEAST_NATS)
        return replace(situation, panel=count, nats=nats, simulated=min(simulated, situation.reach))


@dataclass(frozen=True, eq=False)
class BudgetAdvice:
    """What is known of a graph, and what each budget would buy there. ``told`` are nats of a volunteer's row, where there are any."""

    data: str
    metric: str
    numbers: PublicNumbers
    structure: float
    volunteers: int
    told: float | None
    lines: tuple[BudgetLine, ...]
    # The curve and what it is asked about: what the map is drawn from.
    model: GainModel = field(repr=False)
    ground: Ground = field(repr=False)
    learned_from: int = 0
    left_out: bool = False

    @property
    def most_volunteers(self) -> int:
        """The most that were looked at."""
        return self.ground.most_volunteers

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "data": self.data,
            "metric": self.metric,
            "public": asdict(self.numbers),
            "structure": self.structure,
            "panel": {"users": self.volunteers, "nats": self.told} if self.volunteers else None,
            "budgets": [line.to_dict() for line in self.lines],
            "others": None if self.ground.town else {"low": OTHERS[0], "high": OTHERS[1], "source": "stored"},
            "learned_from": self.learned_from,
            "left_out": self.left_out,
        }


def advise_budget(
    spec: Spec,
    epsilons: Sequence[float],
    progress: Progress | None = None,
    given: tuple[Graph, Users] | None = None,
    gains: Sequence[MeasuredGain] | None = None,
) -> BudgetAdvice:
    """What veil would buy at each budget, from public numbers and, where there is a panel, from its rows; nobody is asked.

    The curve is fitted to ``gains`` (those that come with the package) on other graphs than this one.
    """
    if not epsilons:
        raise InputError("no budget is given: name one or more, such as --epsilon 1,2,4")
    ground, graph, structure, seen = _ground(spec, progress, given)
    known = measured_gains() if gains is None else gains
    others = [line for line in known if line.data != seen]
    if progress:
        progress("fitting gains of other graphs", 0.9)
    model = GainModel.fit("panel" if ground.panel else "private", others, town=ground.town)
    planned = model if ground.panel else GainModel.fit("planned", others, town=ground.town)
    lines = tuple(_line(ground, model, planned, epsilon) for epsilon in epsilons)
    return BudgetAdvice(
        spec.data,
        graph.metric,
        ground.numbers,
        structure,
        ground.panel,
        None if ground.told is None else ground.told.nats,
        lines,
        model,
        ground,
        len({line.graph for line in others}),
        len(others) < len(known),
    )


def _ground(
    spec: Spec, progress: Progress | None, given: tuple[Graph, Users] | None
) -> tuple[Ground, Graph, float, str]:
    """What is public of the graph of a spec; its users are never asked."""
    spec.check()
    with learn.one_thread():
        ready = make_ready(spec, "method", 0, progress, given)
        job = replace(ready.job, users=Nobody())
        ready.method.prepare(job)
        if teacher_of(job) == "public":
            raise InputError(
                "advice knows nothing of weights from a file: leave teach=public and weights out"
            )
        posterior = structure_posterior(job, job.settings)
        numbers = PublicNumbers.of(job.graph, posterior)
        ground = Ground(numbers, unlabelled_rows(job.graph, posterior), job.graph.name.startswith(TOWN))
        panel = job.graph.panel
        if teacher_of(job) == "panel" and panel is not None:
            job.say("learning from volunteers", 0.5)
            known = Known.of(job, posterior)
            told = _told(job, known, posterior, panel)
            doubling = 0.0
            if len(panel) >= SPLIT_PANEL:
                doubling = max(told.nats - _told(job, known, posterior, _every_other(panel)).nats, 0.0)
            ground = replace(ground, told=told, doubling=doubling)
    return ground, job.graph, posterior.validation_score, job.graph.name


def _told(job: Job, known: Known, posterior: Posterior, panel: Panel) -> Told:
    """What rows of these volunteers tell."""
    graph = replace(job.graph, panel=panel)
    model = taught_by_panel(graph, known.targets, job.settings.about, job.seed)
    return told_by(graph, posterior, model)


def _every_other(panel: Panel) -> Panel:
    """Half of the volunteers."""
    places = np.arange(0, len(panel), 2)
    return Panel(panel.users[places].copy(), panel.rows[places])


def _line(ground: Ground, model: GainModel, planned: GainModel, epsilon: float) -> BudgetLine:
    here = ground.at(epsilon)
    predicted: Predicted = model.predict(here)
    base = ground.numbers.users
    more = np.geomspace(1.0, MOST_TIMES, STEPS)
    users = next(
        (
            round(base * times)
            for times in more.tolist()
            if model.predict(with_users(here, times)).gain >= WORTH
        ),
        None,
    )
    volunteers = next(
        (
            count
            for count in _counts(ground)
            if planned.predict(ground.with_volunteers(here, count)).gain >= WORTH
        ),
        None,
    )
    return BudgetLine(
        epsilon, predicted.gain, predicted.low, predicted.high, users, volunteers, may_surprise(here)
    )


def may_surprise(situation: Situation) -> bool:
    """Whether such a case has shown a gain that nothing foretold."""
    numbers = situation.numbers
    few = numbers.trained < FEW_LABELS * numbers.users
    return not situation.panel and few and situation.epsilon > SURPRISING


def with_users(situation: Situation, times: float) -> Situation:
    """So many times as many users, with as many labels each."""
    numbers = situation.numbers
    more = {name: round(getattr(numbers, name) * times) for name in ("users", "trained", "validated")}
    return replace(situation, numbers=replace(numbers, **more))


def _counts(ground: Ground) -> list[int]:
    """How many volunteers are looked at."""
    first, last = ground.panel or FEWEST, ground.most_volunteers
    return sorted({round(count) for count in np.geomspace(first, max(first, last), STEPS).tolist()})
