"""Malicious users: how far a share of them can move an estimate, exactly, and a prediction, measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.channels.words import SeededWords
from graphveil.checks import check_number, check_whole
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import Ready, make_ready
from graphveil.graphs import Graph
from graphveil.mechanisms import FeatureMechanism, Mechanism
from graphveil.mechanisms.base import Subject
from graphveil.mechanisms.classes import ClassMechanism
from graphveil.mechanisms.labels import LabelMechanism
from graphveil.mechanisms.privunit import CODE_STEP, CODES, MIDDLE, PrivUnitMechanism
from graphveil.mechanisms.reports import Reports, even_pointers
from graphveil.privacy import Plan, Respondents

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]
# The stream of a run's seed from which they draw where they answer for a row that is not theirs.
FORGED_STREAM = 22


class ForgingUsers:
    """Users as they are, but for malicious ones, whose reports are replaced by the worst that a server takes.

    ``direction`` says of every value how much more of it users of the target class have. `forged` is False where a mechanism's codes
    could not be chosen: then liars answer for the row that speaks most for the target, by the mechanism itself. With ``careless``
    they want nothing, and send what says nothing: blinded reports.
    """

    def __init__(
        self,
        users: Respondents,
        malicious: Truths,
        target: int,
        direction: Floats,
        seed: int,
        *,
        careless: bool = False,
    ) -> None:
        self._users, self._malicious, self._target, self._direction = users, malicious, target, direction
        self._words, self._careless = SeededWords(seed, FORGED_STREAM), careless
        self._random = np.random.default_rng([seed, FORGED_STREAM])
        self.forged = True

    def report(self, plan: Plan) -> Reports:
        """Honest reports, with those of malicious users replaced; all have the form that a server checks."""
        reports = self._users.report(plan)
        asked = (
            np.arange(len(self._malicious)) if plan.users == "all" else np.array(plan.users, dtype=np.int64)
        )
        liars = np.flatnonzero(self._malicious[asked[reports.places]])
        if not liars.size:
            return reports
        forged = self._forge(plan, reports, liars)
        forged.check()
        return forged

    def _forge(self, plan: Plan, reports: Reports, liars: NDArray[np.int64]) -> Reports:
        built = reports.mechanism
        if self._careless:
            return self._careless_reports(plan, reports, liars)
        if isinstance(built, ClassMechanism):
            lists = np.broadcast_to(built.lists.array, (reports.asked, built.places_open))[
                reports.places[liars]
            ]
            # Where the target is not open, the last place: what the graph thinks the least likely.
            named = (lists == self._target).argmax(axis=1)
            places = np.where((lists == self._target).any(axis=1), named, built.places_open - 1)
            return _with_codes(reports, liars, places[:, None])
        if isinstance(built, LabelMechanism):
            return _with_codes(reports, liars, np.full((len(liars), 1), self._target))
        # The target class is made out to have the longest rows.
        direction = np.ones(1) if plan.of == "norm" else self._direction
        if type(built) is FeatureMechanism:
            return self._worst_codes(built, reports, liars, direction)
        if type(built) is PrivUnitMechanism:
            return _with_codes(
                reports, liars, np.broadcast_to(longest_codes(built, direction), (len(liars), built.size))
            )
        self.forged = False
        return self._false_rows(plan, reports, liars)

    def _careless_reports(self, plan: Plan, reports: Reports, liars: NDArray[np.int64]) -> Reports:
        """What says nothing: any class, or what the blinded mechanism draws."""
        built = reports.mechanism
        if isinstance(built, (ClassMechanism, LabelMechanism)):
            return _with_codes(reports, liars, self._random.integers(0, built.alphabet, (len(liars), 1)))
        return self._false_rows(plan, reports, liars, blind=True)

    def _worst_codes(
        self,
        built: FeatureMechanism,
        reports: Reports,
        liars: NDArray[np.int64],
        direction: Floats,
    ) -> Reports:
        """The code of the largest value where the target class has more, of the smallest where it has less.

        Where reports name their values and all are asked alike, liars name those in which the target class differs most.
        """
        length = built.report_length
        most = np.sort(np.argsort(-np.abs(direction), kind="stable")[:length])
        dims = np.broadcast_to(most, (len(liars), length))
        if reports.dims is None:
            dims = np.broadcast_to(np.arange(length), (len(liars), length))
        elif not built.asking.even:
            at = reports.indptr[liars][:, None] + np.arange(length)
            dims = reports.dims[at]
        ends = np.array([[each.outputs.argmin(), each.outputs.argmax()] for each in built.channels])
        channel = dims if len(built.channels) > 1 else np.zeros_like(dims)
        codes = ends[channel, (direction[dims] > 0).astype(np.int64)]
        forged = _with_codes(reports, liars, codes)
        if reports.dims is None:
            return forged
        named = reports.dims.copy()
        named[reports.indptr[liars][:, None] + np.arange(length)] = dims
        return replace(forged, dims=named)

    def _false_rows(
        self, plan: Plan, reports: Reports, liars: NDArray[np.int64], *, blind: bool = False
    ) -> Reports:
        """What the mechanism itself, or its blinded twin, makes of the row that speaks most for the target class."""
        assert plan.range is not None
        low, high = plan.range
        row = np.where(self._direction > 0, high, low)
        if plan.of == "norm":
            row = np.array([high])
        drawing = reports.mechanism.blind() if blind else reports.mechanism
        drawn = drawing.randomize(np.broadcast_to(row, (len(liars), len(row))), self._words)
        length = reports.mechanism.report_length
        at = reports.indptr[liars][:, None] + np.arange(length)
        codes = reports.codes.copy()
        codes[at] = drawn.codes.reshape(len(liars), length)
        if reports.dims is None or drawn.dims is None:
            return replace(reports, codes=codes)
        dims = reports.dims.copy()
        dims[at] = drawn.dims.reshape(len(liars), length)
        return replace(reports, codes=codes, dims=dims)


def longest_codes(built: PrivUnitMechanism, direction: Floats) -> NDArray[np.int64]:
    """The codes of the longest report along a direction of rows that a server takes: all of it signal, none of it noise."""
    sketch = built.sketch
    own = direction
    if sketch is not None and sketch.size < sketch.inputs:
        own = np.bincount(sketch.places, direction * sketch.signs, sketch.size).astype(np.float64)
    length = float(np.linalg.norm(own))
    unit = own / length if length > 0 else np.full(built.size, built.size**-0.5)
    # Rounded towards the middle, so that no code leaves the alphabet and the whole is not too long.
    steps = np.trunc(unit * built.longest / CODE_STEP)
    return np.clip(steps, -MIDDLE, CODES - 1 - MIDDLE).astype(np.int64) + MIDDLE


def _with_codes(reports: Reports, liars: NDArray[np.int64], chosen: NDArray[np.int64]) -> Reports:
    codes = reports.codes.copy()
    codes[reports.indptr[liars][:, None] + np.arange(chosen.shape[1])] = chosen
    return replace(reports, codes=codes)


# The stream of a run's seed by which malicious users are drawn.
STREAM = 21
Tell = Callable[[str, float], None]


@dataclass(frozen=True)
class Influence:
    """What one report can do to an estimate: the most that it adds to one value, in widths of what that value can be.

    Estimates start at the least that the value can be; where they are ``unbiased``, an honest report adds 0 to 1 on average, and else what is
    counted is the most that changing one report changes. A report says something of ``values`` of ``dims`` of them.
    """

    subject: Subject
    mechanism: str
    epsilon: float
    most: float
    values: int
    dims: int
    unbiased: bool

    def moved(self, share: float) -> float:
        """The most by which a share of users moves the mean of one value, on average over everybody's noise, in widths."""
        return share * self.most


@dataclass(frozen=True)
class Harm:
    """What malicious users brought about, as means over runs.

    ``score`` is the method's on test users, ``drawn_in`` the share of honest test users of other classes who are taken for the target class.
    """

    score: float
    drawn_in: float


@dataclass(frozen=True)
class Poisoned(Harm):
    """A share of malicious users, drawn at random, who all push the target class; and what others of the same number would do.

    Those of ``careless`` are drawn at random and send what says nothing. Those of ``placed`` push the target class too, and are the users whose
    reports weigh most in the means of their neighbours.
    """

    share: float
    malicious: int
    careless: Harm
    placed: Harm


@dataclass(frozen=True)
class PoisoningAdvice:
    """All shares that were looked at, the first of them 0."""

    data: str
    method: str
    metric: str
    target: int
    runs: int
    forged: bool
    influences: tuple[Influence, ...]
    lines: tuple[Poisoned, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it, with the bound of every share."""
        whole = asdict(self)
        for line, told in zip(self.lines, whole["lines"], strict=True):
            told["moved"] = [each.moved(line.share) for each in self.influences]
        return whole


def influence_of(plan: Plan) -> Influence:
    """The influence of one report, from the mechanism's alphabet: exact.

    >>> told = influence_of(Plan(mechanism="multibit", epsilon=1.0, dims=10, range=(0, 1), sampled=1))
    >>> round(told.most, 2), told.values
    (11.32, 1)
    """
    built = plan.build()
    label = built.label if isinstance(built, ClassMechanism) else built
    if isinstance(label, LabelMechanism):
        decoded = _decoded(label)
        most = float(decoded.max() - (0.0 if label.unbiased else decoded.min()))
    elif plan.subject == "features" and plan.range is not None:
        # An estimate is a constant, the middle of the range, and what reports add to it, up to so many widths either way.
        reach = _reach(built, plan.range[1] - plan.range[0])
        most = reach + (0.5 if built.unbiased else reach)
    else:
        raise InputError(f"what a report about {plan.subject} adds to an estimate has no bound of this kind")
    values = built.report_length if built.names_dimensions else built.dimensions
    return Influence(
        plan.subject, plan.mechanism, plan.claim.epsilon, most, values, built.dimensions, label.unbiased
    )


def _reach(built: Mechanism, width: float) -> float:
    """How far the estimate of one report lies from the middle at most, in widths of what a value can be."""
    if not isinstance(built, PrivUnitMechanism):
        return built.largest / width
    # A number of a sketch lies between -1 and 1.
    return min(built.largest, built.reach) / (width if built.sketch is None else 2.0)


def _decoded(mechanism: Mechanism) -> Floats:
    """What every possible report of one code is decoded to."""
    codes = np.arange(mechanism.alphabet)
    kind = mechanism.randomize(np.zeros(1, dtype=np.int64)).codes.dtype
    return mechanism.estimate(
        Reports(mechanism, even_pointers(len(codes), 1), None, codes.astype(kind))
    ).dense()


def advise_poisoning(
    spec: Experiment, shares: Sequence[float], target: int | None = None, tell: Tell | None = None
) -> PoisoningAdvice:
    """Run a method with no malicious users and with each share of them; they want others taken for the target class.

    They know what rows of every class look like on average, and all say the same. Where codes can be chosen they send those that speak most for
    the target class; else they answer as a row would that does. The target is the rarest class where none is named. Beside them stand
    as many who send what says nothing, and as many who push and are placed where they weigh most.
    """
    _check(spec, shares)
    all_shares = (0.0, *(each for each in shares if each))
    lines: dict[float, list[Poisoned]] = {share: [] for share in all_shares}
    first = make_ready(spec, "method", 0, None, None)
    # What cannot be measured is refused before anything is learned.
    chosen, influences, forged = _target(first, target), _influences(first), True
    import_module("graphveil.learn.registry")
    for run in range(spec.runs):
        for place, share in enumerate(all_shares):
            if tell is not None:
                done = (run * len(all_shares) + place) / (spec.runs * len(all_shares))
                tell(f"run {run + 1}, {share:.0%} malicious", done)
            line, all_forged = _poisoned(spec, run, share, chosen)
            lines[share].append(line)
            forged &= all_forged
    return PoisoningAdvice(
        spec.data,
        spec.method,
        first.graph.metric,
        chosen,
        spec.runs,
        forged,
        influences,
        tuple(_mean(each) for each in lines.values()),
    )


def _check(spec: Experiment, shares: Sequence[float]) -> None:
    spec.check()
    for share in shares:
        check_number(share, "share", least=0, below=1)
    if not any(shares):
        raise InputError("share must name at least one share of malicious users above 0, like 0.05")
    if not spec.resolved_method.reports_features:
        raise InputError(
            f"{spec.method} asks nobody about features, so nobody can lie to it: take another method"
        )
    if not spec.resolved_task.learns_labels or spec.has_levels or spec.budgets.private_links:
        raise InputError(
            "malicious users are measured where classes are predicted from features, without levels and private links: take the task node"
        )


def _target(ready: Ready, target: int | None) -> int:
    labels, count = ready.users.raw.labels, ready.graph.class_count
    if labels.ndim == 2 or count < 2:
        raise InputError("malicious users are measured where a user has one class of at least two")
    if target is not None:
        return check_whole(target, "target", least=0, most=count - 1)
    return int(np.bincount(labels[labels >= 0], minlength=count).argmin())


def _influences(ready: Ready) -> tuple[Influence, ...]:
    """What one report can do, for every question."""
    questions = ready.job.questions
    labels = () if questions.labels is None else (questions.labels,)
    asked = (*questions.features, *questions.classes, *labels)
    return tuple(dict.fromkeys(influence_of(plan) for plan in asked))


def _poisoned(spec: Experiment, run: int, share: float, target: int) -> tuple[Poisoned, bool]:
    """One run with each kind of malicious users among those who answer, and whether all that was sent was forged."""
    ready = make_ready(spec, "method", run, None, None)
    count = round(share * ready.graph.node_count)
    drawn = np.random.default_rng([ready.job.seed, STREAM]).permutation(ready.graph.node_count)[:count]
    harm, forged = _harm(ready, drawn, target)
    careless = placed = harm
    if count:
        # Users answer on a ledger, so whoever asks them again needs users anew.
        careless, _ = _harm(make_ready(spec, "method", run, None, None), drawn, target, careless=True)
        heavy = np.argsort(-weights_in_means(ready.graph), kind="stable")[:count]
        placed, _ = _harm(make_ready(spec, "method", run, None, None), heavy, target)
    return Poisoned(harm.score, harm.drawn_in, share, count, careless, placed), forged


def _harm(
    ready: Ready, liars: NDArray[np.int64], target: int, *, careless: bool = False
) -> tuple[Harm, bool]:
    """What these users bring about, and whether all that they sent was forged."""
    labels, graph = ready.users.raw.labels, ready.graph
    malicious: Truths = np.zeros(graph.node_count, dtype=bool)
    malicious[liars] = True
    users = ForgingUsers(
        ready.job.users, malicious, target, _direction(ready, target), ready.job.seed, careless=careless
    )
    with learn.one_thread():
        outcome = ready.method.run(replace(ready.job, users=users))
    score = ready.users.evaluate(outcome.scores, graph)
    assert outcome.scores is not None
    others = graph.test & ~malicious & (labels != target)
    drawn_in = (outcome.scores.argmax(axis=1) == target)[others]
    return Harm(score, float(drawn_in.mean()) if drawn_in.size else 0.0), users.forged


def weights_in_means(graph: Graph) -> Floats:
    """How much each user weighs in the means over their neighbours' neighbourhoods: Σ 1/degree over the own neighbours; public.

    >>> from graphveil.graphs import from_arrays
    >>> weights_in_means(from_arrays(np.array([[0, 1], [0, 2]]), None, None)[0]).tolist()
    [2.0, 0.5, 0.5]
    """
    degrees = np.diff(graph.indptr)
    owners = np.repeat(np.arange(graph.node_count), degrees)
    return np.bincount(owners, 1.0 / degrees[graph.indices], graph.node_count).astype(np.float64)


def _direction(ready: Ready, target: int) -> Floats:
    """How much more of every value users of the target class have than others, on average."""
    rows, labels = ready.users.raw.rows(), ready.users.raw.labels
    of_target = labels == target
    apart = np.asarray(rows[of_target].mean(axis=0)) - np.asarray(rows[~of_target].mean(axis=0))
    return np.asarray(apart, dtype=np.float64).ravel()


def _mean(lines: Sequence[Poisoned]) -> Poisoned:
    whole = _mean_harm(lines)
    return replace(
        lines[0],
        score=whole.score,
        drawn_in=whole.drawn_in,
        careless=_mean_harm([each.careless for each in lines]),
        placed=_mean_harm([each.placed for each in lines]),
    )


def _mean_harm(harms: Sequence[Harm]) -> Harm:
    return Harm(
        float(np.mean([each.score for each in harms])), float(np.mean([each.drawn_in for each in harms]))
    )
