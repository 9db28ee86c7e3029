"""Learn from a collection: the method on what arrived, beside its control, structure and volunteers alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from graphveil import learn
from graphveil.collect.learning import (
    BlindedUsers,
    CollectedUsers,
    Nodes,
    Replayed,
    StudyTerms,
    asked_users,
    charge_round,
)
from graphveil.collect.public_graph import AskedLabels
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment, Given, Part
from graphveil.experiments.model import Model, check_model, check_saved, known_before
from graphveil.experiments.unit import PARTS, PreparedUnit, RunUnit, parts_of, prepare_unit
from graphveil.graphs import Graph, Users
from graphveil.graphs.graph import UNKNOWN
from graphveil.graphs.splits import RandomSplit, SplitRecipe
from graphveil.mechanisms import Reports, entry
from graphveil.methods.job import Progress, TrainingOptions
from graphveil.methods.tasks import Outcome
from graphveil.privacy import Ledger, Plan, Respondents
from graphveil.privacy.answering import Replay
from graphveil.privacy.ledger import add_up
from graphveil.privacy.record import Privacy, privacy_record

if TYPE_CHECKING:
    from graphveil.collect.roster import Roster
    from graphveil.collect.rounds import PublishedRound
    from graphveil.collect.storage import Collection

# The largest δ that books can have.
LARGEST = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class StudyOutcome:
    """The outcome of a study. ``parts`` are the outcomes of the method and of what it is compared with.

    ``graph`` has the labels divided: those to learn from, those to validate; ``users`` hold the ones that score. ``ledger`` are the
    public books of the rounds that were used, ``books`` those of all rounds of the collection.
    """

    spec: Experiment
    study: str
    graph: Graph
    users: Users
    parts: dict[Part, Outcome]
    replayed: tuple[Replayed, ...]
    ledger: Ledger
    books: Ledger
    enrolled: int
    # Volunteers whose rows were used, None where none were.
    volunteers: Nodes | None
    # The trained backbone with its questions and reports, where the method has one that can be applied later.
    model: Model | None = None

    @property
    def outcome(self) -> Outcome:
        """The outcome of the method."""
        return self.parts["method"]

    @property
    def scores(self) -> dict[Part, float | None]:
        """The score of each part on what was held out; None where nothing was."""
        task = self.spec.resolved_task
        if task.learns_labels and not self.graph.test.any():
            return dict.fromkeys(self.parts)
        return {part: task.test_score(self.graph, self.users, each) for part, each in self.parts.items()}

    @property
    def answered(self) -> Nodes:
        """The nodes that answered any of the questions, ascending."""
        count = self.graph.node_count
        came = [asked_users(each.plan, count)[each.reports.places] for each in self.replayed]
        return np.unique(np.concatenate(came)) if came else np.empty(0, dtype=np.int64)

    @property
    def contributors(self) -> Nodes:
        """Whose reports or rows the result was learned from."""
        given = np.empty(0, dtype=np.int64) if self.volunteers is None else self.volunteers
        return np.union1d(self.answered, given)

    def privacy(self) -> Privacy:
        """Return what was asked and what it cost, by the public books."""
        asked = int(self.ledger.ever_asked.sum())
        silent = len(self.answered) < asked or any(
            each.reports.users < len(each.round.asked) for each in self.replayed
        )
        others = np.ones(self.graph.node_count, dtype=bool)
        others[np.empty(0, dtype=np.int64) if self.volunteers is None else self.volunteers] = False
        partial = bool((others & ~self.ledger.ever_asked).any())
        return privacy_record(
            self.ledger, silent=silent, partial=partial, volunteers=self.volunteers, devices=True
        )


def learn_collection(
    collection: Collection, spec: Experiment, terms: StudyTerms, progress: Progress | None = None
) -> StudyOutcome:
    """Run a method on a collection as far as it gets; a RoundOpenError says that people must answer first.

    All numbers are those of a single process that is given the same graph, the same reports and the same seed.

    Parameters
    ----------
    collection
        The collection.
    spec
        The method and its settings.
    terms
        The study, when its rounds expire, and whether published questions stand in for the method's own.
    progress
        Called with what is being done and how far it is.
    """
    check_collected(spec)
    given = _sides(collection, spec)
    prepared = prepare_unit(RunUnit(spec, given=given), progress)
    roster, count = collection.roster(), given[0].node_count
    ledger = _open_books(roster, count, collection.rounds())
    users = CollectedUsers(collection, ledger, terms, _asked_anyway(prepared))
    outcome = _run(prepared, users, keep_trained=True)
    parts: dict[Part, Outcome] = {"method": outcome}
    for part in _beside(spec, (prepared.graph, prepared.users)):
        blinded = BlindedUsers(users.replayed, count, spec.seed)
        beside = prepare_unit(RunUnit(spec, part, given=given), progress)
        parts[part] = _run(beside, PARTS[part].users(blinded))
    books = _open_books(roster, count, collection.rounds())
    for each in collection.rounds():
        charge_round(books, each.plan, each.asked)
    panel = prepared.graph.panel
    return StudyOutcome(
        spec,
        terms.study,
        prepared.graph,
        prepared.users,
        parts,
        users.replayed,
        ledger,
        books,
        int(roster.enrolled.sum()),
        None if panel is None else panel.users,
        _model(prepared, spec, outcome, users.replayed),
    )


def learned_alone(
    collection: Collection, learned: StudyOutcome, reports: Sequence[Reports] | None = None
) -> Outcome:
    """Run the method once more in this process, on the same reports; the outcome must be equal, bit for bit.

    Parameters
    ----------
    collection
        The collection.
    learned
        The outcome of the study.
    reports
        The answers to its questions in their order; None takes those of the collection.
    """
    prepared = prepare_unit(RunUnit(learned.spec, given=_sides(collection, learned.spec)))
    told = [each.reports for each in learned.replayed] if reports is None else reports
    return _run(prepared, Replay(list(told)))


def check_collected(spec: Experiment) -> None:
    """Refuse, before anything heavy is loaded, what cannot be learned from a collection."""
    spec.check()
    if spec.resolved_method.can.features == "raw":
        raise InputError(f"{spec.method} reads raw features, which no collection holds: take another method")
    if spec.budgets.private_links and entry(spec.budgets.link_mechanism).trust == "curator":
        raise InputError(
            f"{spec.budgets.link_mechanism} is a curator's mechanism, which takes everybody's links in the clear, and no device gives "
            "them: take --link-mechanism link-rr, dprr or blink, which people answer themselves"
        )
    if spec.budgets.private_links and not spec.resolved_task.learns_labels:
        raise InputError(
            "links are predicted where some are public to learn from and to score by, and with --link-epsilon none is: leave out "
            "--link-epsilon, or predict labels"
        )
    if spec.levels.level_distribution is not None:
        raise InputError("people of a collection choose their own level: leave out --level-distribution")
    if not spec.turnout.complete or spec.volunteers.panel is not None:
        raise InputError("people decide who answers and volunteers: leave out --participation and --panel")


def _sides(collection: Collection, spec: Experiment) -> tuple[Graph, Users]:
    """The public graph as experiments take one, and users who hold nothing but the labels that the server knows."""
    if spec.budgets.private_links and not collection.private_links:
        raise InputError(
            "the graph of this collection is public, so --link-epsilon has no meaning here: leave it out, or make a collection whose people "
            "are asked for their links (`graphveil collect init --private-links`)"
        )
    graph, labels, roster = collection.graph(), np.array(collection.labels), collection.roster()
    users = Users(None, labels, neighbours=(graph.indptr, graph.indices))
    nobody = np.zeros(graph.node_count, dtype=bool)
    recipe: SplitRecipe = graph.recipe or RandomSplit()
    if spec.budgets.private_labels:
        recipe = AskedLabels(tuple(roster.node[roster.enrolled].tolist()))
    divided = replace(
        graph,
        labels=np.full(labels.shape, UNKNOWN, dtype=np.int64),
        train=nobody,
        validation=nobody,
        test=nobody,
        recipe=recipe,
        panel=collection.panel(),
    )
    return divided, users


def _open_books(roster: Roster, users: int, rounds: Sequence[PublishedRound]) -> Ledger:
    """Public books with everybody's cap; of one that its owner renews, or whose owner was forgotten since, all that was asked may be spent."""
    everything = add_up(each.plan.claim for each in rounds)
    unknown = (roster.renewal > 0) | ~roster.enrolled
    levels = np.array([max(each or (0.0,)) for each in roster.by_level], dtype=np.float64)
    epsilon, delta = np.zeros(users), np.zeros(users)
    epsilon[roster.node] = roster.epsilon + levels + np.where(unknown, everything.epsilon, 0.0)
    delta[roster.node] = np.where(unknown, np.minimum(roster.delta + everything.delta, LARGEST), roster.delta)
    return Ledger(users, epsilon, delta)


def _asked_anyway(prepared: PreparedUnit) -> tuple[Plan, ...]:
    """Return the plans that the method asks whatever is answered.

    These are labels, links, norms, and its first question about features where that is known.
    """
    questions = prepared.job.questions
    first = questions.features[:1] if prepared.method.can.first_round_known else ()
    told = [plan for plan in (questions.labels, questions.links, questions.norms) if plan is not None]
    return (*told, *first)


def _beside(spec: Experiment, given: Given) -> Sequence[Part]:
    """Return the parts that the method is compared with."""
    if not spec.resolved_method.can.asks:
        return ()
    return [part for part in parts_of(spec, given) if part not in ("method", "edgeless")]


def _run(prepared: PreparedUnit, users: Respondents, *, keep_trained: bool = False) -> Outcome:
    import_module("graphveil.learn.backbones")
    with learn.one_thread():
        return prepared.method.run(replace(prepared.job, users=users, training=TrainingOptions(keep_trained)))


def _model(
    prepared: PreparedUnit, spec: Experiment, outcome: Outcome, replayed: Sequence[Replayed]
) -> Model | None:
    """Return the trained model, to be kept in a file; None where nothing trained applies to other users."""
    try:
        check_model(spec)
        check_saved(spec)
    except InputError:
        return None
    if outcome.trained is None:
        return None
    # The published question is what reports are read by, and what those who join are asked.
    answers = tuple(
        (each.round.plan.model_copy(update={"users": each.plan.users}), each.reports) for each in replayed
    )
    return Model(spec, spec.seed, outcome.trained, answers, known_before(prepared.job.graph), collected=True)
