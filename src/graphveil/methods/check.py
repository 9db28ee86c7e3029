"""The suite that every registered method passes just by being registered."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import Claim
from graphveil.graphs.convert import from_arrays
from graphveil.graphs.graph import Graph
from graphveil.graphs.links import LinkPairs, hold_out_links
from graphveil.graphs.simulated import SimulatedUsers
from graphveil.graphs.users import Users
from graphveil.mechanisms import Reports
from graphveil.methods.job import Job
from graphveil.methods.method import Method, load_method, public_part
from graphveil.methods.outcome import Outcome
from graphveil.privacy import Ledger, Nobody, Plan, Respondents

# The budgets for features, for a label, for a link where links can be private, and for a norm where it can be learned too.
EPSILON, LABEL_EPSILON, LINK_EPSILON, NORM_EPSILON = 1.0, 2.0, 4.0, 3.0
# A small graph with many more features than anything else in it, so that a dense n x d matrix stands out.
USERS, FEATURES, CLASSES, DEGREE = 150, 600, 3, 6
# How many privacy levels users choose from, where they do.
LEVELS = 4
# How many pairs a method that predicts links is asked for.
PAIRS = 200


class Recorder:
    """Users who answer as usual while their reports are written down."""

    def __init__(self, users: Respondents) -> None:
        self._users, self.answers = users, list[Reports]()

    def report(self, plan: Plan) -> Reports:
        """Answer, and remember the answer."""
        self.answers.append(self._users.report(plan))
        return self.answers[-1]


class Replay:
    """All that is left of users when only their reports are there."""

    def __init__(self, answers: list[Reports]) -> None:
        self._answers = list(answers)

    def report(self, plan: Plan) -> Reports:
        """The next of the given answers, whatever is asked."""
        return self._answers.pop(0)


@dataclass(frozen=True)
class Trial:
    """What a method is tried with; ``options`` are other fields of its job."""

    settings: dict[str, Any] = field(default_factory=dict)
    link_epsilon: float | None = None
    label_epsilon: float | None = None
    norm_epsilon: float | None = None
    task: str = "node"
    options: dict[str, Any] = field(default_factory=dict)


def check_method(name: str, **settings: Any) -> None:
    """Raise AssertionError with a sentence if a method does not behave as all methods must.

    One of your own is named FILE.py:NAME. It is checked on both tasks. A method that can ask for links is checked with public links and with private ones, and one
    that can learn norms of features too is checked with them and without.
    """
    method = load_method(name)
    check_trial(method, Trial(settings))
    check_trial(method, Trial(settings, task="link"))
    if method.reports_links:
        check_trial(method, Trial(settings, LINK_EPSILON))
    if method.several_tasks:
        link_epsilon = LINK_EPSILON if method.reports_links else None
        check_norms_besides(method, Trial(settings, link_epsilon, norm_epsilon=NORM_EPSILON))


def check_trial(method: Method, trial: Trial) -> None:
    """The whole suite with these settings."""
    name = method.name
    graph, users = small_data(task=trial.task)
    asked, ledger = declared(method, graph, users, trial)
    first = answers(run(method, graph, asked, trial, users), graph)
    assert np.isfinite(first).all(), f"{name} gave scores that are not finite"
    assert np.array_equal(first, answers(learn(method, graph, users, trial), graph)), (
        f"{name} gave other scores for the same seed"
    )
    if method.reports_features:
        check_ledger(method, graph, ledger, trial)
        check_control(method, graph, users, trial)
        check_only_reports_matter(method, graph, users, trial)
    if trial.task == "node":
        check_private_labels(method, graph, users, replace(trial, label_epsilon=LABEL_EPSILON))
    else:
        check_links_unseen(method, graph, users, trial, first)
    if not method.holds_dense(method.settings.of(trial.settings), trial.task):
        check_sparse(method, graph, users, trial)


def check_norms_besides(method: Method, trial: Trial) -> None:
    """With a budget for norms everybody gets one predicted, and they are as private as the other features."""
    graph, users = small_data()
    asked, ledger = declared(method, graph, users, trial)
    norms = run(method, graph, asked, trial).norms
    assert norms is not None and norms.shape == (graph.node_count,) and np.isfinite(norms).all(), (
        f"{method.name} says that it learns several tasks, so it must predict a norm for every user"
    )
    check_ledger(method, graph, ledger, trial)
    check_control(method, graph, users, trial)
    check_only_reports_matter(method, graph, users, trial)


def check_ledger(method: Method, graph: Graph, ledger: Ledger, trial: Trial) -> None:
    """What users who have been asked were charged is what is claimed."""
    job = make_job(method, graph, Nobody(), trial)
    questions = method.questions(job)
    claims = questions.claims
    for subject in ("features", "label", "level", "links"):
        claimed, spent = claims.get(subject, Claim(0.0)), ledger.total(subject)
        assert np.isclose(spent.epsilon, claimed.epsilon, rtol=1e-12) and np.isclose(
            spent.delta, claimed.delta, rtol=1e-12
        ), f"{method.name} claims {claimed} for {subject} and charged {spent}"
    # Where users choose a level, the budget that is given is the strictest one's. A norm costs its budget besides.
    allowed = max(questions.level_budgets or (EPSILON,))
    allowed += trial.norm_epsilon or 0.0
    spent = ledger.total("features")
    assert spent.epsilon <= allowed * (1 + 1e-12), f"{method.name} charged more than the budget it was given"


def check_control(method: Method, graph: Graph, users: Users, trial: Trial) -> None:
    """The control runs, and does not depend on the features at all."""
    other = small_data(features=1, task=trial.task)[1]
    blind, swapped = (
        answers(run(method, graph, declared(method, graph, who, trial, blind=True)[0], trial), graph)
        for who in (users, other)
    )
    assert np.array_equal(blind, swapped), f"the control of {method.name} changes with the private features"


def check_only_reports_matter(method: Method, graph: Graph, users: Users, trial: Trial) -> None:
    """With the reports at hand the users can go: whatever features they hold changes nothing but the reports."""
    recorder = Recorder(declared(method, graph, users, trial)[0])
    expected = answers(run(method, graph, recorder, trial), graph)
    again = answers(run(method, graph, Replay(recorder.answers), trial), graph)
    assert np.array_equal(expected, again), (
        f"{method.name} gave other scores for the same reports: it depends on something else that users hold"
    )


def check_private_labels(method: Method, graph: Graph, users: Users, trial: Trial) -> None:
    """With a budget for labels, these are asked for and charged, and nothing else about labels is known."""
    asked, ledger = declared(method, graph, users, trial)
    recorder = Recorder(asked)
    first = run(method, graph, recorder, trial, users)
    spent = ledger.total("label")
    assert np.isclose(spent.epsilon, LABEL_EPSILON), (
        f"{method.name} charged {spent} for labels, {LABEL_EPSILON} was declared"
    )
    if not method.reads_features:
        told = graph.with_labels(np.where(graph.test, graph.labels, (graph.labels + 1) % graph.class_count))
        again = run(method, told, Replay(recorder.answers), trial)
        assert np.array_equal(answers(first, graph), answers(again, told)), (
            f"{method.name} knows more of private labels than was reported"
        )


def check_links_unseen(method: Method, graph: Graph, users: Users, trial: Trial, first: NDArray[Any]) -> None:
    """Which of the test pairs are linked changes nothing of the first answers."""
    test = users.raw.test_links
    assert test is not None
    turned = users.with_test_links(LinkPairs(test.unlinked, test.linked), (graph.indptr, graph.indices))
    other = answers(learn(method, graph, turned, trial), graph)
    assert np.array_equal(first, other), f"{method.name} knows which test pairs are linked"


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


def check_sparse(method: Method, graph: Graph, users: Users, trial: Trial) -> None:
    """No tensor is as large as users x features or, where links are private, as users x users."""
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
        learn(method, graph, users, trial)
    columns = {"features": graph.feature_count}
    if trial.link_epsilon is not None:
        columns["users"] = graph.node_count
    for what, count in columns.items():
        assert largest < graph.node_count * count, (
            f"{method.name} held a dense matrix of {largest} numbers, as many as users x {what}: "
            "keep it sparse, or say so with `holds_dense`"
        )


def small_data(features: int = 0, task: str = "node") -> tuple[Graph, Users]:
    """A small graph; another number gives the same graph and labels with other features."""
    from scipy.sparse import csr_array

    random = np.random.default_rng(5)
    labels = random.integers(0, CLASSES, USERS)
    pairs = random.integers(0, USERS, (USERS * DEGREE // 2, 2))
    rows = np.random.default_rng(features).random((USERS, FEATURES)) < 0.1 + 0.1 * labels[:, None]
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
    return users.answering(ledger, seed=3, blind=blind), ledger


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
    given = {"epochs": 3, "hidden": 16, **trial.settings}
    public = public_part(
        graph,
        private_labels=trial.label_epsilon is not None,
        private_links=trial.link_epsilon is not None,
    )
    return Job.of(
        public,
        users,
        method.settings.of(given),
        seed=3,
        epsilon=EPSILON if method.reports_features else None,
        link_epsilon=trial.link_epsilon,
        label_epsilon=trial.label_epsilon,
        norm_epsilon=trial.norm_epsilon,
        levels=LEVELS,
        **{"mechanism": method.mechanism, "backbone": method.backbone, **trial.options},
    )
