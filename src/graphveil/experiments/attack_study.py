"""Attacks on what methods learn, and campaigns as tables, figures and pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphveil import learn
from graphveil.attacks.campaign import AttackPoint, Campaign, share_text
from graphveil.attacks.game import Played
from graphveil.attacks.model import SEEN, Learned, ModelAttack, Seen
from graphveil.attacks.registry import MODEL_ATTACKS
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment, Part
from graphveil.experiments.figure import Chart, ChartPanel, Role, Series
from graphveil.experiments.page import Analysis, Section
from graphveil.experiments.table import Table
from graphveil.experiments.unit import RunUnit, load_data, open_unit
from graphveil.graphs import Graph, Users
from graphveil.mechanisms import Reports
from graphveil.methods.tasks import Outcome
from graphveil.number_format import NONE, PERCENT, counted, low_to_high, points, rounded
from graphveil.privacy import Plan, Respondents
from graphveil.statistics import Summary
from graphveil.version import __version__

HEAD = ("what is guessed", "ε", "right (%)", "95% interval", "control", "chance", "bound")
REAL = "Real ones are balanced accuracies, which no ε bounds: a graph and others' reports tell something too."


@dataclass(frozen=True)
class MethodTarget:
    """An attack on what a method learns; the budget is that of a label, where labels are private."""

    attack: ModelAttack
    spec: Experiment
    seen: Seen = "scores"

    @classmethod
    def of(cls, attack: str, spec: Experiment, seen: str = "scores") -> MethodTarget:
        """Return the target of an attack that is given by name.

        Parameters
        ----------
        attack
            A name of `MODEL_ATTACKS`.
        spec
            The experiment that is attacked.
        seen
            What the attacker sees of it: "scores" or "embedding".
        """
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
    """A learner that trains as an experiment says, on a given graph and users."""

    spec: Experiment

    @property
    def label_epsilon(self) -> float | None:
        """The budget of a label."""
        return self.spec.budgets.label_epsilon

    @property
    def has_control(self) -> bool:
        """Whether features are reported."""
        return self.spec.resolved_method.can.asks

    def split(self, seed: int) -> tuple[Graph, Users]:
        """Return the data with the split of a run."""
        return self.spec.resolved_task.divide(*load_data(self.spec), seed)

    def learn(self, graph: Graph, users: Users, seed: int, *, label_seed: int, blind: bool) -> Outcome:
        """Return the outcome of one run of the method, or of its control if ``blind``.

        Parameters
        ----------
        seed, label_seed
            Seeds of the run, and of the run that answers about labels.
        """
        part: Part = "control" if blind else "method"
        with learn.one_thread():
            ready, other = (
                open_unit(RunUnit(replace(self.spec, seed=each), part, given=(graph, users)))
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


@dataclass(frozen=True)
class CampaignReport(Analysis):
    """A campaign as its command, figure and page show it."""

    campaign: Campaign

    @property
    def title(self) -> str:
        return f"{self.campaign.attack.name} inference on {self.campaign.against}, {Path(self.campaign.data).stem}"

    @property
    def headline(self) -> str:
        return self.campaign.summary

    @property
    def footer(self) -> str:
        runs = counted(len(self.campaign.points[0].plays), "run")
        return f"graphveil {__version__}, seed {self.campaign.seed}, {runs} at each budget."

    def to_dict(self) -> dict[str, Any]:
        return self.campaign.to_dict()

    @property
    def sections(self) -> list[Section]:
        """A row for everything that is guessed at every budget, planted secrets before real ones; and the game."""
        campaign, rows = self.campaign, []
        for point in campaign.points:
            budget = NONE if point.epsilon is None else point.budget_text
            bound = share_text(point.bound).removesuffix("%")
            found = _cells(point.found, point.control)
            rows.append(("planted secrets", budget, *found, points(point.chance), bound))
            for each in point.natural:
                found = _cells(each.found, each.control)
                rows.append((f"real ones: {each.name}", budget, *found, points(point.balanced_chance), NONE))
        said = [
            f"Planted: {campaign.attack.game}.",
            f"The bound is about {campaign.attack.unit}{_stakes_text(campaign.points)}.",
        ]
        said += [REAL] if any(point.natural for point in campaign.points) else []
        found_out = Section("What is found out", figure=self._chart(), table=Table.of(HEAD, rows))
        return [found_out, Section("How to read it", tuple(said))]

    def _chart(self) -> Chart:
        """Draw budgets at equal distances in their order; an attack above its bound is a broken promise."""
        campaign = self.campaign
        places = tuple(map(float, range(len(campaign.points))))

        def series(label: str, role: Role, of: Callable[[AttackPoint], Summary]) -> Series:
            return Series(label, places, tuple(map(of, campaign.points)), role=role)

        panel = ChartPanel(
            f"{campaign.attack.name} inference on {Path(campaign.data).stem}",
            "privacy budget ε",
            "planted secrets guessed right (%)",
            (
                series(f"attack on {campaign.against}", "method", lambda point: point.found),
                series("the control", "control", lambda point: point.control),
                series("the bound", "limit", lambda point: Summary(point.bound)),
                series("chance", "chance", lambda point: Summary(point.chance)),
            ),
            ticks=tuple(point.budget_text for point in campaign.points),
            unit=PERCENT,
            limits=(0, 103),
        )
        return Chart((panel,))


def _cells(found: Summary, control: Summary | None) -> tuple[str, str, str]:
    return points(found.mean), low_to_high(found), NONE if control is None else points(control.mean)


def _stakes_text(of: tuple[AttackPoint, ...]) -> str:
    """Say the prior of the bound, and its ε where that is not the budget that was given."""
    priors = dict.fromkeys(point.prior_text for point in of)
    others = [
        f"ε = {rounded(point.stakes.epsilon, 4)}"
        for point in of
        if point.promised and point.stakes.epsilon != point.epsilon
    ]
    spent = f" ({', '.join(others)})" if others else ""
    return f"{spent}; prior: {' / '.join(priors)}"
