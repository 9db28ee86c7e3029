"""One part of one run (the method, or something that it is compared with): load, ask, learn, score. What a worker process does."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.errors import GraphveilError, InputError, PrivacyError
from graphveil.experiments.experiment import Experiment, Given, Part, check_same, input_digest
from graphveil.graphs import Graph, Users, load
from graphveil.graphs.load import data_digest
from graphveil.graphs.panel import refuse_levels, with_panel
from graphveil.graphs.users import draw_levels, level_source, read_levels
from graphveil.mechanisms import Mechanism, Reports, entry
from graphveil.methods import METHODS, Job
from graphveil.methods.job import Progress, Questions, public_part
from graphveil.methods.method import Method, check_backbone, tuned_settings
from graphveil.methods.private_links import PrivateLinks
from graphveil.methods.tasks import Outcome
from graphveil.methods.terms import Levels
from graphveil.privacy import Ledger, Nobody, Plan, Respondents
from graphveil.privacy.record import Privacy, privacy_record
from graphveil.settings import peak_megabytes

# Parts of a budget add up to it but for rounding.
ROUNDING = 1e-9
# What a method counts the seconds of.
STAGES = ("report", "denoise", "train")


# Settings that say how far reports are spread along edges.
HOPS = ("hops", "analysis_hops")


class FeaturesUnasked:
    """Users who answer nothing about features; private labels and links are known by their reports as ever."""

    def __init__(self, users: Respondents) -> None:
        self._users = users

    def report(self, plan: Plan) -> Reports:
        """Answer for labels and links, and refuse everything else."""
        if plan.subject not in ("label", "links"):
            raise PrivacyError(
                f"nobody is asked about {plan.subject} here, where volunteers and the graph alone are to be learned from: a method "
                "that takes a panel must not ask where job.unasked is True"
            )
        return self._users.report(plan)


@dataclass(frozen=True)
class RunPart:
    """One part of a run.

    Parameters
    ----------
    title
        What tables and figures call it; nothing for the method itself.
    runs
        Whether an experiment has it, given whether its data come with volunteers.
    job
        What it learns from, made of the method's own job.
    users
        Who answers it, made of those who answer the method.
    blind
        Whether answers about features come from blinded channels.
    asks_features
        Whether it may ask anybody about features.
    method
        The method that learns, with its default settings, where it is not the experiment's own.
    """

    title: str
    runs: Callable[[Experiment, bool], bool]
    job: Callable[[Job], Job] = lambda job: job
    users: Callable[[Respondents], Respondents] = lambda users: users
    blind: bool = False
    asks_features: bool = True
    method: str = ""

    def method_of(self, spec: Experiment) -> Method:
        """Return the method that learns."""
        return METHODS.find(self.method) if self.method else spec.resolved_method


def _reports(spec: Experiment, panel: bool = False) -> bool:
    return spec.resolved_method.can.asks


def _without_norms(job: Job) -> Job:
    return replace(job, budgets=replace(job.budgets, norm_epsilon=None))


def _without_asking(job: Job) -> Job:
    return replace(_without_norms(job), unasked=True)


def _without_edges(job: Job) -> Job:
    """Ask nobody for links; where there are no public ones either, hops lead nowhere."""
    settings = job.settings
    if not job.graph.edge_count:
        hops = [name for name in HOPS if name in type(settings).model_fields]
        settings = settings.model_copy(update=dict.fromkeys(hops, 0))
    return replace(job, budgets=replace(job.budgets, link_epsilon=None), settings=settings)


PARTS: dict[Part, RunPart] = {
    "method": RunPart("", lambda spec, panel: True),
    "control": RunPart("control, ε = 0", _reports, blind=True),
    "structure": RunPart(
        "structure",
        lambda spec, panel: _reports(spec) or spec.budgets.private_links,
        job=_without_norms,
        users=FeaturesUnasked,
        asks_features=False,
        method="structure",
    ),
    "edgeless": RunPart(
        "without edges",
        lambda spec, panel: spec.budgets.private_links and spec.resolved_task.learns_labels,
        job=_without_edges,
    ),
    "unasked": RunPart(
        "volunteers alone",
        lambda spec, panel: panel and _reports(spec),
        job=_without_asking,
        users=FeaturesUnasked,
        asks_features=False,
    ),
}


def parts_of(spec: Experiment, given: Given | None = None) -> list[Part]:
    """Return the parts of each run: the method and what it is compared with; the method alone where nothing is."""
    if not spec.control or spec.method == PARTS["structure"].method:
        return ["method"]
    panel = _has_panel(spec, given)
    return [name for name, part in PARTS.items() if part.runs(spec, panel)]


def _has_panel(spec: Experiment, given: Given | None) -> bool:
    """Return whether an experiment learns from volunteers: drawn ones, or those that its data come with."""
    if not spec.uses_panel:
        return False
    if spec.volunteers.panel is not None:
        return True
    try:
        return (given or load_data(spec))[0].panel is not None
    except GraphveilError:
        # A run says why it cannot be loaded; counting units goes on.
        return False


@dataclass(frozen=True)
class UnitResult:
    """The score of one part of one run, and what it took.

    ``also`` is what was measured besides. Where norms of features were learned too: ``norm_error``, the mean absolute error on
    test users, and ``norm_constant``, that of one guess for everybody, the mean of what training users report. Where links are
    private: ``links_kept`` and ``links_left_out``, pairs of the private graph, and links that are expected among reported pairs
    which are not in it; ``links_public`` of the pairs are public links, where some may be. Where not everybody answers: ``class_bias`` and ``degree_bias``, how far those who do differ from all (see
    `Users.turnout_bias`). So many users were ``asked`` anything, and so many of them ``answered``. ``alone`` says that it ran in a process of its own with no other
    beside it, so that seconds and memory are its own.
    """

    part: Part
    run: int
    score: float
    detail: str
    privacy: Privacy
    seconds: dict[str, float]
    peak_mb: float
    also: dict[str, float] = field(default_factory=dict)
    asked: int = 0
    answered: int = 0
    alone: bool = False

    @property
    def workers(self) -> int | None:
        """The number of workers that shared it, each a part of the graph; None if one process learned it."""
        return int(self.also["workers"]) if "workers" in self.also else None


@dataclass(frozen=True)
class Validation:
    """The score and loss of one run on its validation users."""

    metric: str
    score: float
    loss: float


@dataclass(frozen=True)
class RunUnit:
    """One part of one run of an experiment: split, reports and model all use its seed, S + run.

    ``given`` are graph and users, where these are objects and not found by name.
    """

    spec: Experiment
    part: Part = "method"
    run: int = 0
    given: Given | None = None

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.spec.seed + self.run

    @property
    def key(self) -> str:
        """All that decides its numbers but the content of its data."""
        return self.spec.key(self.part, self.run)

    @property
    def role(self) -> RunPart:
        """The data that its part learns from, and the users who answer it."""
        return PARTS[self.part]

    @property
    def digest(self) -> str | None:
        """A digest of the data that another process is to read; None where they are sent along."""
        return input_digest(self.spec, self.part) if self.given is None else None

    def check_elsewhere(self, digest: str | None) -> None:
        """Load its names in the process that computes it, and refuse other data than those of the digest."""
        self.spec.load_code()
        if digest is not None:
            check_same(self.spec, digest, self.part)


def run_unit(unit: RunUnit, progress: Progress | None = None) -> UnitResult:
    """Run one part of one run, and score it."""
    start = time.perf_counter()
    return score_unit(*learn_unit(unit, progress), start)


def score_unit(ready: OpenUnit, outcome: Outcome, start: float) -> UnitResult:
    """Return the result of a unit. Users compute the test score, so their test labels stay with them.

    Parameters
    ----------
    ready
        The unit, after its method has asked.
    outcome
        What the method learned.
    start
        The time, by `time.perf_counter`, at which the unit began.
    """
    with learn.one_thread():
        score = ready.unit.spec.resolved_task.test_score(ready.graph, ready.users, outcome)
    seconds = {**outcome.seconds, "total": time.perf_counter() - start}
    return UnitResult(
        ready.unit.part,
        ready.unit.run,
        score,
        outcome.detail,
        ready.privacy(),
        seconds,
        peak_megabytes(),
        _also(ready, outcome),
        *ready.turnout,
    )


def validate_unit(
    spec: Experiment, run: int, progress: Progress | None = None, given: Given | None = None
) -> Validation:
    """Run the method as `run_unit` does, and score it on its validation users; test labels are never read.

    The score is the graph's metric. If labels are private, it is the accuracy against the reported ones.

    Parameters
    ----------
    run
        The number of the run, from 0.
    progress
        Called with the current step and the share that is done.
    given
        Graph and users, if these are objects.
    """
    ready, outcome = learn_unit(RunUnit(spec, "method", run, given), progress)
    metric, score = spec.resolved_task.validation(ready.graph, outcome, spec.budgets)
    return Validation(metric, score, outcome.validation_loss)


@dataclass(frozen=True)
class PreparedUnit:
    """A method with all that it will ask, before there is anybody who could answer: the data with the split of this run.

    ``users`` are those that were loaded, who judge what was learned; nobody answers the job's questions yet.
    """

    unit: RunUnit
    method: Method
    graph: Graph
    users: Users
    job: Job

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The mechanisms that report features, one per round; empty if features are not reported."""
        return self.job.questions.mechanisms


@dataclass(frozen=True)
class OpenUnit(PreparedUnit):
    """A method before it asks anybody: a job whose users have declared its cost.

    The job's users answer plans and nothing else, and the ledger says what they have spent.
    """

    ledger: Ledger
    # Whether raw features were handed over.
    raw: bool = False
    # Who answers, where not everybody does.
    who: NDArray[np.bool_] | None = None
    # Whether some are asked nothing at all.
    partial: bool = False

    @property
    def turnout(self) -> tuple[int, int]:
        """The number of users asked so far, and how many of them answer."""
        asked = self.ledger.ever_asked
        return int(asked.sum()), int((asked if self.who is None else asked & self.who).sum())

    def privacy(self) -> Privacy:
        """Return the record of what was read and reported so far."""
        panel = self.job.graph.panel
        return privacy_record(
            self.ledger,
            ("features",) if self.raw else (),
            silent=self.who is not None,
            partial=self.partial,
            volunteers=None if panel is None else panel.users,
        )


def open_unit(unit: RunUnit, progress: Progress | None = None) -> OpenUnit:
    """Load, split, and let simulated users declare what the method will ask for.

    Run the job within `learn.one_thread`, for the numbers that `run_unit` has.
    """
    prepared = prepare_unit(unit, progress)
    method, users, turnout = prepared.method, prepared.users, unit.spec.turnout
    ledger, who = prepared.job.questions.open_ledger(users), None
    if not turnout.complete:
        # The same users are silent in all parts of a run.
        who = users.turnout(turnout.participation, unit.seed, turnout.silence)
    job = replace(
        prepared.job,
        users=respondents(unit, users, ledger, who),
        raw=users.raw.rows() if method.can.features == "raw" else None,
    )
    return OpenUnit(unit, method, prepared.graph, users, job, ledger, job.raw is not None, who)


def prepare_unit(unit: RunUnit, progress: Progress | None = None) -> PreparedUnit:
    """Load, split, and see what the method will ask for; the job's graph is what is public before anybody answers."""
    spec, seed = unit.spec, unit.seed
    check_backbone(spec.backbone)
    graph, users = unit.given or load_data(spec)
    if spec.has_levels:
        users = with_levels(spec, users, seed)
    graph, users = spec.resolved_task.divide(graph, users, seed)
    method = unit.role.method_of(spec)
    graph = _with_volunteers(unit, graph, users)
    # A method's own code sees what is public, from the first question on.
    edges = spec.links.divided(graph, seed)
    public = public_part(
        graph,
        private_labels=spec.budgets.private_labels,
        private_links=spec.budgets.private_links,
        edges=edges,
    )
    job = make_job(unit, method, public, progress)
    if edges is not None:
        job = replace(job, links=replace(job.links, users=edges.private_users))
    questions = method.questions(job)
    check_cost(unit, questions)
    return PreparedUnit(unit, method, graph, users, replace(job, questions=questions))


def _with_volunteers(unit: RunUnit, graph: Graph, users: Users) -> Graph:
    """The graph with the volunteers of this run; without any where their rows are not used, as structure uses none."""
    volunteers = unit.spec.volunteers.panel
    if unit.role.method or not unit.spec.uses_panel:
        return graph.without_panel()
    if volunteers is not None:
        return with_panel(graph, users, volunteers, unit.seed)
    if graph.panel is not None:
        refuse_levels(users)
    return graph


def check_cost(unit: RunUnit, questions: Questions) -> None:
    """Refuse a method that asks for more than it was given."""
    spec, budgets, features = unit.spec, unit.spec.budgets, 0.0
    if unit.role.asks_features and budgets.epsilon is not None:
        features = max(spec.level_budgets()) if spec.has_levels else budgets.epsilon
        features += budgets.norm_epsilon or 0.0
    given = {
        "features": features,
        "label": budgets.label_epsilon or 0.0,
        "links": budgets.link_epsilon or 0.0,
    }
    for subject, claim in questions.claims.items():
        if claim.epsilon > given.get(subject, 0.0) * (1 + ROUNDING):
            raise PrivacyError(
                f"{spec.method} asks for epsilon {claim.epsilon:g} about {subject}, more than the {given.get(subject, 0.0):g} that "
                "it was given: its questions must stay within the budget"
            )


def respondents(
    unit: RunUnit, users: Users, ledger: Ledger, who: NDArray[np.bool_] | None = None
) -> Respondents:
    """Return users who answer on a ledger as a unit needs them; printed variants can be studied too.

    Parameters
    ----------
    who
        Who answers, where not everybody does.
    """
    budgets, role = unit.spec.budgets, unit.role
    unsound = not entry(budgets.mechanism).sound
    # Only what the experiment names: a method that writes a curator's plan by itself is refused.
    curator = budgets.private_links and entry(budgets.link_mechanism).trust == "curator"
    return role.users(
        users.answering(ledger, seed=unit.seed, blind=role.blind, unsound=unsound, who=who, curator=curator)
    )


_units = count()


def learn_unit(unit: RunUnit, progress: Progress | None = None) -> tuple[OpenUnit, Outcome]:
    """Split, ask and learn: the same numbers whenever it is called."""
    with learn.one_thread():
        # A look for what the unit before has left takes a tenth of a second: the first one does without.
        if next(_units):
            gc.collect()
        ready = open_unit(unit, progress)
        # What takes long to load is loaded before the method counts its seconds.
        import_module("graphveil.learn.backbones")
        return ready, ready.method.run(ready.job)


def predicted_classes(outcome: Outcome, graph: Graph) -> NDArray[np.int64]:
    """Return the likeliest class of each user, or for each label whether it is likelier than not, as a score counts them."""
    assert outcome.scores is not None
    chosen = outcome.scores > 0 if graph.multilabel else outcome.scores.argmax(axis=1)
    return np.asarray(chosen, dtype=np.int64)


def with_levels(spec: Experiment, users: Users, seed: int) -> Users:
    """Return users with privacy levels: their own if they have any, else from a file or drawn.

    Parameters
    ----------
    spec
        The experiment, which names the file or the distribution.
    users
        The users.
    seed
        The seed that levels are drawn by.
    """
    if spec.levels.level_distribution is None and users.have_levels:
        return users
    source = level_source(spec.levels.level_distribution or "uniform")
    if isinstance(source, str):
        return users.with_levels(draw_levels(len(users), len(spec.level_budgets()), source, seed))
    return users.with_levels(read_levels(source, len(users)))


def _also(ready: OpenUnit, outcome: Outcome) -> dict[str, float]:
    """Return measurements besides the score: errors of predicted norms, and the bias of who answered."""
    graph, users = ready.graph, ready.users
    measured = dict(outcome.also)
    if outcome.norms is not None and outcome.constant_norm is not None:
        measured["norm_error"] = users.evaluate_norms(outcome.norms, graph)
        constant = np.full(len(users), outcome.constant_norm)
        measured["norm_constant"] = users.evaluate_norms(constant, graph)
    if ready.who is not None:
        measured |= users.turnout_bias(ready.who)
    return measured


def make_job(unit: RunUnit, method: Method, graph: Graph, progress: Progress | None = None) -> Job:
    """Return the job of a method, before a budget is declared.

    Parameters
    ----------
    unit
        The unit.
    method
        The method that learns.
    graph
        What the server knows.
    progress
        Called with the current step and the share that is done.
    """
    spec, settings = unit.spec, unit.spec.resolved_settings
    if unit.role.method:
        settings = method.settings.of(tuned_settings(method, spec.data, spec.task, spec.budgets.mechanism))
    job = Job(
        graph,
        Nobody(),
        settings,
        unit.seed,
        budgets=spec.budgets,
        levels=job_levels(spec),
        machine=replace(spec.machine, device=_device(spec.machine.device)),
        mechanism_options=spec.mechanism_options,
        links=PrivateLinks(spec.links.options),
        backbone=spec.backbone,
        task=spec.resolved_task,
        progress=progress,
    )
    return unit.role.job(job)


def job_levels(spec: Experiment) -> Levels:
    """Return the levels of a job, with their budgets if users choose one."""
    return replace(spec.levels, levels=None, budgets=spec.level_budgets() if spec.has_levels else None)


def _device(asked: str) -> str:
    import torch

    if asked == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if asked == "cuda" and not torch.cuda.is_available():
        raise InputError("there is no GPU that torch can use: leave --device out, or give cpu")
    return asked


@lru_cache(maxsize=1)
def _cached(name: str, options: tuple[tuple[str, Any], ...], _digest: str) -> Given:
    return load(name, seed=0, **dict(options))


def load_data(spec: Experiment) -> Given:
    """The graph of a spec and its users; what was loaded last is kept, so that its units do not load it again."""
    options = spec.loader_options
    try:
        # With the digest, a file that was changed is loaded again, and what is kept is kept for what was computed with.
        return _cached(spec.data, tuple(sorted(options.items())), data_digest(spec.data, options))
    except TypeError as error:
        raise InputError(f"{spec.data} cannot be loaded with {options}: {error}") from None
