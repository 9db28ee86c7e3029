"""Every answer at full size: is it drawn within its table, whatever the value, and independently of the others?

Between which probabilities each event of an answer lies, whatever the value is, follows from the tables (`ReportRanges`). Answers are drawn
for many inputs that the audit chooses (`reports`), in calls for many users, for two and for one, and for lists of neighbours as users hold
them. Comparisons are Chernoff bounds, so unlikely for a right mechanism that no second look is needed.

Decoys are answers of a blind channel among the others: a report must not hold a code more often than its answers allow, and two or three
answers together must tell no more than is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.candidate import claims_independence, has_decoys, reshaped
from graphveil.audit.findings import (
    BrokenError,
    Leak,
    LeakError,
    Rank,
    Step,
    Title,
    leaks_of,
    log_false_alarm,
)
from graphveil.audit.independence import (
    AnswerBits,
    answers_of,
    check_answers,
    equal_rows,
    has_independent_answers,
)
from graphveil.audit.lower_bound import log_tail, probability_intervals
from graphveil.audit.reports import (
    Floats,
    Numbers,
    Version,
    checked_reports,
    middle_code,
    place_count,
    placed_answers,
    wide_batch,
)
from graphveil.channels.channel import FiniteChannel
from graphveil.channels.exact import TOTAL
from graphveil.channels.kary import KaryChannel
from graphveil.channels.product import ProductChannel
from graphveil.channels.sampling import RandomBits, SystemBits
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.features import FeatureMechanism
from graphveil.mechanisms.labels import ItemMechanism, SingleAnswerMechanism
from graphveil.mechanisms.links import LinkMechanism, NeighbourLists
from graphveil.mechanisms.reports import Reports

# Tables with more entries than this, or codes with more cells, are not looked at place by place.
MAX_ENTRIES, MAX_CELLS = 1 << 20, 1 << 22
# Probabilities are floats here, and off by less than this.
SLACK = 1e-9
# Codes that are expected more rarely than this count together.
RARE = 20.0
# The place of all values together.
TOGETHER = -1
# From this share on a code counts as sent without noise, if no table allows it.
CLEAR = 0.999


@dataclass(frozen=True)
class CodeRange:
    """The lowest and the highest probability of each code of a channel (first row), and of each code and all below it (second row)."""

    low: Floats
    high: Floats
    rows: Floats | None
    _rare: dict[bytes, float] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, channel: FiniteChannel, drawn_from: int = 1) -> CodeRange | None:
        """Of one channel whose input is one of ``drawn_from`` different symbols, equally likely."""
        if isinstance(channel, KaryChannel):
            other, surplus = channel.other / TOTAL, channel.surplus / TOTAL if channel.truthful else 0.0
            codes = np.arange(1, channel.output_count + 1)
            most = np.minimum(codes, drawn_from) * surplus / drawn_from
            short = np.maximum(codes - channel.output_count + drawn_from, 0) * surplus / drawn_from
            low = np.full(len(codes), other)
            highest = np.stack([low + surplus / drawn_from, codes * other + most])
            return cls(np.stack([low, codes * other + short]), highest, None)
        if drawn_from > 1 or channel.input_count * channel.output_count > MAX_ENTRIES:
            return None
        rows = shares_of(channel)
        both = np.stack([rows, np.cumsum(rows, axis=1)])
        return cls(both.min(axis=1), both.max(axis=1), rows)

    @classmethod
    def around(cls, spans: list[CodeRange]) -> CodeRange:
        """Return the range that spans all of these."""
        rows = [span.rows for span in spans if span.rows is not None]
        low, high = (
            np.min([span.low for span in spans], axis=0),
            np.max([span.high for span in spans], axis=0),
        )
        return cls(low, high, np.concatenate(rows) if len(rows) == len(spans) else None)

    def rare(self, draws: float) -> tuple[NDArray[np.bool_], float]:
        """Return the codes that are rare for every value, and the largest probability of any of them."""
        few = self.high[0] * draws < RARE
        if self.rows is None:
            return few, min(1.0, float(self.high[0, few].sum()))
        # All looks at one size ask for the same.
        key = few.tobytes()
        if key not in self._rare:
            self._rare[key] = float(self.rows[:, few].sum(axis=1).max())
        return few, self._rare[key]

    def padded(self, size: int) -> CodeRange:
        """The same for an alphabet of this size: codes that the channel does not have never come."""
        more = size - self.low.shape[1]
        if not more:
            return self
        never = np.stack([np.zeros(more), np.ones(more)])
        rows = None if self.rows is None else np.pad(self.rows, ((0, 0), (0, more)))
        return CodeRange(np.hstack([self.low, never]), np.hstack([self.high, never]), rows)


def shares_of(channel: FiniteChannel) -> Floats:
    """The rows of a channel as floats."""
    # A product's integers are too long to be read one by one.
    if type(channel) is ProductChannel:
        shares: Floats = np.ones((1, 1))
        for bit in channel.bits:
            shares = np.asarray(np.kron(shares, shares_of(bit)), dtype=np.float64)
        return shares
    table = [channel.row(symbol) for symbol in range(channel.input_count)]
    return np.array(table, dtype=np.float64) / channel.total


@dataclass(frozen=True)
class OutsideEvent:
    """An event that came too often or too rarely for any value."""

    log_tail: float
    place: int
    event: str
    count: int
    draws: int
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether answers are (nearly) always the same, which no table allows."""
        share = self.count / self.draws
        return (share >= CLEAR and self.high < CLEAR) or (share <= 1 - CLEAR and self.low > 1 - CLEAR)

    def error(self, title: str, several: bool) -> LeakError:
        """The finding, for users who held what is called so; ``several`` where there is more than one value."""
        where = f" for value {self.place}" if several else ""
        if self.place == TOGETHER:
            where = " for all values together"
        detail = (
            f"under {title}, {self.event} came {self.count:,} times in {self.draws:,}, its table allows a probability from "
            f"{self.low:.6g} to {self.high:.6g}, whatever the value{where}"
        )
        if self.clear:
            return LeakError(f"it is sent in the clear: {detail}", Rank.CLEAR)
        return LeakError(f"an answer is not drawn from its table: {detail}", Rank.ANSWER)


@dataclass(frozen=True)
class ReportRanges:
    """The spans of all places of a report."""

    mechanism: Mechanism
    spans: tuple[CodeRange, ...]
    kinds: NDArray[np.int64]
    alphabet: int

    @classmethod
    def of(cls, mechanism: Mechanism) -> ReportRanges | None:
        """Return the ranges of a mechanism whose channels answer one value each; None for any other."""
        drawn_from, alphabet = 1, mechanism.shape.alphabet
        channels: list[FiniteChannel]
        if isinstance(mechanism, FeatureMechanism):
            if reshaped(mechanism):
                return cls._anywhere(mechanism)
            channels = list(mechanism.channels) * (mechanism.size // len(mechanism.channels))
        elif isinstance(mechanism, LinkMechanism) and mechanism.trust == "local":
            if not claims_independence(mechanism):
                return None
            # A place for each other user, and one more for a degree.
            channels = [answer.channel for answer in mechanism.answers for _ in range(answer.count)]
            alphabet = max(channel.output_count for channel in channels)
        elif isinstance(mechanism, SingleAnswerMechanism):
            channels = [mechanism.channel]
            drawn_from = mechanism.length if isinstance(mechanism, ItemMechanism) else 1
        else:
            return None
        if len(channels) * alphabet > MAX_CELLS:
            return None
        distinct = list(dict.fromkeys(channels))
        spans = [CodeRange.of(channel, drawn_from) for channel in distinct]
        padded = [span.padded(alphabet) for span in spans if span is not None]
        if len(padded) < len(distinct):
            return None
        number = {channel: place for place, channel in enumerate(distinct)}
        kinds = np.array([number[channel] for channel in channels], dtype=np.int64)
        return cls(mechanism, tuple(padded), kinds, alphabet)

    @classmethod
    def _anywhere(cls, mechanism: Mechanism) -> ReportRanges | None:
        """Return the ranges of a mechanism whose answers may each stand at any place of a report."""
        spans = [CodeRange.of(answer.channel) for answer in mechanism.answers]
        places, alphabet = place_count(mechanism), mechanism.shape.alphabet
        if not spans or any(span is None for span in spans) or places * alphabet > MAX_CELLS:
            return None
        padded = [span.padded(alphabet) for span in spans if span is not None]
        return cls(mechanism, (CodeRange.around(padded),), np.zeros(places, dtype=np.int64), alphabet)

    @property
    def places(self) -> int:
        """The number of places that a report may answer about."""
        return len(self.kinds)

    def check(self, looks: Iterable[tuple[str, Numbers]]) -> None:
        """Raise the gravest of what lies outside in some looks, by title and how often each code came at each place."""
        # Codes, codes and all below, and all rare ones; too many and too few.
        log_error = log_false_alarm(2 * (self.places + 1) * (2 * self.alphabet + 1))
        seen = [(self.outside(counts, log_error), title) for title, counts in looks]
        misses = [(event, title) for event, title in seen if event is not None]
        if misses:
            event, title = min(misses, key=lambda miss: (not miss[0].clear, miss[0].log_tail))
            raise event.error(title, self.places > 1)

    def count(self, reports: Reports) -> Numbers:
        """Return the count of each code at each place, (places, alphabet) int64."""
        _, places, codes = placed_answers(reports)
        counts = np.bincount(places * self.alphabet + codes, minlength=self.places * self.alphabet)
        counts = counts.reshape(self.places, self.alphabet)
        if self.mechanism.subject == "links":
            # Users who are not named count as a no.
            links = counts[: self.mechanism.shape.dimensions]
            links[:, 0] = reports.users - links[:, 1]
        return counts

    def outside(self, counts: Numbers, log_error: float) -> OutsideEvent | None:
        """The event that is the farthest outside, if one is that unlikely."""
        worst: OutsideEvent | None = None
        for kind, span in enumerate(self.spans):
            places = np.flatnonzero(self.kinds == kind)
            own = counts[places]
            if len(places) > 1 and claims_independence(self.mechanism):
                # Of long rows few reports are drawn, but all their values together are many answers.
                places, own = np.append(places, TOGETHER), np.vstack([own, own.sum(axis=0)])
            draws = own.sum(axis=1)
            few, most = span.rare(float(draws.max()))
            rare = own[:, few].sum(axis=1)[:, None]
            looks = (
                (own, span.low[0], span.high[0], "code {}"),
                (np.cumsum(own, axis=1), span.low[1], span.high[1], "a code of 0 to {}"),
                (rare, np.zeros(1), np.array([most]), f"one of {int(few.sum())} rare codes"),
            )
            for seen, low, high, title in looks:
                tails = range_tails(seen, draws[:, None], low, high)
                at = np.unravel_index(int(tails.argmin()), tails.shape)
                if tails[at] < log_error and (worst is None or tails[at] < worst.log_tail):
                    place, code = int(at[0]), int(at[1])
                    worst = OutsideEvent(
                        float(tails[at]),
                        int(places[place]),
                        title.format(code),
                        int(seen[at]),
                        int(draws[place]),
                        float(low[code]),
                        float(high[code]),
                    )
        return worst

    def halves(self, reports: Reports) -> tuple[NDArray[np.bool_], Floats, Floats]:
        """Return whether each answer lies in the upper half of those seen, and how likely that may be.

        The first array is (users, answers) bool; the other two are the lowest and the highest probability.
        """
        owners, places, codes = placed_answers(reports)
        if self.mechanism.subject == "links":
            kinds, cuts = self.kinds, np.zeros(self.places, dtype=np.int64)
            degrees = codes[places == self.mechanism.shape.dimensions]
            if degrees.size:
                cuts[-1] = min(int(np.median(degrees)), self.alphabet - 2)
            there = np.zeros((reports.users, self.places), dtype=bool)
            there[owners, places] = codes > cuts[places]
        else:
            # Where dimensions are named there is one channel for all of them.
            kinds = self.kinds[: len(codes) // reports.users]
            cuts = np.full(len(kinds), middle_code(codes, self.alphabet))
            there = codes.reshape(reports.users, -1) > cuts
        at = list(zip(kinds, cuts, strict=True))
        low = np.array([1 - self.spans[kind].high[1, cut] for kind, cut in at])
        high = np.array([1 - self.spans[kind].low[1, cut] for kind, cut in at])
        return there, low, high


def range_tails(seen: Numbers, draws: Any, low: Floats, high: Floats) -> Floats:
    """Return how unlikely each count is at the nearer end of what is allowed, as a logarithm; 0 where it lies between.

    Parameters
    ----------
    seen
        How often each event came.
    draws
        Out of how many.
    low
        The lowest probability of each event.
    high
        The highest.
    """
    least, most = np.clip(low - SLACK, 0.0, 1.0), np.clip(high + SLACK, 0.0, 1.0)
    most = np.where(high == 0, 0.0, most)
    seen, draws, least, most = np.broadcast_arrays(seen, draws, least, most)
    tails = np.zeros(seen.shape)
    # Few counts lie outside, and only theirs is a long way to compute.
    for outside, end in ((seen > draws * most, most), (seen < draws * least, least)):
        tails[outside] = np.minimum(tails[outside], log_tail(seen[outside], draws[outside], end[outside]))
    return tails


# Values of one look, users that it has at least, and users of small calls, one by one and two by two.
QUICK_VALUES, VALUES, MIN_USERS, CALLS = 1 << 17, 1 << 20, 500, 64
# Inputs that are tried in small calls: those are slow.
ALONE = 5
# Inputs that are tried with the words of devices: those are slow too.
UNSEEDED = 2
# Lists of neighbours are tried for users who are asked about so many others.
OWNERS = (1, 2, 7, 64, 1000)


def answers_step(version: Version, quick: bool) -> Step:
    """Compare all answers of a mechanism, as it is used, with their tables and with each other."""
    mechanism, ranges = version.mechanism, ReportRanges.of(version.mechanism)
    values, inputs = QUICK_VALUES if quick else VALUES, len(version.valid) + len(version.invalid)
    leaks: list[str] = []
    message = "no table a value"
    if ranges is not None:
        message = f"{inputs} inputs on and off the grid, within their tables"
        leaks = leaks_of(check_tables, version, ranges, version.valid, values)
        odd = [] if leaks else leaks_of(check_tables, version, ranges, version.invalid, values)
        leaks += [Leak(leak, Rank.VALUE) for leak in odd]
    leaks += leaks_of(check_answers, version, values) + leaks_of(check_decoys, version, values)
    seen = f"{message}; calls for many users, for two and for one"
    if has_decoys(mechanism):
        seen += "; decoys among the answers carry nothing"
    elif has_independent_answers(mechanism):
        seen += "; pairs, triples and halves of answers: independent"
    return Step(Title.ANSWERS, seen, tuple(leaks))


def check_tables(
    version: Version,
    ranges: ReportRanges,
    inputs: dict[str, Any],
    values: int,
    alone: bool = True,
    least: int = MIN_USERS,
) -> None:
    """Check that answers are drawn within their tables.

    Parameters
    ----------
    version
        The mechanism and where its random words come from.
    ranges
        The allowed probabilities of every answer.
    inputs
        What users hold, by title.
    values
        How many values a look has in all.
    alone
        Whether to make small calls too.
    least
        How many users a look has, however long their rows are.
    """
    users = max(least, values // (4 * max(version.mechanism.shape.row_length, 8)))
    ranges.check(_looks(version, ranges, inputs, users, alone))


def _looks(
    version: Version, ranges: ReportRanges, inputs: dict[str, Any], users: int, alone: bool
) -> Iterator[tuple[str, Numbers]]:
    for title, private in inputs.items():
        yield title, ranges.count(version.draw(private, users))
    some = list(inputs.items()) if alone else []
    for title, private in some[:UNSEEDED]:
        for source, how in ((None, "without words"), (SystemBits(), "with the system's words")):
            yield f"{title}, {how}", ranges.count(replace(version, random_bits=source).draw(private, users))
    for title, private in some[:ALONE]:
        for size, who in ((1, "one user"), (2, "two users")):
            parts = [ranges.count(version.draw(private, size)) for _ in range(CALLS // size)]
            yield f"{title}, in calls for {who}", np.sum(parts, axis=0)
    if isinstance(version.mechanism, LinkMechanism):
        yield from _list_looks(ranges, version.mechanism, users, version.random_bits)


def _list_looks(
    ranges: ReportRanges, mechanism: LinkMechanism, users: int, random_bits: RandomBits | None
) -> Iterator[tuple[str, Numbers]]:
    """Lists as users hold them: everybody is asked about users with smaller numbers alone, or about all others."""
    for owner in sorted({min(owner, mechanism.size - 1) for owner in OWNERS} - {0, -1}):
        for held in ([], list(range(owner)), list(range(0, owner, 2))):
            lists = NeighbourLists(
                np.full(users, owner),
                np.arange(users + 1) * len(held),
                np.asarray(wide_batch(held, users)).ravel().astype(np.int64),
            )
            reports = checked_reports(mechanism, lists, random_bits, users)
            others = np.setdiff1d(np.arange(mechanism.size), mechanism.asked(owner))
            strange = np.intersect1d(mechanism.neighbours(reports)[1], others)
            if strange.size:
                about = "all others" if mechanism.ends == "both" else f"users below {owner}"
                detail = f"user {owner} is asked about {about} and answers about user {int(strange[-1])}"
                raise BrokenError(detail)
            counts = ranges.count(reports)
            counts[others] = 0
            yield f"lists of {len(held)} neighbours of user {owner}", counts


# Answers beside decoys that are compared in pairs and in triples, and users that are drawn at least.
PAIRED, TRIPLED, MIN_DECOYED = 48, 12, 8000
# Bits of an answer, rows and versions that are compared: the rate of false alarms is divided by them.
DECOY_LOOKS = 1000


def check_decoys(version: Version, values: int) -> None:
    """Decoys must carry nothing, nor codes of a report that are no answers by the mechanism's own word; each look has so many values."""
    mechanism = version.mechanism
    count = sum(answer.count for answer in mechanism.answers)
    more = mechanism.finite and not mechanism.shape.uneven and count < mechanism.shape.length
    if not (has_decoys(mechanism) or (more and reshaped(mechanism))):
        return
    rows = equal_rows(version)
    if mechanism.subject not in ("label", "level"):
        low, high, *_ = rows.values()
        rows["rows of both ends in turn"] = np.where(np.arange(len(low)) % 2 == 0, low, high)
    users = max(MIN_DECOYED, values // max(mechanism.shape.length, 4))
    drawn = {title: version.draw(row, users) for title, row in rows.items()}
    _check_shares(mechanism, drawn)
    kinds = [answers_of(reports) for reports in drawn.values()]
    for bits in zip(*kinds, strict=True):
        _check_together(mechanism, list(drawn), list(bits), users)


def _check_shares(mechanism: Mechanism, drawn: dict[str, Reports]) -> None:
    """No code may come more often under one row than under another by more than all answers of a report together allow.

    Shares of a report lie between 0 and 1 and users are independent, so Hoeffding's bound holds for the difference of two means.
    """
    length, size = mechanism.shape.length, mechanism.shape.alphabet
    allowed = np.zeros(size)
    for answer in mechanism.answers:
        if (span := CodeRange.of(answer.channel)) is None:
            return
        padded = span.padded(size)
        allowed += answer.count * (padded.high[0] - padded.low[0]) / length
    users = next(iter(drawn.values())).users
    shares = {
        title: np.bincount(reports.codes, minlength=size) / (length * users)
        for title, reports in drawn.items()
    }
    surplus = math.sqrt(-log_false_alarm(size, DECOY_LOOKS) / users)
    for one, other in permutations(shares, 2):
        beyond = shares[one] - shares[other] - allowed
        code = int(beyond.argmax())
        if beyond[code] > surplus:
            seen = f"{shares[one][code]:.2%} under {one}, {shares[other][code]:.2%} under {other}"
            detail = f"decoys are not blind: of all codes {code} are {seen}, its answers allow {allowed[code]:.2%} more"
            raise LeakError(detail, Rank.ANSWER)


def _check_together(mechanism: Mechanism, titles: list[str], bits: list[AnswerBits], users: int) -> None:
    """Two or three answers together must not tell two rows apart by more than the claim."""
    counts = np.array([np.concatenate([part.ravel() for part in _events(answers)]) for answers in bits])
    low, high = probability_intervals(counts, users, log_false_alarm(counts.size, DECOY_LOOKS))
    for one, other in permutations(range(len(titles)), 2):
        ratios = np.maximum(low[one] - mechanism.claim.delta, 0.0) / high[other]
        if (worst := float(ratios.max())) > math.exp(mechanism.claim.epsilon):
            detail = f"an event of two or three is {worst:.4g} times as likely under {titles[one]} as under {titles[other]}"
            raise LeakError(
                f"answers of one report tell more together than is claimed: {detail}", Rank.TOGETHER
            )


def _events(answers: AnswerBits) -> Iterator[Floats]:
    """For how many users two answers are both, one or none set, and three an even or odd number of times."""
    bits = answers.bits[:, :PAIRED]
    asked = np.ones_like(bits) if answers.asked is None else answers.asked[:, :PAIRED]
    clear = asked - bits
    for one, other in ((bits, bits), (bits, clear), (clear, clear)):
        yield (one.T @ other).astype(np.float64)
    first, second = np.triu_indices(min(bits.shape[1], TRIPLED), 1)
    either = np.abs(bits[:, first] - bits[:, second]) * asked[:, first] * asked[:, second]
    neither = asked[:, first] * asked[:, second] - either
    last = slice(0, TRIPLED)
    yield (either.T @ clear[:, last] + neither.T @ bits[:, last]).astype(np.float64)
    yield (either.T @ bits[:, last] + neither.T @ clear[:, last]).astype(np.float64)
