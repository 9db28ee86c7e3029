"""The suite that every registered method passes just by being registered, as a series of named checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import Claim
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.links import LinkPairs
from graphveil.graphs.users import Users
from graphveil.mechanisms import Reports
from graphveil.mechanisms.base import Subject
from graphveil.mechanisms.registry import takes_levels
from graphveil.methods.method import METHODS, Method
from graphveil.methods.structure import forget_blends
from graphveil.methods.tasks import Outcome
from graphveil.methods.trial import (
    ANSWERING,
    CLASSES,
    EPSILON,
    LABEL_EPSILON,
    LEVELS,
    LINK_EPSILON,
    NORM_EPSILON,
    VOLUNTEERS,
    Recorder,
    Replay,
    Trial,
    Unasked,
    answers,
    declared,
    largest_tensor,
    learn,
    make_job,
    run,
    small_data,
    trial_data,
)
from graphveil.privacy import Ledger, Nobody
from graphveil.suites import Check, run_checks

SUBJECTS: tuple[Subject, ...] = ("features", "label", "level", "links")


def check_method(name: str, **settings: Any) -> None:
    """Raise AssertionError, with a sentence for all that is wrong, if a method does not behave as all methods must."""
    run_checks(name, method_checks(name, **settings))


def method_checks(name: str, **settings: Any) -> Iterator[Check]:
    """The checks of a method with these settings, by name, so that each can be a test of its own.

    One of your own is named FILE.py:NAME. It is checked on both tasks, with private labels, and with a third of the users
    silent. A method that can ask for links is checked with public links and with private ones, and one that can learn norms of
    features too is checked with them and without. One that can learn several labels a user is checked with them, and any other
    must refuse them. One that takes volunteers is checked with some, and without asking anybody else. What several checks of one trial need is computed once, when the first of them runs.
    """
    method = METHODS.load(name)
    if not method.can.several_labels:
        yield Check(
            "several labels: refused before anybody is asked", partial(check_refused, method, settings)
        )
    for title, trial in trials_of(method, settings).items():
        if trial.task not in method.can.tasks:
            yield Check(
                f"{title}: refused before anybody is asked", partial(check_task_refused, method, trial)
            )
            continue
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
        return trial_data(self.trial)

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
        forget_blends()
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
        if not method.can_with(method.settings.of(trial.settings), trial.task).dense:
            yield "nothing dense is held", check_sparse
    if method.can.asks or trial.label_epsilon is not None:
        yield "what is claimed is charged", check_claims
        yield "what is given is charged", check_budgets
    if trial.silent:
        yield "nothing of silent users is known", check_silence
        return
    if method.can.asks and trial.label_epsilon is None:
        yield "the control sees no features", check_control
        yield "only reports matter", check_only_reports_matter
    if trial.norm_epsilon is not None:
        yield "everybody gets a norm", check_norms
    if trial.label_epsilon is not None and method.can.features != "raw":
        yield "labels are known from reports alone", check_labels_unseen
    if trial.volunteers:
        yield "nobody but volunteers is needed", check_unasked
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
            f"{method.name} learned from several labels a user: it should say that it can, with `can`"
        )


def check_task_refused(method: Method, trial: Trial) -> None:
    """A method that does not learn a task says so before anybody is asked."""
    graph, users = trial_data(trial)
    try:
        run(method, graph, Unasked(), trial, users)
    except InputError as error:
        assert method.name in str(error), (
            f"{method.name} must be named where it refuses the task {trial.task}"
        )
    else:
        raise AssertionError(f"{method.name} learned {trial.task}: it should say that it can, with `can`")


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
    if method.can.asks:
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


def check_unasked(tried: Tried) -> None:
    """With volunteers' rows and the graph alone it learns without asking anybody, and the same twice."""
    method, (graph, users) = tried.method, tried.data
    alone = replace(tried.trial, options={**tried.trial.options, "unasked": True})
    first, again = (answers(run(method, graph, Unasked(), alone, users), graph) for _ in range(2))
    assert np.isfinite(first).all(), f"{method.name} gave scores that are not finite where nobody is asked"
    assert np.array_equal(first, again), (
        f"{method.name} gave other scores for the same volunteers where nobody is asked"
    )


def check_sparse(tried: Tried) -> None:
    """No tensor is as large as users x features or, where links are private, as users x users."""
    graph, largest = tried.data[0], tried.watched[1]
    columns = {"features": graph.feature_count}
    if tried.trial.link_epsilon is not None:
        columns["users"] = graph.node_count
    for what, count in columns.items():
        assert largest < graph.node_count * count, (
            f"{tried.method.name} held a dense matrix of {largest} numbers, as many as users x {what}: "
            "keep it sparse, or say so with `can`"
        )
