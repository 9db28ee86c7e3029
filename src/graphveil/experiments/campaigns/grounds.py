"""What an attack is played on: a mechanism and the users of a graph, or a method that learns from them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from graphveil import learn
from graphveil.attacks.game import Attack, MechanismAttack, Played, Reporting
from graphveil.attacks.model import SEEN, Learned, ModelAttack, Seen
from graphveil.attacks.registry import ATTACKS, MODEL_ATTACKS
from graphveil.errors import InputError
from graphveil.experiments.runs.unit import load_data, make_ready
from graphveil.experiments.specs.outside_names import check_data
from graphveil.experiments.specs.spec import Part, Spec
from graphveil.graphs import Graph, Users, load
from graphveil.mechanisms import Reports
from graphveil.mechanisms.registry import check_budget, load_entry
from graphveil.methods.outcome import Outcome
from graphveil.privacy import Plan, Respondents


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
    spec: Spec
    seen: Seen = "scores"

    @classmethod
    def of(cls, attack: str, spec: Spec, seen: str = "scores") -> MethodGround:
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
        learner = SpecLearner(self._at(epsilon).having(runs=1, seed=seed))
        return self.attack.play(Learned(learner, self.seen), seed)

    def _at(self, epsilon: float | None) -> Spec:
        return self.spec.having(label_epsilon=epsilon)


@dataclass(frozen=True)
class SpecLearner:
    """Trains what a spec says, on a graph and users that are given."""

    spec: Spec

    @property
    def label_epsilon(self) -> float | None:
        """The budget of a label."""
        return self.spec.budgets.label_epsilon

    @property
    def has_control(self) -> bool:
        """Whether features are reported."""
        return self.spec.found_method.reports_features

    def split(self, seed: int) -> tuple[Graph, Users]:
        """The data with the split of a run."""
        return self.spec.found_task.divide(*load_data(self.spec), seed)

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
