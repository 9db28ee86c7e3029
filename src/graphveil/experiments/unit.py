"""One part of one run: load, ask, learn, score. What a worker process does."""

from __future__ import annotations

import gc
import resource
import sys
import time
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, cast

import numpy as np

from graphveil.errors import InputError, PrivacyError
from graphveil.experiments.outside_names import load_names
from graphveil.experiments.privacy_record import Privacy, privacy_record
from graphveil.experiments.spec import Part, Spec
from graphveil.graphs import Graph, SimulatedUsers, Users, hold_out_links, load, resplit
from graphveil.graphs.levels import draw_levels, level_source, read_levels
from graphveil.graphs.load import data_digest
from graphveil.graphs.metrics import measure
from graphveil.mechanisms import Mechanism, entry
from graphveil.methods import Job, find_method
from graphveil.methods.backbone_names import check_backbone
from graphveil.methods.method import Method, Outcome, Progress, Task, public_part
from graphveil.methods.questions import Questions
from graphveil.privacy import Ledger, Nobody

# Parts of a budget add up to it but for rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class UnitResult:
    """The score of one part of one run, and what it took.

    ``also`` is what was measured besides. Where norms of features were learned too: ``norm_error``, the mean absolute error on
    test users, and ``norm_constant``, that of one guess for everybody, the mean of what training users report. ``alone`` says that
    it ran in a process of its own with no other beside it, so that seconds and memory are its own.
    """

    part: Part
    run: int
    score: float
    detail: str
    privacy: dict[str, Any]
    seconds: dict[str, float]
    peak_mb: float
    also: dict[str, float] = field(default_factory=dict)
    alone: bool = False


@dataclass(frozen=True)
class Validation:
    """How well one run of a method did on its validation users."""

    metric: str
    score: float
    loss: float


def run_unit(
    spec: Spec,
    part: Part,
    run: int,
    progress: Progress | None = None,
    given: tuple[Graph, Users] | None = None,
) -> UnitResult:
    """Part ``part`` of run ``run``: split, reports and model all use the seed S + run."""
    start = time.perf_counter()
    ready, outcome = _learn(spec, part, run, progress, given)
    score = _test_score(ready.graph, ready.users, outcome)
    seconds = {**outcome.seconds, "total": time.perf_counter() - start}
    gc.collect()
    return UnitResult(
        part,
        run,
        score,
        outcome.detail,
        ready.privacy().to_dict(),
        seconds,
        peak_megabytes(),
        _also(ready.graph, ready.users, outcome),
    )


def validate_unit(
    spec: Spec, run: int, progress: Progress | None = None, given: tuple[Graph, Users] | None = None
) -> Validation:
    """The method in run ``run`` as `run_unit` runs it, judged by its validation users; test labels are never read.

    The score is the graph's metric. Where labels are private it is the accuracy against the reported ones.
    """
    ready, outcome = _learn(spec, "method", run, progress, given)
    graph = ready.graph
    gc.collect()
    if outcome.scores is None:
        return Validation("roc_auc", outcome.validation_score, outcome.validation_loss)
    if graph.metric == "accuracy" or spec.label_epsilon is not None:
        return Validation("accuracy", outcome.validation_score, outcome.validation_loss)
    score = measure(graph.metric, outcome.scores, graph.labels, graph.validation, graph.class_count)
    return Validation(graph.metric, score, outcome.validation_loss)


@dataclass(frozen=True)
class Ready:
    """A method before it asks anybody: the data with the split of this run, and a job whose users declared its cost.

    ``users`` are those that were loaded; those of the job answer plans only, and the ledger says what they have spent.
    """

    method: Method
    graph: Graph
    users: Users
    job: Job
    ledger: Ledger
    # Whether raw features were handed over.
    raw: bool = False

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """What features are reported by in each round, where they are."""
        return self.job.questions.mechanisms

    def privacy(self) -> Privacy:
        """What was read and reported so far."""
        return privacy_record(self.ledger, ("features",) if self.raw else ())


def make_ready(
    spec: Spec, part: Part, run: int, progress: Progress | None, given: tuple[Graph, Users] | None
) -> Ready:
    """Load, split, and declare what the method will ask for; the job's graph is what is public before anybody answers."""
    import torch

    torch.set_num_threads(1)
    # A fresh process has not loaded them; and users answer only mechanisms that were there before they declared.
    load_names(spec)
    check_backbone(spec.backbone)
    seed = spec.seed + run
    graph, users = _divided(spec, *(given or _data(spec)), seed)
    method = find_method("structure" if part == "structure" else spec.method)
    # A method's own code sees what is public, from the first question on.
    public = public_part(
        graph,
        private_labels=spec.label_epsilon is not None,
        private_links=spec.link_epsilon is not None,
    )
    job = _job(spec, part, method, public, seed, progress)
    questions = method.questions(job)
    _check_cost(spec, part, questions)
    ledger = questions.open_ledger(users)
    job = replace(
        job,
        questions=questions,
        users=answering(spec, part, users, ledger, seed),
        raw=users.raw.rows() if method.reads_features else None,
    )
    return Ready(method, graph, users, job, ledger, job.raw is not None)


def _check_cost(spec: Spec, part: Part, questions: Questions) -> None:
    """Refuse a method that asks for more than it was given."""
    features = 0.0
    if part != "structure" and spec.epsilon is not None:
        features = max(spec.level_budgets()) if spec.has_levels else spec.epsilon
        features += spec.norm_epsilon or 0.0
    given = {"features": features, "label": spec.label_epsilon or 0.0, "links": spec.link_epsilon or 0.0}
    for subject, claim in questions.claims.items():
        if claim.epsilon > given.get(subject, 0.0) * (1 + ROUNDING):
            raise PrivacyError(
                f"{spec.method} asks for epsilon {claim.epsilon:g} about {subject}, more than the {given.get(subject, 0.0):g} that "
                "it was given: its questions must stay within the budget"
            )


def answering(spec: Spec, part: Part, users: Users, ledger: Ledger, seed: int) -> SimulatedUsers:
    """Users who answer on a ledger as this part of an experiment needs them; printed variants can be studied too."""
    unsound = not entry(spec.mechanism).sound
    return users.answering(ledger, seed=seed, blind=part == "control", unsound=unsound)


def _learn(
    spec: Spec, part: Part, run: int, progress: Progress | None, given: tuple[Graph, Users] | None
) -> tuple[Ready, Outcome]:
    """Split, ask and learn."""
    ready = make_ready(spec, part, run, progress, given)
    return ready, ready.method.run(ready.job)


def _divided(spec: Spec, graph: Graph, users: Users, seed: int) -> tuple[Graph, Users]:
    """The data with the split of that seed: of users, or of links."""
    if spec.has_levels:
        users = with_levels(spec, users, seed)
    return resplit(graph, users, seed) if spec.task == "node" else hold_out_links(graph, users, seed)


def with_levels(spec: Spec, users: Users, seed: int) -> Users:
    """Users who have chosen a level: the own one where they have, else from a file, or drawn for this run."""
    if spec.level_distribution is None and users.have_levels:
        return users
    source = level_source(spec.level_distribution or "uniform")
    if isinstance(source, str):
        return users.with_levels(draw_levels(len(users), len(spec.level_budgets()), source, seed))
    return users.with_levels(read_levels(source, len(users)))


def _test_score(graph: Graph, users: Users, outcome: Outcome) -> float:
    """How well test users or test links were predicted."""
    if outcome.scores is not None:
        return users.evaluate(outcome.scores, graph)
    assert outcome.pair_scores is not None
    return users.evaluate_links(outcome.pair_scores, graph)


def _also(graph: Graph, users: Users, outcome: Outcome) -> dict[str, float]:
    """How well norms of test users' features were predicted, where they were."""
    if outcome.norms is None or outcome.constant_norm is None:
        return {}
    return {
        "norm_error": users.evaluate_norms(outcome.norms, graph),
        "norm_constant": users.evaluate_norms(np.full(len(users), outcome.constant_norm), graph),
    }


def peak_megabytes() -> float:
    """The largest memory that this process has held so far.

    Linux counts into ru_maxrss what the process that started this one held, but not into VmHWM.
    """
    if sys.platform == "linux":
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / (1 << 10)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def _job(spec: Spec, part: Part, method: Method, graph: Graph, seed: int, progress: Progress | None) -> Job:
    """What a method is given, before anybody has declared a budget."""
    settings = spec.full_settings()
    if part == "structure":
        settings = method.settings_for({}, spec.data, cast(Task, spec.task), spec.mechanism)
    return Job(
        graph,
        Nobody(),
        settings,
        seed,
        epsilon=spec.epsilon,
        delta=spec.delta,
        mechanism=spec.mechanism,
        mechanism_options=spec.mechanism_options,
        backbone=spec.backbone,
        device=_device(spec.device),
        label_epsilon=spec.label_epsilon,
        link_epsilon=spec.link_epsilon,
        link_mechanism=spec.link_mechanism,
        budgets=spec.level_budgets() if spec.has_levels else None,
        gamma=spec.gamma,
        norm_epsilon=None if part == "structure" else spec.norm_epsilon,
        norm_bound=spec.norm_bound,
        max_memory=spec.max_memory,
        progress=progress,
    )


def _device(asked: str) -> str:
    import torch

    if asked == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if asked == "cuda" and not torch.cuda.is_available():
        raise InputError("there is no GPU that torch can use: leave --device out, or give cpu")
    return asked


@lru_cache(maxsize=1)
def _cached(name: str, options: tuple[tuple[str, Any], ...], digest: str | None) -> tuple[Graph, Users]:
    return load(name, seed=0, **dict(options))


def _data(spec: Spec) -> tuple[Graph, Users]:
    try:
        return _cached(spec.data, tuple(sorted(spec.loader_options.items())), data_digest(spec.data))
    except TypeError as error:
        raise InputError(f"{spec.data} cannot be loaded with {spec.loader_options}: {error}") from None
