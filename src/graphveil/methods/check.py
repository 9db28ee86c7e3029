"""The suite that every registered method passes just by being registered, as a series of named checks.

A method is tried on a small graph, in short jobs, with users of whom more is known than of real ones.
"""

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
from graphveil.graphs.panel import with_panel
from graphveil.graphs.users import SimulatedUsers, Users
from graphveil.mechanisms import Reports
from graphveil.mechanisms.base import Subject
from graphveil.mechanisms.registry import takes_levels
from graphveil.methods.job import Job, public_part
from graphveil.methods.method import METHODS, Method
from graphveil.methods.structure import forget_blends
from graphveil.methods.tasks import Outcome
from graphveil.privacy import Ledger, Nobody, Plan, Respondents
from graphveil.privacy.answering import Recorder, Replay
from graphveil.suites import Check, run_checks

SUBJECTS: tuple[Subject, ...] = ("features", "label", "level", "links")
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
# How many volunteers there are, where a method takes some.
VOLUNTEERS = 30


def check_method(name: str, **settings: Any) -> None:
    """Raise AssertionError, with a sentence for all that is wrong, if a method does not behave as all methods must."""
    run_checks(name, method_checks(name, **settings))


def method_checks(name: str, **settings: Any) -> Iterator[Check]:
    """The checks of a method with these settings, by name, so that each can be a test of its own.

    One of your own is named FILE.py:NAME. It is checked on both tasks, with private labels, and with a third of the users
    silent. A method that can ask for links is checked with public links and with private ones, and one that can learn norms of
    features too is checked with them and without. One that can learn several labels a user is checked with them, and any other
    must refuse them. One that takes volunteers is checked with some, and without asking anybody else. What several checks of one trial
    need is computed once, when the first of them runs.
    """
    method = METHODS.load(name)
    if not method.can.several_labels:
        tried = TriedMethod(method, Trial(settings, several_labels=True))
        yield Check("several labels: refused before anybody is asked", tried.refused)
    for title, trial in trials_of(method, settings).items():
        tried = TriedMethod(method, trial)
        for told, check in tried.checks():
            yield Check(f"{title}: {told}", check)


def trials_of(method: Method, settings: dict[str, Any]) -> dict[str, Trial]:
    """Return the trials of a method, by name."""
    trials = {
        "classes": Trial(settings),
        "private labels": Trial(settings, label_epsilon=LABEL_EPSILON),
        "links": Trial(settings, task="link"),
        "links from private ones": Trial(settings, LINK_EPSILON, task="link"),
        "private links": Trial(settings, LINK_EPSILON),
        "private links and labels": Trial(settings, LINK_EPSILON, label_epsilon=LABEL_EPSILON),
    }
    if method.can.several_labels:
        trials["several labels"] = Trial(settings, several_labels=True)
    if method.can_with(method.settings.of(settings)).panel:
        trials["volunteers"] = Trial(settings, volunteers=VOLUNTEERS)
    if method.can.norms:
        trials["norms"] = Trial(settings, LINK_EPSILON, norm_epsilon=NORM_EPSILON)
    if method.can.features != "raw":
        silent = {name: trial for name, trial in trials.items() if method.can.asks or trial.label_epsilon}
        trials |= {f"{name}, a third silent": replace(trial, silent=True) for name, trial in silent.items()}
    return trials


class RecordedRun(NamedTuple):
    """A run whose reports were written down: what came of it, the reports, and the users' books."""

    outcome: Outcome
    answers: NDArray[Any]
    reports: list[Reports]
    ledger: Ledger


@dataclass(frozen=True, eq=False)
class TriedMethod:
    """A method in one trial, what several checks need of it, and the checks."""

    method: Method
    trial: Trial

    @cached_property
    def data(self) -> tuple[Graph, Users]:
        """The graph and the users that it learns from."""
        return trial_data(self.trial)

    @cached_property
    def first(self) -> RecordedRun:
        """The run that all others are compared with."""
        graph, users = self.data
        asked, ledger = declared(self.method, graph, users, self.trial)
        recorder = Recorder(asked)
        outcome = run(self.method, graph, recorder, self.trial, users)
        return RecordedRun(outcome, answers(outcome, graph), recorder.answers, ledger)

    @cached_property
    def watched(self) -> tuple[NDArray[Any], int]:
        """The answers of the same run, repeated with users who answer directly, and the size of its largest tensor."""
        graph, users = self.data
        forget_blends()
        outcome, largest = largest_tensor(partial(learn, self.method, graph, users, self.trial))
        return answers(outcome, graph), largest

    def checks(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield the checks that apply to the method in this trial, by name."""
        method, trial = self.method, self.trial
        asks, raw = method.can.asks, method.can.features == "raw"
        if trial.task not in method.can.tasks:
            yield "refused before anybody is asked", self.refused
            return
        yield "scores are finite", self.finite
        # What is reported besides changes none of these.
        if trial.label_epsilon is None and trial.norm_epsilon is None and not trial.silent:
            yield "the same seed gives the same scores", self.same_by_seed
            if not method.can_with(method.settings.of(trial.settings), trial.task).dense:
                yield "nothing dense is held", self.sparse
        if asks or trial.label_epsilon is not None:
            yield "what is claimed is charged", self.claimed
            yield "what is given is charged", self.within_budgets
        if trial.silent:
            yield "nothing of silent users is known", self.silence
            return
        if asks and trial.label_epsilon is None:
            yield "the control sees no features", self.blind_control
            yield "only reports matter", self.only_reports
        if trial.norm_epsilon is not None:
            yield "everybody gets a norm", self.norms
        if trial.label_epsilon is not None and not raw:
            yield "labels are known from reports alone", self.labels_unseen
        if trial.volunteers:
            yield "nobody but volunteers is needed", self.unasked
        if trial.task == "link":
            yield "test links are not seen", self.links_unseen

    def _answers(
        self, asked: Respondents, graph: Graph | None = None, holding: Users | None = None
    ) -> NDArray[Any]:
        """Return what the method says after it has learned from these users."""
        graph = self.data[0] if graph is None else graph
        return answers(run(self.method, graph, asked, self.trial, holding), graph)

    def _fresh_answers(self, users: Users, *, blind: bool = False) -> NDArray[Any]:
        """Return what it says where these users answer on fresh books."""
        asked, _ = declared(self.method, self.data[0], users, self.trial, blind=blind)
        return self._answers(asked, holding=users)

    def refused(self) -> None:
        """Check that a method refuses what it cannot learn, by its name and before anybody is asked."""
        name, what = self.method.name, "several labels" if self.trial.several_labels else self.trial.task
        try:
            run(self.method, self.data[0], UnaskedUsers(), self.trial, self.data[1])
        except InputError as error:
            assert name in str(error), f"{name} must be named where it refuses {what}"
        else:
            raise AssertionError(f"{name} learned {what}: it should say that it can, with `can`")

    def finite(self) -> None:
        """Everybody gets scores that are numbers."""
        assert np.isfinite(self.first.answers).all(), f"{self.method.name} gave scores that are not finite"

    def _same(self, again: NDArray[Any], otherwise: str) -> None:
        """Check that scores are those of the first run; else the method does something that it must not."""
        assert np.array_equal(self.first.answers, again), f"{self.method.name} {otherwise}"

    def same_by_seed(self) -> None:
        """Check that the same seed and the same users give the same scores."""
        self._same(self.watched[0], "gave other scores for the same seed")

    def sparse(self) -> None:
        """No tensor is as large as users x features or, where links are private, as users x users."""
        graph, largest = self.data[0], self.watched[1]
        columns = {"features": graph.feature_count}
        if self.trial.link_epsilon is not None:
            columns["users"] = graph.node_count
        for what, count in columns.items():
            assert largest < graph.node_count * count, (
                f"{self.method.name} held a dense matrix of {largest} numbers, as many as users x {what}: keep it sparse, or say so with `can`"
            )

    def claimed(self) -> None:
        """Check that users who have been asked were charged what the method claims."""
        claims = self.method.questions(make_job(self.method, self.data[0], Nobody(), self.trial)).claims
        for subject in SUBJECTS:
            claim, spent = claims.get(subject, Claim(0.0)), self.first.ledger.total(subject)
            pairs = [(spent.epsilon, claim.epsilon), (spent.delta, claim.delta)]
            assert all(np.isclose(*pair, rtol=1e-12) for pair in pairs), (
                f"{self.method.name} claims {claim} for {subject} and charged {spent}"
            )

    def within_budgets(self) -> None:
        """Check that users were charged the given budget, for features at most that, whatever is claimed."""
        name, trial = self.method.name, self.trial
        budgets = {"label": trial.label_epsilon or 0.0, "links": trial.link_epsilon or 0.0}
        if self.method.can.asks:
            # Where users choose a level, the budget that is given is the strictest one's, and each next level has twice that.
            levels = LEVELS if takes_levels(trial.options.get("mechanism", self.method.mechanism)) else 1
            budgets["features"] = EPSILON * 2 ** (levels - 1) + (trial.norm_epsilon or 0.0)
        for subject in SUBJECTS:
            spent, budget = self.first.ledger.total(subject).epsilon, budgets.get(subject, 0.0)
            assert spent <= budget * (1 + 1e-12), (
                f"{name} charged more than the budget it was given for {subject}: {spent:g} of {budget:g}"
            )
            assert subject == "features" or spent >= budget * (1 - 1e-12), (
                f"{name} charged {spent:g} for {subject}, {budget:g} was declared"
            )

    def blind_control(self) -> None:
        """The control runs, and does not depend on the features at all."""
        other = small_data(features=1, task=self.trial.task, several_labels=self.trial.several_labels)[1]
        blind, swapped = (self._fresh_answers(who, blind=True) for who in (self.data[1], other))
        same = np.array_equal(blind, swapped)
        assert same, f"the control of {self.method.name} changes with the private features"

    def only_reports(self) -> None:
        """Check that features change nothing but the reports: with these at hand, no user is needed."""
        self._same(
            self._answers(Replay(self.first.reports)),
            "gave other scores for the same reports: it depends on something else that users hold",
        )

    def silence(self) -> None:
        """Check that silent users are charged like all others, and that what they hold changes nothing."""
        trial, raw = self.trial, self.data[1].raw
        other = small_data(features=1, task=trial.task)[1].raw
        mixed = raw.features.tolil()
        mixed[~ANSWERING] = other.features.tolil()[~ANSWERING]
        assert raw.levels is not None
        levels, labels = np.where(ANSWERING, raw.levels, 1), raw.labels
        if trial.label_epsilon is not None:
            labels = np.where(ANSWERING, labels, (labels + 1) % CLASSES)
        held: dict[str, Any] = {"neighbours": raw.neighbours, "levels": levels, "test_links": raw.test_links}
        self._same(
            self._fresh_answers(Users(mixed.tocsr(), labels, **held)),
            "knows something of users who are silent",
        )

    def norms(self) -> None:
        """Check that with a budget for norms one is predicted for every user."""
        norms, users = self.first.outcome.norms, self.data[0].node_count
        assert norms is not None and norms.shape == (users,) and np.isfinite(norms).all(), (
            f"{self.method.name} says that it learns norms, so it must predict a norm for every user"
        )

    def labels_unseen(self) -> None:
        """Check that with a budget for labels nothing is known of them but what was reported."""
        graph = self.data[0]
        labels = np.where(graph.test, graph.labels, (graph.labels + 1) % graph.class_count)
        again = self._answers(Replay(self.first.reports), graph.with_labels(labels))
        self._same(again, "knows more of private labels than was reported")

    def unasked(self) -> None:
        """Check that it learns from volunteers' rows and the graph alone without asking anybody, and the same twice."""
        trial = replace(self.trial, options={**self.trial.options, "unasked": True})
        name, alone = self.method.name, replace(self, trial=trial)
        first, again = (alone._answers(UnaskedUsers()) for _ in range(2))
        assert np.isfinite(first).all(), f"{name} gave scores that are not finite where nobody is asked"
        same = np.array_equal(first, again)
        assert same, f"{name} gave other scores for the same volunteers where nobody is asked"

    def links_unseen(self) -> None:
        """Check that the first answers do not depend on which of the test pairs are linked."""
        graph, users = self.data
        test = users.raw.test_links
        assert test is not None
        turned = users.with_test_links(LinkPairs(test.unlinked, test.linked), (graph.indptr, graph.indices))
        self._same(self._fresh_answers(turned), "knows which test pairs are linked")


class UnaskedUsers:
    """Users whom nobody should ask."""

    def report(self, plan: Plan) -> Reports:
        """Say that somebody did."""
        raise AssertionError(f"users were asked about {plan.subject}, and nobody should have been")


@dataclass(frozen=True)
class Trial:
    """The settings and the data that a method is tried with.

    Parameters
    ----------
    silent
        Whether a third of the users is silent.
    volunteers
        The number of training users who volunteer.
    options
        Other fields of the method's job.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    link_epsilon: float | None = None
    label_epsilon: float | None = None
    norm_epsilon: float | None = None
    task: str = "node"
    several_labels: bool = False
    silent: bool = False
    volunteers: int = 0
    options: dict[str, Any] = field(default_factory=dict)


def largest_tensor(learned: Callable[[], Outcome]) -> tuple[Outcome, int]:
    """Return the outcome, and the size of the largest dense tensor that was made on the way."""
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
    """Return what a method predicts: scores of users, or of pairs that it has not been asked for before.

    Scores of users are those of all classes; where norms were learned too, they are a last column.
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
    """Return a small graph and its users.

    Parameters
    ----------
    features
        Another number gives the same graph and labels with other features.
    task
        The task that links are divided for.
    several_labels
        Whether users have their class for one label, and some have others besides.
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


def trial_data(trial: Trial) -> tuple[Graph, Users]:
    """Return the graph and the users of a trial; volunteers give their rows alone."""
    graph, users = small_data(task=trial.task, several_labels=trial.several_labels)
    if trial.volunteers:
        graph = with_panel(graph, Users(users.raw.features, users.raw.labels), trial.volunteers, seed=0)
    return graph, users


def learn(method: Method, graph: Graph, users: Users, trial: Trial) -> Outcome:
    """Run with a fresh budget that is just enough.

    Parameters
    ----------
    method, graph, users, trial
        The method, the data that it learns from, and how it is tried.
    """
    return run(method, graph, declared(method, graph, users, trial)[0], trial, users)


def declared(
    method: Method, graph: Graph, users: Users, trial: Trial, *, blind: bool = False
) -> tuple[SimulatedUsers, Ledger]:
    """Return users with the budget that the method claims, and their books.

    Parameters
    ----------
    method, graph, users, trial
        The method, the data that it learns from, and how it is tried.
    blind
        Whether users answer by blind mechanisms.
    """
    ledger = method.questions(make_job(method, graph, Nobody(), trial)).open_ledger(users)
    who = ANSWERING if trial.silent else None
    return users.answering(ledger, seed=3, blind=blind, who=who), ledger


def run(
    method: Method, graph: Graph, asked: Respondents, trial: Trial, holding: Users | None = None
) -> Outcome:
    """Let the method learn from users, or from what stands for them; the graph it gets is what is public.

    Parameters
    ----------
    asked
        Those who answer.
    trial
        How the method is tried.
    holding
        The users whose raw features a method gets that claims no privacy.
    """
    job = make_job(method, graph, asked, trial)
    raw = holding.raw.rows() if holding is not None and method.can.features == "raw" else None
    return method.run(replace(job, raw=raw))


def make_job(method: Method, graph: Graph, users: Respondents, trial: Trial) -> Job:
    """Return a short job: a few epochs of a small model.

    Parameters
    ----------
    graph
        The whole graph, of which the job gets what is public.
    users
        Those who answer.
    trial
        How the method is tried.
    """
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
        epsilon=EPSILON if method.can.asks else None,
        link_epsilon=trial.link_epsilon,
        label_epsilon=trial.label_epsilon,
        norm_epsilon=trial.norm_epsilon,
        levels=LEVELS,
        **{"mechanism": method.mechanism, "backbone": method.backbone, **trial.options},
    )
