"""Attribute inference: what a user's own report, and those of neighbours, tell about one attribute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from graphveil.attacks.game import (
    FITTING,
    Deal,
    Floats,
    MechanismAttack,
    Natural,
    Numbers,
    Reporting,
    Stakes,
    balanced,
    channel_logs,
    draw_reports,
    features_mechanism,
    likelier,
    named_values,
    naturals,
)
from graphveil.channels.channel import FiniteChannel
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.users import Users, draw_levels
from graphveil.mechanisms import (
    Estimate,
    FeatureMechanism,
    ItemMechanism,
    Mechanism,
    PersonalMechanism,
    Reports,
)
from graphveil.mechanisms.base import Subject
from graphveil.mechanisms.personal import strictest_budget
from graphveil.mechanisms.rows import Rows

# Steps of expectation and maximization that fit how common values are.
FITTING_STEPS = 50

# How likely planted bits are: a fair coin, or as common as values are by the reports.
Prior = Literal["fair", "fitted"]
PRIORS: tuple[Prior, ...] = ("fair", "fitted")
# No value counts as rarer than this.
RAREST = 1e-12
# An output that never comes about counts as so likely.
NEVER = 2.0**-80

# Votes of so many attributes are counted at a time.
BLOCK = 64

Votes = NDArray[np.int32]


@dataclass(frozen=True)
class AttributeAttack(MechanismAttack):
    """A bit is planted in one attribute of every user, and guessed from that user's report by Bayes.

    The attribute is one that the report answers, any of them equally likely. Which ones it answers is drawn without regard to values, so
    that is no more than leaving out users whose report is silent about the attribute, of which there would be nearly all where
    one of a thousand values is asked. The bit is the lower or the upper end of the public range. The attacker knows the
    attribute, everything else in the row, and how reports are made. Where users choose a privacy level, everybody has the strictest.
    The coin is fair, or as likely to show the upper end as values of all attributes are to be in the upper half of the range, which is fitted to
    other reports of the same users: then Bayes weighs what the channel says against that prior, and the bound is that of the prior.

    Bayes is exact for mechanisms that answer values one by one and for `item`. Of any other the attacker takes what the report decodes
    to, and guesses the nearer end.
    """

    name: ClassVar[str] = "attribute"
    summary: ClassVar[str] = "one value of a user, from the own report and from those of neighbours"
    subjects: ClassVar[tuple[Subject, ...]] = ("features",)
    mechanism: ClassVar[str] = "multibit"
    unit: ClassVar[str] = "one attribute of one user, at the budget of the whole report"
    game: ClassVar[str] = (
        "in every row one attribute that its report answers is set to the lower or the upper end of the range by a coin; the "
        "attacker sees the report and knows the rest of the row; in the control reports are blind"
    )
    prior: Prior = "fair"

    def build(self, name: str, epsilon: float, graph: Graph, seed: int, options: dict[str, Any]) -> Mechanism:
        """Build a mechanism that reports features.

        Parameters
        ----------
        name, epsilon, graph, seed, options
            As in `MechanismAttack.build`.
        """
        return features_mechanism(name, epsilon, graph, options)

    def deal(self, target: Reporting, seed: int, dice: np.random.Generator) -> Deal:
        """Plant a bit in one attribute of every user.

        Parameters
        ----------
        target, seed, dice
            As in `Attack.deal`.
        """
        mechanism, graph, pair = target.mechanism, target.graph, target.pair
        rows, users = target.users.raw.rows(), len(target.users)
        strictest = np.ones(users, dtype=np.int64) if mechanism.budgets else None
        # The same words again below: the same attributes are answered, and all else is drawn for the planted rows.
        targets = _answered_places(mechanism, draw_reports(mechanism, rows, seed, levels=strictest), dice)
        upper = 0.5 if self.prior == "fair" else _fitted_upper(target, strictest, seed)
        bits = dice.random(users) < upper
        ends = np.where(bits, graph.feature_range.high, graph.feature_range.low)
        planted = _with_values(rows, targets, ends, mechanism.shape.dimensions)

        def guess(control: bool) -> NDArray[np.bool_]:
            reports = draw_reports(pair[control], planted, seed, levels=strictest)
            ratios = report_ratios(mechanism, reports, targets, planted, strictest, graph)
            return likelier(ratios + np.log(upper / (1 - upper)), dice)

        prior = None if self.prior == "fair" else (1 - upper, upper)
        stakes = Stakes(2, strictest_budget(mechanism), mechanism.claim.delta, prior)
        return Deal(stakes, bits, guess, lambda: _natural(target, seed, dice))


def _natural(target: Reporting, seed: int, dice: np.random.Generator) -> dict[str, Natural]:
    """Real values: what neighbours' reports tell, and what one's own does."""
    mechanism, graph, users = target.mechanism, target.graph, target.users
    rows, levels = users.raw.rows(), _levels(mechanism, users, seed)
    real, control = (draw_reports(each, rows, seed, levels=levels) for each in target.pair)
    votes, first = (
        [attribute_inference(graph, users, each, own=own).balanced for each in (real, control)]
        for own in (False, True)
    )
    found = {
        "vote of neighbours, as printed": (votes[0], votes[1]),
        "own report, where it says nothing neighbours": (first[0], first[1]),
    }
    answers = [_answers(mechanism, each, levels) for each in (real, control)]
    own = [_own_guesses(target, each, dice) for each in answers if each is not None]
    if own:
        found["own report, Bayes"] = (own[0], own[1])
    return naturals(found)


def _fitted_upper(target: Reporting, levels: Numbers | None, seed: int) -> float:
    """Estimate the share of values in the upper half of the range, by reports that serve only this."""
    reports = draw_reports(target.mechanism, target.users.raw.rows(), seed, FITTING, levels)
    answers = _answers(target.mechanism, reports, levels)
    if answers is None:
        low, high = astuple(target.graph.feature_range)
        share = (float(reports.estimate().dense().mean()) - low) / (high - low)
    else:
        share = 0.0
        for number, channel in enumerate(answers.channels):
            codes = answers.codes[answers.numbers == number]
            shares = _input_shares(channel, codes)
            share += float(shares[channel.inputs > 0].sum()) * len(codes) / len(answers.codes)
    return float(np.clip(share, RAREST, 1 - RAREST))


def _levels(mechanism: Mechanism, users: Users, seed: int) -> Numbers | None:
    """Everybody's level, where reports depend on one: the own, or any equally likely."""
    if not mechanism.budgets:
        return None
    own = users.raw.levels
    return draw_levels(len(users), len(mechanism.budgets), seed=seed) if own is None else own


def _with_values(rows: Any, places: Numbers, values: Floats, dimensions: int) -> Any:
    """The rows with one value of each replaced; sparse ones stay sparse."""
    everybody = np.arange(len(places))
    if not hasattr(rows, "tocsr"):
        changed = np.array(rows, dtype=np.float64)
        changed[everybody, places] = values
        return changed
    held = Rows(rows, dimensions).take(places[:, None].astype(np.int32))
    more = values - np.asarray(held)[:, 0]
    return rows + type(rows)((more, (everybody, places)), shape=rows.shape)


@dataclass(frozen=True)
class _Answers:
    """Answers to single values: whose, about which attribute, with which code, through which channel (by number)."""

    users: Numbers
    dims: Numbers
    codes: Numbers
    numbers: Numbers
    channels: list[FiniteChannel]


def _answers(mechanism: Mechanism, reports: Reports, levels: Numbers | None) -> _Answers | None:
    """Return the single answers of reports; None where values are not answered one by one."""
    if isinstance(mechanism, FeatureMechanism):
        users = np.repeat(np.arange(reports.users), mechanism.sampled)
        dims = np.tile(np.arange(mechanism.sampled), reports.users)
        dims = dims if reports.dims is None else reports.dims.astype(np.int64)
        distinct = list(dict.fromkeys(mechanism.channels))
        number = np.array([distinct.index(channel) for channel in mechanism.channels])
        numbers = np.resize(number, mechanism.size)[dims]
        return _Answers(users, dims, reports.codes.astype(np.int64), numbers, distinct)
    if not isinstance(mechanism, PersonalMechanism) or levels is None:
        return None
    codes = reports.codes.reshape(reports.users, mechanism.shape.length).astype(np.int64)
    users, slots = np.nonzero(codes[:, :-1] != mechanism.blank)
    dims = named_values(mechanism, reports)[users, slots].astype(np.int64)
    distinct = list(dict.fromkeys(way.channel for row in mechanism.ways for way in row))
    first = np.array([[way.first for way in row] for row in mechanism.ways])
    number = np.array([[distinct.index(way.channel) for way in row] for row in mechanism.ways])
    way = levels[users] - 1, codes[users, -1]
    return _Answers(users, dims, codes[users, slots] - first[way], number[way], distinct)


def _answered_places(mechanism: Mechanism, reports: Reports, dice: np.random.Generator) -> Numbers:
    """One attribute of each user that the report answers; any at all, where it does not say which."""
    count = reports.users
    if isinstance(mechanism, PersonalMechanism):
        codes = reports.codes.reshape(count, mechanism.shape.length)[:, :-1]
        order = dice.random(codes.shape) + (codes == mechanism.blank)
        first = named_values(mechanism, reports)[np.arange(count), order.argmin(axis=1)]
        return np.asarray(first, dtype=np.int64)
    if reports.dims is None:
        return dice.integers(0, mechanism.shape.dimensions, count)
    named = reports.dims.reshape(count, -1).astype(np.int64)
    return np.asarray(named[np.arange(count), dice.integers(0, named.shape[1], count)])


def report_ratios(
    mechanism: Mechanism, reports: Reports, targets: Numbers, rows: Any, levels: Numbers | None, graph: Graph
) -> Floats:
    """Return log P[report | upper end]/P[report | lower end] of each user's attribute, given the other ones.

    Parameters
    ----------
    reports
        One report a user.
    targets
        The attacked attribute of each user: (users,) int64.
    rows
        The users' rows: (users, features).
    levels
        The users' privacy levels, where they have some.
    """
    if isinstance(mechanism, ItemMechanism):
        return item_ratios(mechanism, reports, targets, rows)
    answers = _answers(mechanism, reports, levels)
    if answers is None:
        decoded = reports.estimate().dense()[np.arange(len(targets)), targets]
        # As if noise were normal: which end is nearer is decided by the sign, and a prior is weighed against the size.
        public, variance = graph.feature_range, max(float(decoded.var()), RAREST)
        return np.asarray((decoded - public.centre) * (public.high - public.low) / variance)
    about = answers.dims == targets[answers.users]
    ratios = np.zeros(len(targets))
    for number, channel in enumerate(answers.channels):
        mine = about & (answers.numbers == number)
        # The lower end of a range is always the first input of a channel, and the upper one the last.
        ratios[answers.users[mine]] = (channel_logs(channel, NEVER)[-1] - channel_logs(channel, NEVER)[0])[
            answers.codes[mine]
        ]
    return ratios


def item_ratios(mechanism: ItemMechanism, reports: Reports, targets: Numbers, rows: Any) -> Floats:
    """Return the log ratio of reports of one item, with and without the target among a user's items.

    Parameters
    ----------
    targets
        The attacked item of each user: (users,) int64.
    rows
        The users' rows: (users, features).
    """
    owners, items = Rows(rows, mechanism.size).nonzero()
    others = items != targets[owners]
    count = np.bincount(owners[others], minlength=len(targets))
    codes, length = reports.codes.astype(np.int64), mechanism.length
    among = np.zeros(len(targets), dtype=bool)
    among[owners[others & (items == codes[owners])]] = True

    def drawn(has: bool) -> Floats:
        held = count + has
        item = (among | (has & (codes == targets))) / np.maximum(held, length)
        blank = codes - mechanism.size
        return np.where(codes < mechanism.size, item, ((blank >= held) & (blank < length)) / length)

    other, surplus = mechanism.channel.other, mechanism.channel.surplus
    return np.asarray(np.log(other + surplus * drawn(True)) - np.log(other + surplus * drawn(False)))


def _own_guesses(target: Reporting, answers: _Answers, dice: np.random.Generator) -> float | None:
    """Return the score of Bayes guesses of the side of the middle that answered values are on.

    They are made from each user's own reports. How common values are is fitted to the reports.
    """
    users = target.users
    ratios = np.zeros(len(answers.codes))
    for number, channel in enumerate(answers.channels):
        mine = answers.numbers == number
        ratios[mine] = _side_ratios(channel, answers.codes[mine])[answers.codes[mine]]
    guessed = likelier(ratios, dice)
    values = Rows(users.raw.rows(), target.mechanism.shape.dimensions)
    # As many values a row as the longest report answers: looked up all at once.
    lengths = np.bincount(answers.users, minlength=len(users))
    slots = np.arange(len(answers.users)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    asked = np.zeros((len(users), int(lengths.max())), dtype=np.int32)
    asked[answers.users, slots] = answers.dims
    truth = values.take(asked)[answers.users, slots] > target.graph.feature_range.centre
    return balanced(guessed, truth)


def _side_ratios(channel: FiniteChannel, codes: Numbers) -> Floats:
    """For each code log P[code | above the middle]/P[code | below], where values are as common as the codes tell."""
    table, shares = np.exp(channel_logs(channel, NEVER)), _input_shares(channel, codes)
    above = channel.inputs > 0
    sides = [(shares[side] + 1e-12) @ table[side] / (shares[side] + 1e-12).sum() for side in (above, ~above)]
    return np.asarray(np.log(sides[0]) - np.log(sides[1]))


def _input_shares(channel: FiniteChannel, codes: Numbers) -> Floats:
    return fitted_shares(
        np.exp(channel_logs(channel, NEVER)), np.bincount(codes, minlength=channel.output_count)
    )


def fitted_shares(table: Floats, counts: NDArray[Any]) -> Floats:
    """Estimate the share of each input of a table from counts of its outputs, by expectation-maximization.

    All shares are equal where nothing was counted.

    >>> fitted_shares(np.eye(2), np.array([3, 1])).tolist()
    [0.75, 0.25]
    """
    shares = np.full(len(table), 1 / len(table))
    if not counts.any():
        return shares
    seen = counts / counts.sum()
    for _ in range(FITTING_STEPS):
        expected = np.maximum(shares @ table, 1e-300)
        shares = shares * (table @ (seen / expected))
    return np.asarray(shares / shares.sum())


@dataclass(frozen=True)
class AttackResult:
    """The success of an attacker who guesses whether attributes are above the middle of the public range.

    Parameters
    ----------
    accuracy
        The share of right guesses, over all users and attributes.
    balanced
        The mean of both values' hit rates, averaged over the attributes that have both values: 0.5 for an
        attacker who knows nothing about a single user, however rare a value is; None where no attribute has
        both.
    commonest
        The accuracy of always guessing each attribute's commonest value, which needs no report.
    heard
        The share of guesses that rest on a vote; the others are "below".
    """

    accuracy: float
    balanced: float | None
    commonest: float
    heard: float


def attribute_inference(
    graph: Graph,
    users: Users,
    reports: Reports | Estimate | Sequence[Reports | Estimate] | None,
    attributes: Any = None,
    *,
    own: bool = False,
) -> AttackResult:
    """Return how well a vote of the neighbours' reports guesses everybody's attributes (all of them unless some are named).

    A reported value above the middle of the public range is a vote for "above", one below it for "below"; what was not reported
    is no vote, and a tie is guessed as "below". Several rounds of reports all vote. Guesses come from reports and links alone;
    only what counts them reads what is private. Source: TOGL, App. D.5, "Empirical resistance to inference attacks".

    Parameters
    ----------
    reports
        What the attacker saw, one round or several, as sent or decoded; None is no privacy: everybody's raw row is seen.
    own
        Whether the attacker sees the target's own report as well: where it says something, it decides, and `guess_bound` holds
        for it; elsewhere neighbours vote.
    """
    chosen, truth = _chosen_attributes(attributes, graph), _raw_votes(users.raw.rows(), graph)
    rounds = [reports] if isinstance(reports, Reports | Estimate) else reports
    seen = [truth]
    if rounds is not None:
        estimates = [one.estimate() if isinstance(one, Reports) else one for one in rounds]
        if not estimates or any(one.shape[0] != graph.node_count for one in estimates):
            raise InputError(f"reports must be those of all {graph.node_count} users, one round at least")
        seen = [_report_votes(one, graph) for one in estimates]
    adjacency, counts = _adjacency(graph), []
    for start in range(0, len(chosen), BLOCK):
        block = chosen[start : start + BLOCK]
        cast = np.sum([votes(block) for votes in seen], axis=0, dtype=np.int32)
        said = adjacency @ cast
        if own:
            said = np.where(cast != 0, cast, said)
        guessed, above = said > 0, truth(block) > 0
        counted = (guessed & above, ~guessed & ~above, above, said != 0)
        counts.append(np.stack([each.sum(axis=0) for each in counted]))
    hits, rejections, above, heard = np.concatenate(counts, axis=1)
    below, whole = graph.node_count - above, graph.node_count * len(chosen)
    both = (above > 0) & (below > 0)
    rates = (hits[both] / above[both] + rejections[both] / below[both]) / 2
    return AttackResult(
        int(hits.sum() + rejections.sum()) / whole,
        float(rates.mean()) if rates.size else None,
        int(np.maximum(above, below).sum()) / whole,
        int(heard.sum()) / whole,
    )


def _report_votes(estimate: Estimate, graph: Graph) -> Callable[[Numbers], Votes]:
    """Return reports as votes: +1 above the middle of the public range, -1 below, 0 where nothing was reported."""
    matrix = estimate.to_scipy().copy()
    matrix.data = np.sign(matrix.data + (estimate.offset - graph.feature_range.centre))
    columns = matrix.tocsc()
    return lambda attributes: columns[:, attributes].toarray().astype(np.int32)


def _raw_votes(rows: Any, graph: Graph) -> Callable[[Numbers], Votes]:
    """Return raw rows as votes: everybody says the truth about every attribute."""
    middle, sparse = graph.feature_range.centre, hasattr(rows, "tocsc")
    columns: Any = rows.tocsc() if sparse else np.asarray(rows)

    def votes(attributes: Numbers) -> Votes:
        values = columns[:, attributes]
        return np.where((values.toarray() if sparse else values) > middle, 1, -1).astype(np.int32)

    return votes


def _adjacency(graph: Graph) -> Any:
    from scipy.sparse import csr_array

    ones = np.ones(len(graph.indices), dtype=np.int32)
    return csr_array((ones, graph.indices, graph.indptr), shape=(graph.node_count, graph.node_count))


def _chosen_attributes(attributes: Any, graph: Graph) -> Numbers:
    _ = graph.feature_range
    chosen = np.atleast_1d(np.asarray(np.arange(graph.feature_count) if attributes is None else attributes))
    if chosen.ndim != 1 or not chosen.size or chosen.dtype.kind not in "iu":
        raise InputError(f"attributes must be one integer or several, got {attributes!r}")
    least, most = int(chosen.min()), int(chosen.max())
    if not 0 <= least <= most < graph.feature_count:
        raise InputError(f"attributes must lie in 0..{graph.feature_count - 1}, got {least}..{most}")
    return chosen.astype(np.int64)
