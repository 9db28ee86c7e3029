"""Whole reports, enumerated: how likely each one is under each of some private inputs, as integers; whole graphs for links.

Does the sampler draw that? Whole reports of a small version are drawn through the client's own path and compared with exact probabilities.
Every comparison is Chernoff's bound (`lower_bound.log_tail`); all of them hold together with 99.9% (Bonferroni: each has 0.1% over their
number). What falls outside is drawn again, with fresh randomness, and counts only if it falls outside again: a correct mechanism fails with a probability
of at most one in a million.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import combinations
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.candidate import Candidate, compared_pairs, has_levels, overridden, reshaped
from graphveil.audit.findings import BrokenError, Leak, Rank, Step, Title, power, show
from graphveil.audit.lower_bound import (
    ERROR,
    FEWER,
    OFTEN,
    LowerBound,
    best_bound,
    confirmed_bound,
    log_tail,
    most_separated,
)
from graphveil.audit.reports import (
    Floats,
    Numbers,
    Version,
    batch,
    checked_reports,
    distinct,
    report_matrix,
    symbols_of,
)
from graphveil.channels.exact import Loss, Worst, exp_below
from graphveil.channels.sampling import RandomBits
from graphveil.errors import GraphveilError, InputError
from graphveil.mechanisms.base import Enumerable, Mechanism
from graphveil.mechanisms.labels import SymbolMechanism
from graphveil.mechanisms.lapgraph import PublishedGraph
from graphveil.mechanisms.links import LinkMechanism
from graphveil.mechanisms.reports import Reports

# Users a block of draws, and entries of the table that finds a report's place.
# A prime, so that no block of a mechanism's own ends where ours does and hides its last users.
DRAW_BLOCK, MAX_LOOKUP = 65_521, 1 << 24
# Logarithms of shares are off by less than this; what is closer is compared in integers.
NEAR = 1e-12
# Integers of so many bits fit into a float.
FLOAT_BITS = 1000
_log = np.frompyfunc(lambda count: math.log(count) if count else -math.inf, 1, 1)


@dataclass(frozen=True, eq=False)
class JointDistribution:
    """A small mechanism with the exact distribution of its whole reports under each input."""

    mechanism: Enumerable
    inputs: list[Any]
    counts: list[NDArray[np.object_]]
    total: int

    @classmethod
    def of(cls, mechanism: Mechanism) -> JointDistribution:
        """Enumerate the mechanism; an InputError where that is not possible."""
        if reshaped(mechanism) and not overridden(mechanism, "joint_counts"):
            raise InputError(
                f"{mechanism.name} inherits an enumeration that is of other answers than its own"
            )
        if not isinstance(mechanism, Enumerable):
            raise InputError(f"the reports of {mechanism.name} cannot be enumerated")
        mechanism.possible_reports()
        inputs = [] if overridden(mechanism, "extremes") else distinct(mechanism.extremes())
        enumerated = [mechanism.joint_counts(private) for private in inputs]
        for private in between(mechanism, inputs):
            try:
                enumerated.append(mechanism.joint_counts(private))
            except InputError:
                continue  # between two input symbols: its reports are not enumerated
            inputs.append(private)
        if not inputs:
            raise InputError(f"the reports of {mechanism.name} are not enumerated for any input")
        for private, (counts, total) in zip(inputs, enumerated, strict=True):
            if sum(counts.tolist()) != total or min(counts.tolist()) < 0:
                raise BrokenError(f"the probabilities of all reports under {show(private)} do not sum to 1")
        common = math.lcm(*(total for _, total in enumerated))
        scaled = [counts if total == common else counts * (common // total) for counts, total in enumerated]
        return cls(mechanism, inputs, scaled, common)

    def ordered_pairs(self) -> list[tuple[int, int]]:
        """The pairs of inputs that the claim is about, both ways."""
        pairs = compared_pairs(self.mechanism, self.inputs)
        return pairs + [(other, one) for one, other in pairs]

    @cached_property
    def worst(self) -> Worst:
        """The largest ratio over all whole reports and all pairs of inputs that the claim is about; exact."""
        best = Worst(0, 0, 0, Fraction(1))
        for likelier, rarer in self.ordered_pairs():
            worse = self._worse(likelier, rarer, best)
            if worse.ratio is None:
                return worse
            best = worse
        return best

    def worst_between(self, likelier: int, rarer: int) -> Worst:
        """The report that is likelier under the first of two inputs by the largest ratio; exact."""
        return self._worse(likelier, rarer, Worst(0, likelier, rarer, Fraction(1)))

    def _worse(self, likelier: int, rarer: int, best: Worst) -> Worst:
        """The most revealing report for these two inputs, or the best so far where that reveals more."""
        log, other = self._logs[likelier], self._logs[rarer]
        possible = np.flatnonzero(~np.isneginf(log))
        certain = possible[np.isneginf(other[possible])]
        if certain.size:
            return Worst(int(certain[np.argmax(log[certain])]), likelier, rarer, None)
        gaps = log[possible] - other[possible]
        if best.ratio is not None and gaps.max() < best.loss.epsilon - NEAR:
            return best
        near = possible[gaps >= gaps.max() - NEAR].tolist()
        often, rarely = self.counts[likelier], self.counts[rarer]
        top = near[0]
        for place in near:
            if often[place] * rarely[top] > often[top] * rarely[place]:
                top = place
        ratio = Fraction(often[top], rarely[top])
        if best.ratio is not None and ratio <= best.ratio:
            return best
        return Worst(top, likelier, rarer, ratio)

    @cached_property
    def _logs(self) -> list[NDArray[np.float64]]:
        """Logarithms of the counts, up to a common constant; minus infinity only where a count is 0."""
        if self.total.bit_length() > FLOAT_BITS:
            return [np.asarray(_log(counts), dtype=np.float64) for counts in self.counts]
        with np.errstate(divide="ignore"):
            return [np.log(shares) for shares in self.shares]

    def delta_at(self, epsilon: float) -> tuple[Fraction, tuple[int, int]]:
        """The exact δ at ε over whole reports (hockey-stick divergence), and the two inputs."""
        bound = exp_below(Fraction(epsilon)) if epsilon > 0 else Fraction(1)
        top, bottom = bound.numerator, bound.denominator
        best, pair = Fraction(0), (0, 0)
        for likelier, rarer in self.ordered_pairs():
            gaps = self.counts[likelier] * bottom - self.counts[rarer] * top
            gained = Fraction(sum(gap for gap in gaps.tolist() if gap > 0), bottom * self.total)
            if gained > best:
                best, pair = gained, (likelier, rarer)
        return best, pair

    @cached_property
    def shares(self) -> list[NDArray[np.float64]]:
        """The distribution of whole reports under each input, as floats for statistics."""
        # An integer that is too long for a float still has a share.
        shift = max(self.total.bit_length() - FLOAT_BITS, 0)
        total = float(self.total >> shift)
        rows = self.counts if shift == 0 else [counts >> shift for counts in self.counts]
        return [np.asarray(row, dtype=np.float64) / total for row in rows]

    @cached_property
    def _lookup(self) -> Numbers:
        shape, known = self.mechanism.shape, len(self.counts[0])
        most = 1 << shape.alphabet if shape.uneven else self._base**shape.length
        if most > MAX_LOOKUP:
            raise InputError(f"{self.mechanism.name} has too many different reports to count")
        keys = self._keys(self.mechanism.possible_reports())
        if len(keys) != known:
            raise BrokenError(f"{len(keys)} reports are possible, but {known} have a probability")
        lookup = np.full(most, -1, dtype=np.int64)
        lookup[keys] = np.arange(len(keys))
        return lookup

    @property
    def _base(self) -> int:
        shape = self.mechanism.shape
        return shape.alphabet * (shape.places if shape.names_dimensions else 1)

    def _keys(self, reports: Reports) -> Numbers:
        shape = self.mechanism.shape
        if shape.uneven:
            return report_matrix(reports, shape.length) @ (1 << np.arange(shape.alphabet))
        values = reports.codes.astype(np.int64)
        if reports.dims is not None:
            values += reports.dims.astype(np.int64) * shape.alphabet
        keys: Numbers = values.reshape(-1, shape.length) @ self._base ** np.arange(shape.length)
        return keys

    def places(self, private: NDArray[Any], random_bits: RandomBits | None) -> Numbers:
        """Let these users report, and say which of the possible reports each has sent."""
        places = self._lookup[self._keys(checked_reports(self.mechanism, private, random_bits))]
        if places.size and int(places.min()) < 0:
            raise BrokenError("a report was drawn that is not among the possible ones")
        return places

    def draw(self, index: int, draws: int, random_bits: RandomBits, block: int = DRAW_BLOCK) -> Numbers:
        """Return how often each possible report is drawn under an input, (reports,) int64.

        Reports are drawn in blocks, so that memory is bounded.

        Parameters
        ----------
        index
            The input, as an index into `inputs`.
        draws
            The number of reports to draw.
        random_bits
            The source of random words.
        block
            The number of users of a call; 1 as clients make them.
        """
        counts = np.zeros(len(self.counts[0]), dtype=np.int64)
        for start in range(0, draws, block):
            users = batch(self.inputs[index], min(block, draws - start))
            np.add.at(counts, self.places(users, random_bits), 1)
        return counts


def between(mechanism: Mechanism, inputs: list[Any]) -> list[Any]:
    """Inputs besides the extremes: two extremes in turn and the middle of the range; or other symbols."""
    if isinstance(mechanism, SymbolMechanism):
        return distinct([*inputs, *symbols_of(mechanism)])[len(inputs) :]
    if not inputs:
        # Somebody else's extremes are not believed.
        return distinct(list(Version(mechanism, getattr(mechanism, "public", None)).valid.values()))
    if mechanism.subject != "features" or has_levels(mechanism) or len(inputs) < 2:
        return []
    rows = [np.where(np.arange(len(inputs[0])) % 2, inputs[0], inputs[1])]
    if hasattr(mechanism, "public"):
        rows.append(np.full(len(inputs[0]), float(mechanism.public.centre)))
    return distinct([*inputs, *rows])[len(inputs) :]


def enumerate_smaller(candidate: Candidate) -> JointDistribution | None:
    """The candidate enumerated at the first size that allows it; None where none does."""
    for small in candidate.smaller():
        try:
            joint = JointDistribution.of(small)
            _ = joint._lookup
        except InputError:
            continue
        return joint
    return None


# Events: single reports on either end, groups by likelihood ratio, groups in the order of enumeration.
SINGLES, RATIO_GROUPS, PLACE_GROUPS = 16, 32, 64
# Reports that are expected so rarely in all draws count together besides.
NEVER = 1e-3
# Calls for one user each: they are slow, and a fault of theirs is a coarse one.
MIN_CALLS, DRAWS_A_CALL = 200, 10_000
# A log-ratio that no table with counts above 0 has.
ONE_SIDED, TINY = 100.0, 1e-300
Places = NDArray[np.intp]


class ReportEvent(NamedTuple):
    """Some of the possible reports, whose draws are counted together."""

    title: str
    places: Places


def sampler_step(joint: JointDistribution, draws: int, random_bits: RandomBits) -> Step:
    """Compare how often reports are drawn with how often the tables say they are.

    Parameters
    ----------
    joint
        The exact distribution of whole reports.
    draws
        How many reports are drawn under each input.
    random_bits
        Where random words come from.
    """
    # One symbol alone may be the one that is drawn wrongly.
    every = isinstance(joint.mechanism, SymbolMechanism)
    pair = most_separated(joint.shares, compared_pairs(joint.mechanism, joint.inputs))
    events = _events(joint, *pair, draws)
    looks, calls = len(joint.inputs) + 2, max(MIN_CALLS, draws // DRAWS_A_CALL)
    differences: list[tuple[float, str]] = []
    drawn: list[Numbers] = []
    claim = joint.mechanism.claim
    # Of an ε that enumeration has found above the claim, only more than that is news.
    known = claim.epsilon if claim.delta > 0 else max(claim.epsilon, joint.worst.loss.epsilon)

    def proven() -> LowerBound:
        # What the tables were compared with serves once; after that is drawn afresh.
        rows = [drawn.pop(0) if drawn else joint.draw(index, draws, random_bits) for index in pair]
        counts = np.array([[row[event.places].sum() for event in events] for row in rows])
        inputs = joint.inputs[pair[0]], joint.inputs[pair[1]]
        return best_bound(counts, lambda place: events[place].title, inputs, draws, claim.delta)

    for index in range(len(joint.inputs)):
        here = draws if index in pair or every else max(draws // FEWER, 1)
        look = SamplerLook(joint, index, here, looks, partial(joint.draw, index, here, random_bits))
        counts = look.draw()
        differences += look.difference(events, counts)
        drawn += [counts] * pair.count(index)
    for index in pair:
        # A client asks for one user at a time.
        alone = partial(joint.draw, index, calls, random_bits, 1)
        look = SamplerLook(joint, index, calls, looks, alone, ", in calls for one user each")
        differences += look.difference(events, look.draw())
    bound = confirmed_bound(known, proven)
    leaks: list[str] = [Leak(max(differences)[1], Rank.ANSWER)] if differences else []
    leaks += [bound.leak(claim.epsilon)] if bound.epsilon > known else []
    others = len(joint.inputs) - len(set(pair))
    seen = (
        f"{draws:,} whole reports under each of the two most separated inputs, {calls:,} by calls for one user each"
        f"{f', {draws if every else draws // FEWER:,} under {others} more' if others else ''}; {len(events)} comparisons each, jointly at "
        f"{1 - ERROR:.1%}; epsilon is at least {bound.epsilon:.6g}"
    )
    return Step(Title.SAMPLER, seen, tuple(leaks))


@dataclass(frozen=True)
class SamplerLook:
    """Draws under one input, compared with its probabilities; what falls outside is drawn once more."""

    joint: JointDistribution
    index: int
    draws: int
    looks: int
    draw: Callable[[], Numbers]
    how: str = ""

    def difference(self, events: list[ReportEvent], counts: Numbers) -> list[tuple[float, str]]:
        """The event that is drawn too often or too rarely, twice, and is the least likely, after its log-probability."""
        impossible = np.flatnonzero(self.joint.shares[self.index] == 0)
        if impossible.size:
            events = [*events, ReportEvent("a report that the table says is impossible", impossible)]
        outliers = self._outside(events, counts)
        if outliers:
            outliers = self._outside([event for _, event, _, _ in outliers], self.draw())
        if not outliers:
            return []
        tail, event, count, share = min(outliers, key=itemgetter(0))
        message = (
            f"the sampler does not draw what the table says: under {show(self.joint.inputs[self.index])}{self.how}, {event.title} "
            f"came {count:,} times in {self.draws:,}, the table says {share:.6g}"
        )
        return [(-tail, message)]

    def _outside(
        self, events: list[ReportEvent], counts: Numbers
    ) -> list[tuple[float, ReportEvent, int, float]]:
        """Return the unlikely events after the logarithms of how unlikely they are, with counts and expected shares."""
        shares = self.joint.shares[self.index]
        seen = [int(counts[event.places].sum()) for event in events]
        expected = [min(float(shares[event.places].sum()), 1.0) for event in events]
        tails = log_tail(seen, self.draws, expected)
        limit = math.log(ERROR / (len(events) * self.looks) / 2)
        each = zip(tails.tolist(), events, seen, expected, strict=True)
        return [outlier for outlier in each if outlier[0] < limit]


def _events(joint: JointDistribution, one: int, other: int, draws: int) -> list[ReportEvent]:
    """Return the events to compare: reports that separate two inputs most, and groups that cover all."""
    mean = (joint.shares[one] + joint.shares[other]) / 2
    ratio = np.log(np.maximum(joint.shares[one], TINY)) - np.log(np.maximum(joint.shares[other], TINY))
    order = np.argsort(-ratio, kind="stable")
    often = order[mean[order] * draws >= OFTEN]
    describe = joint.mechanism.describe_outcome
    singles = dict.fromkeys([*often[:SINGLES].tolist(), *often[-SINGLES:].tolist()])
    events = [ReportEvent(f"the report ({describe(place)})", np.array([place])) for place in singles]
    groups = [(places, _ratio_title(places, ratio)) for places in _cut(order, mean, RATIO_GROUPS)]
    for places in _cut(np.arange(len(mean)), mean, PLACE_GROUPS):
        first, last = describe(int(places[0])), describe(int(places[-1]))
        groups.append((places, f"one of {len(places)} reports from ({first}) to ({last})"))
    for most, title in ((OFTEN, "rare"), (NEVER, "all but impossible")):
        rare = np.flatnonzero(mean * draws < most)
        if rare.size:
            groups.append((rare, f"one of {len(rare)} reports that are {title} under both"))
    alone = set(singles)
    return events + [
        ReportEvent(title, places)
        for places, title in groups
        if len(places) > 1 or int(places[0]) not in alone
    ]


def _ratio_title(places: Places, ratio: Floats) -> str:
    low, high = float(ratio[places].min()), float(ratio[places].max())
    if max(abs(low), abs(high)) > ONE_SIDED:
        return f"one of {len(places)} reports that hardly come under one of the two"
    return f"one of {len(places)} reports whose log-ratio lies from {low:.4g} to {high:.4g}"


def _cut(order: Places, mass: Floats, groups: int) -> list[Places]:
    """Cut an order of places into groups of about equal mass."""
    label = np.minimum((np.cumsum(mass[order]) * groups).astype(np.int64), groups - 1)
    return [order[label == group] for group in np.unique(label)]


# Users of the graphs that are enumerated: with 4 there are 64 graphs, 192 pairs of them, and 128 lists of each user.
USERS = (2, 3, 4)
Pair = tuple[int, int]
Graph = frozenset[Pair]


def graphs_of(users: int) -> Iterator[Graph]:
    """All graphs of so many users."""
    pairs = list(combinations(range(users), 2))
    for number in range(1 << len(pairs)):
        yield frozenset(pair for place, pair in enumerate(pairs) if number >> place & 1)


def user_counts(mechanism: LinkMechanism, graph: Graph, user: int) -> tuple[NDArray[np.object_], int]:
    """Return how often each whole report of a user comes in a graph, and the total.

    Parameters
    ----------
    mechanism
        A mechanism of so few users that reports can be enumerated.
    graph
        The links that there are.
    user
        Whose report it is.
    """
    near = [other for other in range(mechanism.size) if (min(user, other), max(user, other)) in graph]
    answers = [int(other in near) for other in mechanism.asked(user)]
    return mechanism.counts_of(answers, mechanism.degree_of(user, near))


def sent_counts(mechanism: LinkMechanism, user: int | None, graph: Graph) -> tuple[list[int], int]:
    """Return how often each whole report of a user comes, and the total; of no user: what a curator publishes.

    Parameters
    ----------
    mechanism
        A mechanism of so few users that reports can be enumerated.
    user
        Whose report it is; None for a curator's.
    graph
        The links that there are; of a user those that the user has are enough.
    """
    if not isinstance(mechanism, PublishedGraph):
        assert user is not None
        counts, total = user_counts(mechanism, graph, user)
        return counts.tolist(), total
    chances = mechanism.chances_of(graph)
    total = math.lcm(*(chance.denominator for chance in chances))
    return [int(chance * total) for chance in chances], total


def worst_link(mechanism: LinkMechanism) -> tuple[Loss, Pair]:
    """Return the loss of the link that all reports together tell best, over all graphs that differ in one link, and the link; exact."""
    sent = cache(partial(sent_counts, mechanism))
    worst, found = Fraction(1), (0, 0)
    for graph in graphs_of(mechanism.size):
        for link in graph:
            # Only what the two users hold is different, and many graphs share that.
            views: list[tuple[int | None, Graph]] = [
                (user, frozenset(pair for pair in graph if user in pair)) for user in link
            ]
            if isinstance(mechanism, PublishedGraph):
                views = [(None, graph)]
            for removed in (True, False):
                ratio = Fraction(1)
                for user, held in views:
                    pair = sent(user, held), sent(user, held - {link})
                    (often, total), (rarely, against) = pair if removed else pair[::-1]
                    largest = largest_ratio(often, rarely)
                    if largest is None:
                        return Loss(None), link
                    ratio *= largest * Fraction(against, total)
                worst, found = (ratio, link) if ratio > worst else (worst, found)
    return Loss.of(worst), found


def largest_ratio(often: list[int], rarely: list[int]) -> Fraction | None:
    """The largest quotient of two counts of the same report; None where it is infinite."""
    top, bottom = 0, 1
    for count, against in zip(often, rarely, strict=True):
        if count and not against:
            return None
        if count * bottom > top * against:
            top, bottom = count, against
    return Fraction(top, bottom)


def graphs_step(candidate: Candidate) -> Step:
    """Check that one link costs at most the claim when the reports of all users are put together."""
    found: dict[int, tuple[Loss, Pair]] = {}
    claimed = candidate.build().claim.epsilon
    for users in USERS:
        try:
            small = candidate.build(dims=users) if candidate.takes("dims") else candidate.build()
        except GraphveilError:
            continue
        if isinstance(small, LinkMechanism) and small.size == users:
            found[users] = worst_link(small)
    if not found:
        return Step(Title.GRAPHS, "left out: it is not built for few users", skipped=True)
    # More users leave no less room for the worst case.
    largest = max(loss.epsilon for loss, _ in found.values())
    seen = (
        f"all graphs of {', '.join(map(str, found))} users, all pairs of them that differ in one link, everything that all users "
        f"send together: the largest ratio is {power(largest)}, claimed e^{claimed:g}"
    )
    for users, (loss, link) in found.items():
        if loss.exceeds(claimed):
            detail = "is certain from what both send: some reports are impossible with or without it"
            if loss.terms is not None:
                times = loss.epsilon / claimed if claimed else math.inf
                cost = f"costs {loss.epsilon:.6g} over everything that both send, {times:.3g} times the claimed {claimed:g}"
                detail = f"{cost}: what its two ends spend on it adds up"
            detail = f"with {users} users, the link between users {link[0]} and {link[1]} {detail}"
            return Step(Title.GRAPHS, seen, (Leak(detail, Rank.CLAIM),))
    return Step(Title.GRAPHS, seen)
