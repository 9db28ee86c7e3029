"""What a method is given for one run: the public graph, users who answer, settings, questions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from graphveil import denoise
from graphveil.channels.exact import Claim
from graphveil.errors import InputError
from graphveil.graphs.graph import UNKNOWN, Graph, Mask
from graphveil.graphs.users import Users
from graphveil.mechanisms import Reports, entry
from graphveil.mechanisms.base import Mechanism, Subject
from graphveil.mechanisms.labels import LabelMechanism
from graphveil.mechanisms.personal import level_budgets
from graphveil.methods.tasks import Task, Trained, task_of
from graphveil.methods.terms import Budgets, Levels, Machine, nested
from graphveil.plugins import unknown_name
from graphveil.privacy import Ledger, Plan, Respondents
from graphveil.privacy.ledger import add_up, most_spent
from graphveil.watching import listening

if TYPE_CHECKING:
    from graphveil.learn.checkpoints import Checkpoints

# plain: as reported, thinned; hard: likelier than not; soft: weighed by how likely; hybrid: weighed by the square of that.
VARIANTS = ("plain", "hard", "soft", "hybrid")


@dataclass(frozen=True)
class ReportedNorms:
    """Unbiased reports of norms: one for each training and validation user who answers, NaN for everybody else.

    ``bound`` is what norms are known not to exceed. ``centre`` and ``spread`` are the mean and the standard deviation of what
    training users report, noise included; the centre is kept within 0 and the bound. It is what a server would guess for
    everybody.
    """

    values: NDArray[np.float64]
    bound: float
    centre: float
    spread: float

    @classmethod
    def of(cls, reports: Reports, users: tuple[int, ...], train: Mask, bound: float) -> ReportedNorms:
        """From the answers of these users."""
        values = np.full(len(train), np.nan)
        values[np.array(users)[reports.places]] = reports.mechanism.estimate(reports).dense()[:, 0]
        trained = values[train & np.isfinite(values)]
        if not trained.size:
            return cls(values, bound, bound / 2, bound)
        centre = float(np.clip(trained.mean(), 0.0, bound))
        return cls(values, bound, centre, float(trained.std()) or bound)

    @property
    def known(self) -> Mask:
        """Of whom there is a report."""
        return np.isfinite(self.values)

    @property
    def standard(self) -> NDArray[np.float64]:
        """The reports with the centre at 0, in units of the spread: what a model learns."""
        return (self.values - self.centre) / self.spread

    def predicted(self, outputs: NDArray[np.floating], validation: Mask) -> NDArray[np.float64]:
        """A model's outputs as norms, which lie between 0 and the bound: as far from the centre as validation users bear out.

        A model that has learned noise differs between users more than their norms do. So its differences o are multiplied by the
        slope b = Σ o·y / Σ o² of the validation users' reports y, kept within 0 and 1 and shrunk by what b owes to chance,
        b·max(0, 1 - (se/b)²) (James and Stein 1961). Where validation users bear out nothing, everybody gets the centre.
        """
        apart = outputs.astype(np.float64) - float(outputs.mean())
        validation = validation & self.known
        if not validation.any():
            return np.full(len(apart), self.centre)
        seen = apart[validation] - apart[validation].mean()
        reported = self.standard[validation] - self.standard[validation].mean()
        power = float(seen @ seen)
        slope = min(float(seen @ reported) / power, 1.0) if power > 0 else 0.0
        chance = float(reported.var()) / power if power > 0 else 0.0
        kept = max(0.0, slope - chance / slope) if slope > 0 else 0.0
        return np.clip(self.centre + self.spread * kept * apart, 0.0, self.bound)


def largest_norm(graph: Graph) -> float:
    """The largest norm that the public range allows: √d · max(|low|, |high|)."""
    public = graph.public_range
    if public is None:
        raise InputError(
            f"{graph.name} has no features, so there are no norms to learn: leave --norm-epsilon out"
        )
    return float(np.sqrt(graph.feature_count) * max(abs(public.low), abs(public.high)))


@dataclass(frozen=True)
class Questions:
    """The plans of a method: about features, round after round, about norms and classes of rows, about labels and links.

    Every user spends what the plans cost that ask this user: plans for different users are alternatives, and cost the most that
    one of them does. ``classes`` ask for the class that a public model gives. Where the model is learned from earlier answers,
    plans with any other model stand here for those that will be asked: users and budgets are what counts.

    What a budget must hold, what users of each level spend and what is told of it afterwards all follow from these. Which
    attributes a later round asks for may depend on the answers to an earlier one; what that round costs may not.
    """

    features: tuple[Plan, ...] = ()
    norms: tuple[Plan, ...] = ()
    labels: Plan | None = None
    links: Plan | None = None
    classes: tuple[Plan, ...] = ()

    @cached_property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """What features are reported by in each round."""
        return tuple(plan.build() for plan in self.features)

    @property
    def claims(self) -> dict[Subject, Claim]:
        """What a user will be charged at most, by subject."""
        claims: dict[Subject, Claim] = {}
        if self._about_features:
            claims["features"] = _spent(self._about_features)
        if self.labels is not None:
            claims["label"] = self.labels.claim
        if self.links is not None:
            claims["links"] = self.links.claim
        return claims

    @property
    def cost(self) -> Claim:
        """The most that a user will spend: all subjects added up."""
        own = _spent((*self._about_features, *([] if self.labels is None else [self.labels])))
        return own if self.links is None else add_up([own, self.links.claim])

    @property
    def _about_features(self) -> tuple[Plan, ...]:
        return (*self.features, *self.norms, *self.classes)

    @property
    def level_budgets(self) -> tuple[float, ...] | None:
        """What the features cost a user of each level, where users choose one: all rounds added up."""
        rounds = [level_budgets(mechanism) for mechanism in self.mechanisms]
        budgets = [by_level for by_level in rounds if by_level is not None]
        return tuple(sum(spent) for spent in zip(*budgets, strict=True)) if budgets else None

    def open_ledger(self, users: Users) -> Ledger:
        """Books with just the budget that is needed; where users choose a level, each has that level's.

        Who is asked for no label has no budget for one: it could be spent on a second answer about features.
        """
        by_level = self.level_budgets
        if by_level is None:
            return users.open_ledger(self.needed(len(users)), self.cost.delta)
        others = [plan for plan in (*self.norms, *self.classes, self.labels, self.links) if plan is not None]
        besides = add_up(plan.claim for plan in others)
        return users.open_ledger(besides.epsilon, besides.delta, by_level=by_level)

    def needed(self, count: int) -> NDArray[np.float64]:
        """What each of so many users needs. Who answers which plan about features is not settled yet: everybody may need the most."""
        about = _spent(self._about_features).epsilon
        needed = np.full(count, about + (0.0 if self.links is None else self.links.claim.epsilon))
        if self.labels is not None:
            who = slice(None) if self.labels.users == "all" else np.array(self.labels.users, dtype=np.int64)
            needed[who] += self.labels.claim.epsilon
        return needed


def _spent(plans: tuple[Plan, ...]) -> Claim:
    """The most that one user spends on these plans."""
    asked = [None if plan.users == "all" else np.array(plan.users, dtype=np.int64) for plan in plans]
    return most_spent(zip((plan.claim for plan in plans), asked, strict=True))


# Options of links that say what is private and what is made of reports, and nothing to a mechanism.
NOT_OF_MECHANISMS = ("variant", "private_edges")

# Told what is being done and which share of it is done.
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Job:
    """Everything that a method is given for one run: the public graph, and users who answer plans and nothing else.

    ``seed`` is that of the run, from which users draw too: draw from streams of your own, as SeededWords(seed, 1, …) are.
    ``raw`` are the raw features, which the code that runs an experiment gives to a method that claims no privacy.
    """

    graph: Graph
    users: Respondents
    settings: Any
    seed: int
    # What the method asks: filled in before it begins.
    questions: Questions = field(default_factory=Questions)
    budgets: Budgets = field(default_factory=lambda: Budgets(mechanism="multibit", link_mechanism="link-rr"))
    levels: Levels = field(default_factory=Levels)
    machine: Machine = field(default_factory=lambda: Machine(device="cpu"))
    mechanism_options: dict[str, Any] = field(default_factory=dict)
    # What the mechanism for links is set to, and which variant of the private graph is taken.
    link_options: dict[str, Any] = field(default_factory=dict)
    # Who may have private links, where other links are public and are the graph's edges; None: all links are private.
    private_users: NDArray[np.int64] | None = None
    backbone: str = "gcn"
    # What is to be predicted; where nobody says it, links if some are held out of the graph, else classes.
    predicts: Task | None = None
    # How training and validation labels were randomized, where they are private.
    label_mechanism: LabelMechanism | None = None
    # Where the norms of feature rows are learned too: the reports, once they are there.
    norms: ReportedNorms | None = None
    raw: Any = None
    # What the panel and the graph alone give: nobody may be asked for anything about features.
    unasked: bool = False
    # What is known of the private graph, where there is one.
    graph_numbers: dict[str, float] = field(default_factory=dict)
    progress: Progress | None = None
    # Whether the outcome is to hold the trained backbone; and one that is applied in the place of training.
    keep_trained: bool = False
    trained: Trained | None = None
    # Where trainings are kept that an interrupted run goes on from.
    checkpoints: Checkpoints | None = None

    @classmethod
    def of(cls, graph: Graph, users: Respondents, settings: Any, seed: int, **options: Any) -> Job:
        """A job from options by name, as a spec has them: epsilon, mechanism, label_epsilon, device and so on."""
        return cls(graph, users, settings, seed, **nested(options, cls))

    @property
    def task(self) -> Task:
        """What is to be predicted."""
        return task_of(self.graph) if self.predicts is None else self.predicts

    @property
    def output_count(self) -> int:
        """Columns of what a model ends in."""
        return self.task.output_count(self)

    @property
    def device(self) -> str:
        """Where to learn: cpu or cuda."""
        return self.machine.device

    @property
    def max_memory(self) -> float | None:
        """The most gigabytes that a dense matrix may take."""
        return self.machine.max_memory

    def feature_plan(self, epsilon: float | None = None, **more: Any) -> Plan:
        """A question about features with the job's mechanism, budget (or a part of it) and the graph's public range."""
        graph = self.graph
        if graph.public_range is None:
            raise InputError(
                f"{graph.name} has no features to report: choose a method that needs none, like structure"
            )
        accepted = inspect.signature(entry(self.budgets.mechanism).build).parameters
        public = (graph.public_range.low, graph.public_range.high)
        known = {
            "dims": graph.feature_count,
            "range": public,
            "binary": self._binary(),
            "delta": self._delta_at(epsilon),
            "levels": self.levels.levels,
        }
        asked = {key: value for key, value in known.items() if key in accepted and value is not None}
        budget = self.budgets.epsilon if epsilon is None else epsilon
        personal = {"budgets": self._budgets_at(budget), "gamma": self.levels.gamma}
        chosen = {key: value for key, value in personal.items() if key in accepted and value is not None}
        options = {**chosen, **self.mechanism_options}
        # How many values are sampled, and whether they are binary, are fields of every plan; the rest is each mechanism's own.
        own = {"sampled": options.pop("sampled")} if "sampled" in options else {}
        options.pop("binary", None)
        options |= more.pop("options", {})
        return Plan(
            mechanism=self.budgets.mechanism, epsilon=budget, options=options, **{**asked, **more, **own}
        )

    def _binary(self) -> bool | None:
        """Whether a mechanism is told that values are binary: where they are, unless the documents' continuous form is asked for.

        That is asked for by mechanism.binary=false, or by naming a number of input points.
        """
        options = self.mechanism_options
        binary = options.get("binary", "points" not in options)
        if not isinstance(binary, bool):
            raise InputError(f"mechanism.binary must be true or false, got {binary!r}")
        if binary and "binary" in options and not self.graph.binary:
            raise InputError(f"the values of {self.graph.name} are not binary: leave mechanism.binary out")
        return (self.graph.binary and binary) or None

    def _budgets_at(self, epsilon: float | None) -> tuple[float, ...] | None:
        """The budgets of the levels in a question that spends this much of the strictest one."""
        strictest, budgets = self.budgets.epsilon, self.levels.budgets
        if budgets is None or epsilon == strictest:
            return budgets
        assert epsilon is not None and strictest is not None
        return (epsilon, *(budget * (epsilon / strictest) for budget in budgets[1:]))

    def _delta_at(self, epsilon: float | None) -> float | None:
        """The share of δ that goes with a share of ε."""
        if self.budgets.delta is None or epsilon is None or self.budgets.epsilon is None:
            return self.budgets.delta
        return self.budgets.delta * (epsilon / self.budgets.epsilon)

    def label_plan(self) -> Plan:
        """The question for the labels of training and validation users, by k-ary response."""
        graph = self.graph
        asked = np.flatnonzero(graph.train | graph.validation)
        return Plan(
            mechanism="krr",
            epsilon=self.budgets.label_epsilon,
            classes=graph.class_count,
            users=tuple(asked.tolist()),
        )

    @property
    def norm_plans(self) -> tuple[Plan, ...]:
        """The question for the norms of training and validation users' features, where norms are learned too."""
        if self.budgets.norm_epsilon is None:
            return ()
        graph = self.graph
        asked = np.flatnonzero(graph.train | graph.validation)
        bound = largest_norm(graph) if self.budgets.norm_bound is None else self.budgets.norm_bound
        plan = Plan(
            mechanism="piecewise",
            epsilon=self.budgets.norm_epsilon,
            of="norm",
            dims=1,
            range=(0.0, bound),
            users=tuple(asked.tolist()),
        )
        return (plan,)

    def link_plan(self) -> Plan:
        """The question for everybody's links."""
        own = {key: value for key, value in self.link_options.items() if key not in NOT_OF_MECHANISMS}
        if self.private_users is not None:
            own |= {"public": self.graph.pairs().ravel(), "private_users": self.private_users}
        return Plan(
            mechanism=self.budgets.link_mechanism,
            epsilon=self.budgets.link_epsilon,
            dims=self.graph.node_count,
            options=own,
        )

    @property
    def link_variant(self) -> denoise.Variant:
        """How reported links become a graph: as given, or what is usual for the mechanism."""
        usual = "plain" if self.budgets.link_mechanism == "link-rr" else "hybrid"
        variant = self.link_options.get("variant", usual)
        if variant not in VARIANTS:
            raise unknown_name("variant of links", str(variant), VARIANTS)
        return cast(denoise.Variant, variant)

    def with_private_links(self) -> Job:
        """Ask for links: the job as it goes on, with the private graph for its graph."""
        plan, variant = self.questions.links, self.link_variant
        assert plan is not None
        self.say("asking for links", 0.0)
        with listening(self.progress):
            reports = self.users.report(plan)
        self.say("weighing links", 0.0)
        private = denoise.private_graph(reports, variant, self.seed)
        known = self.graph.pairs()
        pairs = np.concatenate([known, private.pairs.astype(np.int64)])
        weights = np.concatenate([np.ones(len(known)), private.weights])
        graph = replace(self.graph, links=None).with_edges(pairs, weights)
        numbers = {"links_kept": float(len(pairs)), "links_left_out": private.left_out}
        if self.private_users is not None:
            numbers["links_public"] = float(len(known))
        return replace(self, graph=self.task.with_private_links(graph, self.seed), graph_numbers=numbers)

    def with_private_labels(self) -> Job:
        """Ask for labels: the job as it goes on, with a graph that holds the answers for labels."""
        plan = self.questions.labels
        assert plan is not None
        reports, built = self.users.report(plan), plan.build()
        assert isinstance(built, LabelMechanism)
        known = np.array(plan.users, dtype=np.int64)[reports.places]
        labels = np.full(self.graph.node_count, UNKNOWN, dtype=np.int64)
        labels[known] = reports.codes
        graph = self.graph.with_labels(labels).known_of(labels != UNKNOWN)
        return replace(self, graph=graph, label_mechanism=built)

    def with_norms(self) -> Job:
        """Ask for norms where they are learned too: the job as it goes on, with the answers."""
        job = self
        for plan in self.questions.norms:
            assert plan.range is not None and plan.users != "all"
            norms = ReportedNorms.of(self.users.report(plan), plan.users, self.graph.train, plan.range[1])
            job = replace(job, norms=norms)
        return job

    def say(self, what: str, share: float) -> None:
        """Tell how far the work is, if anybody listens."""
        if self.progress is not None:
            self.progress(what, share)
