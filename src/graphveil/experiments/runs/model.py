"""Model: what a run has trained, to be applied to users who join later; nothing is trained again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from graphveil import learn
from graphveil.errors import InputError
from graphveil.experiments.runs.about import about_run
from graphveil.experiments.runs.predictions import (
    Predictions,
    calibrated_rows,
    check_predictions,
    check_same_score,
    parts_of_split,
    predicted_classes,
)
from graphveil.experiments.runs.unit import Ready, make_job, make_ready
from graphveil.experiments.specs.given import Given
from graphveil.experiments.specs.spec import Spec
from graphveil.graphs.graph import UNKNOWN, Graph, Mask
from graphveil.graphs.users import Users
from graphveil.mechanisms import Reports
from graphveil.methods import find_method, method_names
from graphveil.methods.outcome import Outcome, Trained
from graphveil.methods.questions import Questions
from graphveil.privacy import Ledger, Plan, Respondents

# What users are called who were not there when the model was trained.
JOINED = "joined"


@dataclass(frozen=True, eq=False)
class Asked:
    """A question that was asked while a model was trained, and what was reported."""

    plan: Plan
    reports: Reports


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A trained backbone with all that applies it again: its spec, the questions with their reports, and what the server knew.

    ``seed`` is that of its run. ``before`` is the graph that it was trained on as the server knew it, without its edges. It holds
    reports and known labels, and nothing else of users: whoever may see those may see the model. Its reports were ``collected`` from
    people's own devices, or else simulated from the seed.
    """

    spec: Spec
    seed: int
    trained: Trained
    asked: tuple[Asked, ...]
    before: Graph
    collected: bool = False

    @property
    def users(self) -> int:
        """How many users it was trained with."""
        return self.before.node_count

    @property
    def plans(self) -> tuple[Plan, ...]:
        """What everybody is asked, those who join later too, in this order."""
        return tuple(asked.plan for asked in self.asked if asked.plan.users == "all")

    def predict(
        self, graph: Graph, joined: Users | Sequence[Reports] = (), *, seed: int | None = None
    ) -> Predictions:
        """Classes of all users of a graph that has grown: its first users are those of the training, in the same order.

        Whoever joined answers the same `plans`, once. ``joined`` is where their answers come from: reports to each plan of those who joined, in
        the order of the graph; or, in a simulation, the `Users` of the whole graph, of whom those who joined are asked on fresh
        books, drawing from a ``seed`` of their own or from the operating system. Nobody is asked twice: what the others reported is in the model.
        """
        self._check(graph, seed)
        people = joined if isinstance(joined, Users) else None
        later = self._ask(joined, seed) if isinstance(joined, Users) else tuple(joined)
        count = graph.node_count
        answering = _Answers(self.asked, later, count - self.users)
        method = self.spec.found_method
        with learn.one_thread():
            job = make_job(self.spec, "method", method, self._known(graph), self.seed, None)
            raw = None
            if method.reads_features:
                if people is None:
                    raise InputError(f"{method.name} reads raw features: give the users of the graph")
                raw = people.raw.rows()
            job = replace(job, users=answering, trained=self.trained, raw=raw)
            job = replace(job, questions=method.questions(job))
            outcome = method.run(job)
        came, judges = answering.who(count), people or Users(None, job.graph.labels)
        ready = Ready(
            method,
            job.graph,
            judges,
            job,
            self._books(count, came),
            raw is not None,
            # Who was asked by a collection and did not answer is not known here.
            None if self.collected or answering.complete else np.logical_or.reduce(came),
            partial=self.collected and not np.logical_or.reduce(came).all(),
        )
        simulated = not self.collected or seed is not None
        drawn = self._drawn(count - self.users, people, seed)
        return self._predictions(ready, outcome, people, simulated=simulated, drawn=drawn)

    def _check(self, graph: Graph, seed: int | None) -> None:
        if graph.node_count < self.users:
            raise InputError(
                f"the model was trained with {self.users} users and this graph has {graph.node_count}: give a graph that has grown, its first "
                "users those of the training"
            )
        if graph.feature_count not in (0, self.before.feature_count):
            raise InputError(
                f"the model was trained on {self.before.feature_count} features and this graph has {graph.feature_count}: give the same ones"
            )
        if seed == self.seed:
            raise InputError(
                f"seed must not be {self.seed}, from which the first users have drawn: the same noise twice could be undone"
            )

    def _known(self, graph: Graph) -> Graph:
        """The graph that has grown, with what the server knew when the model was trained."""
        before, more = self.before, graph.node_count - self.users
        nobody: Mask = np.zeros(more, dtype=bool)
        unknown = np.full((more, *before.labels.shape[1:]), UNKNOWN, dtype=np.int64)
        return replace(
            before,
            indptr=graph.indptr,
            indices=graph.indices,
            labels=np.concatenate([before.labels, unknown]),
            train=np.concatenate([before.train, nobody]),
            validation=np.concatenate([before.validation, nobody]),
            test=np.concatenate([before.test, nobody]),
            ids=graph.ids,
        )

    def _books(self, count: int, came: Sequence[Mask]) -> Ledger:
        """What everybody has spent: each question once, whenever it was asked. Of a collection, whoever has answered it."""
        claims = [each.plan.claim for each in self.asked]
        budget = (sum(claim.epsilon for claim in claims), sum(claim.delta for claim in claims))
        books = Ledger(count, *budget)
        for each, who in zip(self.asked, came, strict=True):
            books.charge(each.plan.part(np.flatnonzero(who).tolist()) if self.collected else each.plan)
        return books

    def _to_joined(self, count: int) -> tuple[Plan, ...]:
        """The plans, of those alone who joined."""
        joined = tuple(range(self.users, count))
        return tuple(plan.model_copy(update={"users": joined}) for plan in self.plans) if joined else ()

    def _ask(self, people: Users, seed: int | None) -> tuple[Reports, ...]:
        """Those who joined answer on fresh books, each question once."""
        plans = self._to_joined(len(people))
        users = people.answering(Questions(features=plans).open_ledger(people), seed=seed)
        return tuple(users.report(plan) for plan in plans)

    def _drawn(self, more: int, people: Users | None, seed: int | None) -> str:
        """Whose reports come from where, if some users have joined: the first ones' may be simulated and the others' real."""
        if not more:
            return ""
        first = "came from devices" if self.collected else f"are simulated with seed {self.seed}"
        later = "came from outside"
        if people is not None:
            later = "are simulated without a seed" if seed is None else f"are simulated with seed {seed}"
        return f"Reports of the first {self.users:,} users {first}, those of the {more:,} who joined {later}"

    def _predictions(
        self, ready: Ready, outcome: Outcome, people: Users | None, *, simulated: bool, drawn: str
    ) -> Predictions:
        graph = ready.job.graph
        private = self.spec.budgets.private_labels
        rows, calibration = calibrated_rows(outcome, graph, private_labels=private)
        parts = parts_of_split(graph)
        parts[self.users :] = JOINED
        judged = self._judged(graph, people)
        tested = int(judged.test.sum())
        return Predictions(
            **about_run(
                self.spec, ready, self.seed - self.spec.seed, "predictions", simulated=simulated, drawn=drawn
            ),
            metric=graph.metric,
            score=people.evaluate(outcome.scores, judged) if people is not None and tested else None,
            tested=tested if people is not None else 0,
            calibration=calibration,
            classes=predicted_classes(outcome, several=graph.multilabel),
            probabilities=rows.astype(np.float32),
            parts=parts,
            ids=graph.ids,
        )

    def _judged(self, graph: Graph, people: Users | None) -> Graph:
        """Those who joined test, where some have a label; else those who tested before."""
        if people is None or graph.node_count == self.users:
            return graph
        labels = people.raw.labels
        labelled = labels >= 0 if labels.ndim == 1 else (labels >= 0).all(axis=1)
        return replace(graph, test=labelled & (np.arange(graph.node_count) >= self.users))

    def __repr__(self) -> str:
        return f"Model({self.spec.method} on {self.spec.data}, seed {self.seed}, trained with {self.users:,} users)"


class _Recorder:
    """Users who answer as usual while questions and reports are written down."""

    def __init__(self, users: Respondents) -> None:
        self._users, self.asked = users, list[Asked]()

    def report(self, plan: Plan) -> Reports:
        """Answer, and remember the answer."""
        reports = self._users.report(plan)
        self.asked.append(Asked(plan, reports))
        return reports


class _Answers:
    """What was reported when the model was trained, and by those who joined: the same questions, whatever is asked now."""

    def __init__(self, asked: Sequence[Asked], later: Sequence[Reports], count: int) -> None:
        whole = [each for each in asked if each.plan.users == "all"]
        if count and len(later) != len(whole):
            raise InputError(
                f"{count} users have joined: give their reports to each of the {len(whole)} plans of the model (model.plans), or the "
                f"users of the graph; got {len(later)}"
            )
        for each, reports in zip(whole, later, strict=False):
            if reports.asked != count:
                raise InputError(f"{count} users have joined, and {reports.asked} reports were given")
            if reports.mechanism.fingerprint != each.reports.mechanism.fingerprint:
                raise InputError(
                    "those who joined have answered another plan: ask them model.plans, in that order"
                )
        rest = iter(later)
        self._answers = [
            _longer(each.reports, next(rest)) if count and each.plan.users == "all" else each.reports
            for each in asked
        ]
        self._all = [(each.plan, answers) for each, answers in zip(asked, self._answers, strict=True)]

    @property
    def complete(self) -> bool:
        """Whether everybody who was asked has answered."""
        return all(reports.answered is None for _, reports in self._all)

    def who(self, count: int) -> list[Mask]:
        """Who of so many users has answered each question."""
        masks = []
        for plan, reports in self._all:
            users = np.arange(count) if plan.users == "all" else np.array(plan.users, dtype=np.int64)
            masks.append(np.isin(np.arange(count), users[reports.places]))
        return masks

    def report(self, plan: Plan) -> Reports:
        """The next of the answers."""
        return self._answers.pop(0)


def _longer(first: Reports, second: Reports) -> Reports:
    """Reports of those who were there, and of those who joined."""
    joined = Reports.join([replace(each, answered=None) for each in (first, second)])
    if first.answered is None and second.answered is None:
        return joined
    masks = [
        np.ones(each.users, dtype=bool) if each.answered is None else each.answered
        for each in (first, second)
    ]
    return replace(joined, answered=np.concatenate(masks))


def train_model(spec: Spec, run: int = 0, given: Given | None = None, *, score: float | None = None) -> Model:
    """The model of one run of a spec: the same split, reports and weights as `run_spec` has there.

    Where the run had a ``score``, a model that comes to another one is refused.
    """
    check_model(spec)
    with learn.one_thread():
        ready = make_ready(spec, "method", run, None, given)
        recorder = _Recorder(ready.job.users)
        outcome = ready.method.run(replace(ready.job, users=recorder, keep_trained=True))
    if score is not None:
        check_same_score(spec, run, ready, outcome, score)
    if outcome.trained is None:
        raise InputError(
            f"{spec.method} has trained no backbone here, so there is no model: take another method, like base"
        )
    return Model(spec, spec.seed + run, outcome.trained, tuple(recorder.asked), known_before(ready.job.graph))


def known_before(graph: Graph) -> Graph:
    """What a model keeps of the graph of its job: known labels and who trained, without links, rows and names."""
    return replace(graph.without_edges().without_panel(), recipe=None, ids=None)


def _applicable() -> list[str]:
    """The methods whose models can be applied to users who join later."""
    return [name for name in method_names() if find_method(name).applies_later]


def check_model(spec: Spec) -> None:
    """Refuse what cannot be applied to users who join later."""
    check_predictions(spec)
    method = spec.found_method
    if not method.applies_later:
        raise InputError(
            f"{method.name} {method.not_later}, so there is no model of it: take {', '.join(_applicable())}, or run {method.name} again "
            "when people have joined"
        )
    if spec.budgets.private_links:
        raise InputError(
            "where links are private, a graph that has grown would have to be reported anew: a model is for public links"
        )
    if spec.budgets.norm_epsilon is not None:
        raise InputError("a model predicts classes alone: leave norm_epsilon out")
