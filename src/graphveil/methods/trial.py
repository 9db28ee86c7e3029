"""What a method is tried with: a small graph, short jobs, and users of whom more is known than of real ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.graphs.convert import from_arrays
from graphveil.graphs.graph import Graph
from graphveil.graphs.links import hold_out_links
from graphveil.graphs.users import SimulatedUsers, Users, with_panel
from graphveil.mechanisms import Reports
from graphveil.methods.job import Job, public_part
from graphveil.methods.method import Method
from graphveil.methods.tasks import Outcome
from graphveil.privacy import Ledger, Nobody, Plan, Respondents

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


class Recorder:
    """Users who answer as usual while their reports are written down."""

    def __init__(self, users: Respondents) -> None:
        self._users, self.answers = users, list[Reports]()

    def report(self, plan: Plan) -> Reports:
        """Answer, and remember the answer."""
        self.answers.append(self._users.report(plan))
        return self.answers[-1]


class Unasked:
    """Users whom nobody should ask."""

    def report(self, plan: Plan) -> Reports:
        """Say that somebody did."""
        raise AssertionError(f"users were asked about {plan.subject}, and nobody should have been")


class Replay:
    """All that is left of users when only their reports are there."""

    def __init__(self, answers: list[Reports]) -> None:
        self._answers = list(answers)

    def report(self, plan: Plan) -> Reports:
        """The next of the given answers, whatever is asked."""
        return self._answers.pop(0)


@dataclass(frozen=True)
class Trial:
    """What a method is tried with; ``silent`` is a third of the users, so many training users are ``volunteers``, and
    ``options`` are other fields of its job.
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


def trial_data(trial: Trial) -> tuple[Graph, Users]:
    """What a method learns from in a trial; volunteers give their rows alone."""
    graph, users = small_data(task=trial.task, several_labels=trial.several_labels)
    if trial.volunteers:
        graph = with_panel(graph, Users(users.raw.features, users.raw.labels), trial.volunteers, seed=0)
    return graph, users


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
    raw = holding.raw.rows() if holding is not None and method.can.features == "raw" else None
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
        epsilon=EPSILON if method.can.asks else None,
        link_epsilon=trial.link_epsilon,
        label_epsilon=trial.label_epsilon,
        norm_epsilon=trial.norm_epsilon,
        levels=LEVELS,
        **{"mechanism": method.mechanism, "backbone": method.backbone, **trial.options},
    )
