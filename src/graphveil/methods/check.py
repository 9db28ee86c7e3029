"""The suite that every registered method passes just by being registered, as a series of named checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import Claim
from graphveil.errors import InputError
from graphveil.graphs.convert import from_arrays
from graphveil.graphs.graph import Graph
from graphveil.graphs.links import LinkPairs, hold_out_links
from graphveil.graphs.simulated import SimulatedUsers
from graphveil.graphs.users import Users
from graphveil.mechanisms import Reports
from graphveil.mechanisms.base import Subject
from graphveil.mechanisms.personal_builders import takes_levels
from graphveil.methods.job import Job
from graphveil.methods.method import Method, load_method, public_part
from graphveil.methods.outcome import Outcome
from graphveil.privacy import Ledger, Nobody, Plan, Respondents
from graphveil.suites import Check, run_checks

# The budgets for features, for a label, for a link where links can be private, and for a norm where it can be learned too.
EPSILON, LABEL_EPSILON, LINK_EPSILON, NORM_EPSILON = 1.0, 2.0, 4.0, 3.0
# A small graph with many more features than anything else in it, so that a dense n x d matrix stands out.
USERS, FEATURES, CLASSES, DEGREE = 150, 600, 3, 6
# Who answers, where a third of the users is silent.
ANSWERING: NDArray[np.bool_] = np.arange(USERS) % 3 != 0
# How many privacy levels users choose from, where they do.
LEVELS = 4
# How many pairs a method that predicts links is asked for.
PAIRS = 200
SUBJECTS: tuple[Subject, ...] = ("features", "label", "level", "links")


class Recorder:
    """Users who answer as usual while their reports are written down."""

    def __init__(self, users: Respondents) -> None:
        self._users, self.answers = users, list[Reports]()

    def report(self, plan: Plan) -> Reports:
        """Answer, and remember the answer."""
        self.answers.append(self._users.report(plan))
        return self.answers[-1]


class Unasked:
    """Users whom nobody should have asked yet."""

    def report(self, plan: Plan) -> Reports:
        """Say that it was too early."""
        raise AssertionError(f"users were asked about {plan.subject} before it was refused")


class Replay:
    """All that is left of users when only their reports are there."""

    def __init__(self, answers: list[Reports]) -> None:
        self._answers = list(answers)

    def report(self, plan: Plan) -> Reports:
        """The next of the given answers, whatever is asked."""
        return self._answers.pop(0)


@dataclass(frozen=True)
class Trial:
    """What a method is tried with; ``silent`` is a third of the users, ``options`` are other fields of its job."""

    settings: dict[str, Any] = field(default_factory=dict)
    link_epsilon: float | None = None
    label_epsilon: float | None = None
    norm_epsilon: float | None = None
    task: str = "node"
    several_labels: bool = False
    silent: bool = False
    options: dict[str, Any] = field(default_factory=dict)


def check_method(name: str, **settings: Any) -> None:
    """Raise AssertionError, with a sentence for all that is wrong, if a method does not behave as all methods must."""
    run_checks(name, method_checks(name, **settings))


def method_checks(name: str, **settings: Any) -> Iterator[Check]:
    """The checks of a method with these settings, by name, so that each can be a test of its own.

    One of your own is named FILE.py:NAME. It is checked on both tasks, with private labels, and with a third of the users
    silent. A method that can ask for links is checked with public links and with private ones, and one that can learn norms of
    features too is checked with them and without. One that can learn several labels a user is checked with them, and any other
    must refuse them. What several checks of one trial need is computed once, when the first of them runs.
    """
    method = load_method(name)
    if not method.several_labels:
        yield Check(
            "several labels: refused before anybody is asked", partial(check_refused, method, settings)
        )
    for title, trial in trials_of(method, settings).items():
        tried = Tried(method, trial)
        for told, check in checks_of(tried):
            yield Check(f"{title}: {told}", partial(check, tried))


def trials_of(method: Method, settings: dict[str, Any]) -> dict[str, Trial]:
    """What a method is tried with, by name."""
    trials = {
        "classes": Trial(settings),
        "private labels": Trial(settings, label_epsilon=LABEL_EPSILON),
        "links": Trial(settings, task="link"),
        "links from private ones": Trial(settings, LINK_EPSILON, task="link"),
        "private links": Trial(settings, LINK_EPSILON),
        "private links and labels": Trial(settings, LINK_EPSILON, label_epsilon=LABEL_EPSILON),
    }
    if method.several_labels:
        trials["several labels"] = Trial(settings, several_labels=True)
    if method.several_tasks:
        trials["norms"] = Trial(settings, LINK_EPSILON, norm_epsilon=NORM_EPSILON)
    if not method.reads_features:
        silent = {
            name: trial for name, trial in trials.items() if method.reports_features or trial.label_epsilon
        }
        trials |= {f"{name}, a third silent": replace(trial, silent=True) for name, trial in silent.items()}
    return trials


class First(NamedTuple):
    """A run whose reports were written down: what came of it, the reports, and the users' books."""

    outcome: Outcome
    answers: NDArray[Any]
    reports: list[Reports]
    ledger: Ledger


@dataclass(frozen=True, eq=False)
class Tried:
    """A method in one trial, and what several checks need of it."""

    method: Method
    trial: Trial

    @cached_property
    def data(self) -> tuple[Graph, Users]:
        """What it learns from."""
        return small_data(task=self.trial.task, several_labels=self.trial.several_labels)

    @cached_property
    def first(self) -> First:
        """The run that all others are compared with."""
        graph, users = self.data
        asked, ledger = declared(self.method, graph, users, self.trial)
        recorder = Recorder(asked)
        outcome = run(self.method, graph, recorder, self.trial, users)
        return First(outcome, answers(outcome, graph), recorder.answers, ledger)

    @cached_property
    def watched(self) -> tuple[NDArray[Any], int]:
        """The same run again, by users who answer directly: what came of it, and how large its largest tensor was."""
        graph, users = self.data
        outcome, largest = largest_tensor(partial(learn, self.method, graph, users, self.trial))
        return answers(outcome, graph), largest


def checks_of(tried: Tried) -> Iterator[tuple[str, Callable[[Tried], None]]]:
    """The checks that apply to a method in a trial, by name."""
    method, trial = tried.method, tried.trial
    yield "scores are finite", check_finite
    # What is reported besides changes none of these.
    plain = trial.label_epsilon is None and trial.norm_epsilon is None and not trial.silent
    if plain:
        yield "the same seed gives the same scores", check_seed
        if not method.holds_dense(method.settings.of(trial.settings), trial.task):
            yield "nothing dense is held", check_sparse
    if method.reports_features or trial.label_epsilon is not None:
        yield "what is claimed is charged", check_claims
        yield "what is given is charged", check_budgets
    if trial.silent:
        yield "nothing of silent users is known", check_silence
        return
    if method.reports_features and trial.label_epsilon is None:
        yield "the control sees no features", check_control
        yield "only reports matter", check_only_reports_matter
    if trial.norm_epsilon is not None:
        yield "everybody gets a norm", check_norms
    if trial.label_epsilon is not None and not method.reads_features:
        yield "labels are known from reports alone", check_labels_unseen
    if trial.task == "link":
        yield "test links are not seen", check_links_unseen


def check_refused(method: Method, settings: dict[str, Any]) -> None:
    """A method that learns one class a user says so of a graph with several labels, before anybody is asked."""
    graph, users = small_data(several_labels=True)
    try:
        run(method, graph, Unasked(), Trial(settings, several_labels=True), users)
    except InputError as error:
        assert method.name in str(error), f"{method.name} must be named where it refuses several labels"
    else:
        raise AssertionError(
            f"{method.name} learned from several labels a user: it should say that it can, with `several_labels`"
        )


def check_finite(tried: Tried) -> None:
    """Everybody gets scores that are numbers."""
    name = tried.method.name
    assert np.isfinite(tried.first.answers).all(), f"{name} gave scores that are not finite"


def check_seed(tried: Tried) -> None:
    """The same seed and the same users give the same scores."""
    same = np.array_equal(tried.first.answers, tried.watched[0])
    assert same, f"{tried.method.name} gave other scores for the same seed"


def check_norms(tried: Tried) -> None:
    """With a budget for norms everybody gets one predicted."""
    norms, users = tried.first.outcome.norms, tried.data[0].node_count
    assert norms is not None and norms.shape == (users,) and np.isfinite(norms).all(), (
        f"{tried.method.name} says that it learns several tasks, so it must predict a norm for every user"
    )


def check_claims(tried: Tried) -> None:
    """What users who have been asked were charged is what the method claims."""
    method, (graph, _) = tried.method, tried.data
    claims = method.questions(make_job(method, graph, Nobody(), tried.trial)).claims
    for subject in SUBJECTS:
        claimed, spent = claims.get(subject, Claim(0.0)), tried.first.ledger.total(subject)
        assert np.isclose(spent.epsilon, claimed.epsilon, rtol=1e-12) and np.isclose(
            spent.delta, claimed.delta, rtol=1e-12
        ), f"{method.name} claims {claimed} for {subject} and charged {spent}"


def check_budgets(tried: Tried) -> None:
    """What users were charged is the budget that was given, whatever the method claims; for features at most that."""
    budgets = given_budgets(tried.method, tried.trial)
    for subject in SUBJECTS:
        spent, budget = tried.first.ledger.total(subject).epsilon, budgets.get(subject, 0.0)
        assert spent <= budget * (1 + 1e-12), (
            f"{tried.method.name} charged more than the budget it was given for {subject}: {spent:g} of {budget:g}"
        )
        assert subject == "features" or spent >= budget * (1 - 1e-12), (
            f"{tried.method.name} charged {spent:g} for {subject}, {budget:g} was declared"
        )


def given_budgets(method: Method, trial: Trial) -> dict[Subject, float]:
    """The most that a user may be charged for each subject, from the numbers that the trial gives alone."""
    budgets: dict[Subject, float] = {
        "label": trial.label_epsilon or 0.0,
        "links": trial.link_epsilon or 0.0,
    }
    if method.reports_features:
        # Where users choose a level, the budget that is given is the strictest one's, and each next level has twice that.
        levels = LEVELS if takes_levels(trial.options.get("mechanism", method.mechanism)) else 1
        budgets["features"] = EPSILON * 2 ** (levels - 1) + (trial.norm_epsilon or 0.0)
    return budgets


def check_control(tried: Tried) -> None:
    """The control runs, and does not depend on the features at all."""
    method, trial, (graph, users) = tried.method, tried.trial, tried.data
    other = small_data(features=1, task=trial.task, several_labels=trial.several_labels)[1]
    blind, swapped = (
        answers(run(method, graph, declared(method, graph, who, trial, blind=True)[0], trial), graph)
        for who in (users, other)
    )
    assert np.array_equal(blind, swapped), f"the control of {method.name} changes with the private features"


def check_only_reports_matter(tried: Tried) -> None:
    """With the reports at hand the users can go: whatever features they hold changes nothing but the reports."""
    method, first, (graph, _) = tried.method, tried.first, tried.data
    again = answers(run(method, graph, Replay(first.reports), tried.trial), graph)
    assert np.array_equal(first.answers, again), (
        f"{method.name} gave other scores for the same reports: it depends on something else that users hold"
    )


def check_silence(tried: Tried) -> None:
    """Whoever is silent is charged like all others, and whatever they hold changes nothing."""
    method, trial, (graph, users) = tried.method, tried.trial, tried.data
    raw, other = users.raw, small_data(features=1, task=trial.task)[1].raw
    mixed = raw.features.tolil()
    mixed[~ANSWERING] = other.features.tolil()[~ANSWERING]
    assert raw.levels is not None
    levels, labels = np.where(ANSWERING, raw.levels, 1), raw.labels
    if trial.label_epsilon is not None:
        labels = np.where(ANSWERING, labels, (labels + 1) % CLASSES)
    swapped = Users(
        mixed.tocsr(), labels, neighbours=raw.neighbours, levels=levels, test_links=raw.test_links
    )
    again = answers(learn(method, graph, swapped, trial), graph)
    assert np.array_equal(tried.first.answers, again), (
        f"{method.name} knows something of users who are silent"
    )


def check_labels_unseen(tried: Tried) -> None:
    """With a budget for labels, nothing is known of them but what was reported."""
    method, first, (graph, _) = tried.method, tried.first, tried.data
    relabelled = graph.with_labels(np.where(graph.test, graph.labels, (graph.labels + 1) % graph.class_count))
    again = answers(run(method, relabelled, Replay(first.reports), tried.trial), relabelled)
    assert np.array_equal(first.answers, again), (
        f"{method.name} knows more of private labels than was reported"
    )


def check_links_unseen(tried: Tried) -> None:
    """Which of the test pairs are linked changes nothing of the first answers."""
    method, (graph, users) = tried.method, tried.data
    test = users.raw.test_links
    assert test is not None
    turned = users.with_test_links(LinkPairs(test.unlinked, test.linked), (graph.indptr, graph.indices))
    other = answers(learn(method, graph, turned, tried.trial), graph)
    assert np.array_equal(tried.first.answers, other), f"{method.name} knows which test pairs are linked"


def check_sparse(tried: Tried) -> None:
    """No tensor is as large as users x features or, where links are private, as users x users."""
    graph, largest = tried.data[0], tried.watched[1]
    columns = {"features": graph.feature_count}
    if tried.trial.link_epsilon is not None:
        columns["users"] = graph.node_count
    for what, count in columns.items():
        assert largest < graph.node_count * count, (
            f"{tried.method.name} held a dense matrix of {largest} numbers, as many as users x {what}: "
            "keep it sparse, or say so with `holds_dense`"
        )


def largest_tensor(learned: Callable[[], Outcome]) -> tuple[Outcome, int]:
    """What was learned, and how many numbers the largest dense tensor on the way held."""
    from torch.utils._python_dispatch import TorchDispatchMode

    largest = 0

    class Sizes(TorchDispatchMode):
        """Sees the result of every operation."""

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            nonlocal largest
            result = function(*args, **(kwargs or {}))
            for tensor in result if isinstance(result, (tuple, list)) else (result,):
                if hasattr(tensor, "layout") and str(tensor.layout) == "torch.strided":
                    largest = max(largest, tensor.numel())
            return result

    watch: Any = Sizes
    with watch():
        outcome = learned()
    return outcome, largest


def answers(outcome: Outcome, graph: Graph) -> NDArray[Any]:
    """What a method says: scores of all users for all classes (and norms, in a last column, where it has learned them), or scores
    of pairs that it has not been asked for before.
    """
    if graph.links is None:
        shape = (graph.node_count, graph.class_count)
        scores = np.empty(0) if outcome.scores is None else outcome.scores
        assert scores.shape == shape, (
            f"every user must get a score for every class, {shape}, not {scores.shape}"
        )
        return scores if outcome.norms is None else np.column_stack([scores, outcome.norms])
    assert outcome.pair_scores is not None, "where links are predicted, pairs of users must get scores"
    pairs = np.random.default_rng(1).integers(0, graph.node_count, (PAIRS, 2))
    scores = np.asarray(outcome.pair_scores(pairs))
    assert scores.shape == (PAIRS,), f"every pair must get one score, not {scores.shape} for {PAIRS} pairs"
    assert np.allclose(scores, outcome.pair_scores(pairs[:, ::-1].copy()), rtol=1e-4, atol=1e-5), (
        "a link has no direction: the score of a pair must not depend on its order"
    )
    return scores


def small_data(features: int = 0, task: str = "node", *, several_labels: bool = False) -> tuple[Graph, Users]:
    """A small graph; another number gives the same graph and labels with other features.

    With ``several_labels`` users have their class for one label, and some have others besides.
    """
    from scipy.sparse import csr_array

    random = np.random.default_rng(5)
    labels = random.integers(0, CLASSES, USERS)
    pairs = random.integers(0, USERS, (USERS * DEGREE // 2, 2))
    rows = np.random.default_rng(features).random((USERS, FEATURES)) < 0.1 + 0.1 * labels[:, None]
    if several_labels:
        others = np.random.default_rng(6).random((USERS, CLASSES)) < 0.3
        labels = ((labels[:, None] == np.arange(CLASSES)) | others).astype(np.int64)
    graph, users = from_arrays(
        pairs, csr_array(rows.astype(np.uint8)), labels, range=(0, 1), binary=True, name="small", seed=0
    )
    users = users.with_levels(random.integers(1, LEVELS + 1, USERS))
    return (graph, users) if task == "node" else hold_out_links(graph, users, seed=0)


def learn(method: Method, graph: Graph, users: Users, trial: Trial) -> Outcome:
    """Run with a fresh budget that is just enough."""
    return run(method, graph, declared(method, graph, users, trial)[0], trial, users)


def declared(
    method: Method, graph: Graph, users: Users, trial: Trial, *, blind: bool = False
) -> tuple[SimulatedUsers, Ledger]:
    """Users with the budget that the method claims, and their books."""
    ledger = method.questions(make_job(method, graph, Nobody(), trial)).open_ledger(users)
    who = ANSWERING if trial.silent else None
    return users.answering(ledger, seed=3, blind=blind, who=who), ledger


def run(
    method: Method, graph: Graph, asked: Respondents, trial: Trial, holding: Users | None = None
) -> Outcome:
    """Let the method learn from users, or from what stands for them; the graph it gets is what is public.

    One that claims no privacy gets the raw features of those who hold them.
    """
    job = make_job(method, graph, asked, trial)
    raw = holding.raw.rows() if holding is not None and method.reads_features else None
    return method.run(replace(job, raw=raw))


def make_job(method: Method, graph: Graph, users: Respondents, trial: Trial) -> Job:
    """A short job: a few epochs of a small model."""
    settings = {"epochs": 3, "hidden": 16, **trial.settings}
    public = public_part(
        graph,
        private_labels=trial.label_epsilon is not None,
        private_links=trial.link_epsilon is not None,
    )
    return Job.of(
        public,
        users,
        method.settings.of(settings),
        seed=3,
        epsilon=EPSILON if method.reports_features else None,
        link_epsilon=trial.link_epsilon,
        label_epsilon=trial.label_epsilon,
        norm_epsilon=trial.norm_epsilon,
        levels=LEVELS,
        **{"mechanism": method.mechanism, "backbone": method.backbone, **trial.options},
    )
