"""Between which probabilities each event of an answer lies, whatever the value is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.candidate import claims_independence, reshaped
from graphveil.audit.findings import LeakError, Rank, log_false_alarm
from graphveil.audit.lower_bound import log_tail
from graphveil.audit.reports import Floats, Numbers, code_places, link_answers, middle_code, place_count
from graphveil.channels.channel import FiniteChannel
from graphveil.channels.exact import TOTAL
from graphveil.channels.kary import KaryChannel
from graphveil.channels.product import ProductChannel
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.classes import ClassMechanism
from graphveil.mechanisms.features import FeatureMechanism
from graphveil.mechanisms.labels import ItemMechanism, SymbolMechanism
from graphveil.mechanisms.links import LinkMechanism
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
    """The lowest and the highest probability of each code of a channel, and of each code and all below it."""

    low: Floats
    high: Floats
    low_below: Floats
    high_below: Floats
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
            return cls(low, low + surplus / drawn_from, codes * other + short, codes * other + most, None)
        if drawn_from > 1 or channel.input_count * channel.output_count > MAX_ENTRIES:
            return None
        rows = shares_of(channel)
        below = np.cumsum(rows, axis=1)
        return cls(rows.min(axis=0), rows.max(axis=0), below.min(axis=0), below.max(axis=0), rows)

    @classmethod
    def around(cls, spans: list[CodeRange]) -> CodeRange:
        """What lies within some of these, or between them."""
        rows = [span.rows for span in spans if span.rows is not None]
        return cls(
            np.min([span.low for span in spans], axis=0),
            np.max([span.high for span in spans], axis=0),
            np.min([span.low_below for span in spans], axis=0),
            np.max([span.high_below for span in spans], axis=0),
            np.concatenate(rows) if len(rows) == len(spans) else None,
        )

    def rare(self, draws: float) -> tuple[NDArray[np.bool_], float]:
        """Which codes are rare whatever the value is, and how likely one of them is at most."""
        few = self.high * draws < RARE
        if self.rows is None:
            return few, min(1.0, float(self.high[few].sum()))
        # All looks at one size ask for the same.
        key = few.tobytes()
        if key not in self._rare:
            self._rare[key] = float(self.rows[:, few].sum(axis=1).max())
        return few, self._rare[key]

    def padded(self, size: int) -> CodeRange:
        """The same for an alphabet of this size: codes that the channel does not have never come."""
        more = size - len(self.low)
        if not more:
            return self
        nothing, all_ = np.zeros(more), np.ones(more)
        rows = None if self.rows is None else np.pad(self.rows, ((0, 0), (0, more)))
        return CodeRange(
            np.append(self.low, nothing),
            np.append(self.high, nothing),
            np.append(self.low_below, all_),
            np.append(self.high_below, all_),
            rows,
        )


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
        told = (
            f"under {title}, {self.event} came {self.count:,} times in {self.draws:,}, its table allows a probability from "
            f"{self.low:.6g} to {self.high:.6g}, whatever the value{where}"
        )
        if self.clear:
            return LeakError(f"it is sent in the clear: {told}", Rank.CLEAR)
        return LeakError(f"an answer is not drawn from its table: {told}", Rank.ANSWER)


@dataclass(frozen=True)
class ReportRanges:
    """The spans of all places of a report."""

    mechanism: Mechanism
    spans: tuple[CodeRange, ...]
    kinds: NDArray[np.int64]
    alphabet: int

    @classmethod
    def of(cls, mechanism: Mechanism) -> ReportRanges | None:
        """Where a mechanism is made of channels that answer one value each; None where it is not."""
        channels: tuple[FiniteChannel, ...]
        drawn_from, alphabet = 1, mechanism.shape.alphabet
        if isinstance(mechanism, FeatureMechanism):
            channels, places = mechanism.channels, mechanism.size
            if reshaped(mechanism):
                return cls._anywhere(mechanism)
        elif isinstance(mechanism, SymbolMechanism):
            channels, places = (mechanism.channel,), 1
        elif isinstance(mechanism, ClassMechanism):
            channels, places = (mechanism.label.channel,), 1
        elif isinstance(mechanism, LinkMechanism) and mechanism.trust == "local":
            if not claims_independence(mechanism):
                return None
            # A place for each other user, and one more for a degree.
            channels = tuple(answer.channel for answer in mechanism.answers)
            places = sum(answer.count for answer in mechanism.answers)
            alphabet = max(channel.output_count for channel in channels)
        elif isinstance(mechanism, ItemMechanism):
            channels, places, drawn_from = (mechanism.channel,), 1, mechanism.length
        else:
            return None
        if places * alphabet > MAX_CELLS:
            return None
        span_of: dict[FiniteChannel, int] = {}
        spans: list[CodeRange] = []
        for channel in channels:
            if channel not in span_of:
                span = CodeRange.of(channel, drawn_from)
                if span is None:
                    return None
                span_of[channel] = len(spans)
                spans.append(span.padded(alphabet))
        kinds = np.array([span_of[channel] for channel in channels], dtype=np.int64)
        if isinstance(mechanism, LinkMechanism):
            kinds = np.repeat(kinds, [answer.count for answer in mechanism.answers])
        return cls(mechanism, tuple(spans), np.resize(kinds, places), alphabet)

    @classmethod
    def _anywhere(cls, mechanism: Mechanism) -> ReportRanges | None:
        """Where each of the answers may stand at any place of a report."""
        spans = [CodeRange.of(answer.channel) for answer in mechanism.answers]
        places = place_count(mechanism)
        if not spans or any(span is None for span in spans) or places * mechanism.shape.alphabet > MAX_CELLS:
            return None
        padded = [span.padded(mechanism.shape.alphabet) for span in spans if span is not None]
        return cls(
            mechanism, (CodeRange.around(padded),), np.zeros(places, dtype=np.int64), mechanism.shape.alphabet
        )

    @property
    def places(self) -> int:
        """How many places a report may say something about."""
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

    def cells(self, reports: Reports) -> NDArray[np.int64]:
        """Return the place-and-code of every answer in some reports."""
        if isinstance(self.mechanism, LinkMechanism):
            _, named, degrees = link_answers(self.mechanism, reports)
            cells = self.alphabet * named.astype(np.int64) + 1
            if degrees is not None:
                cells = np.append(cells, self.alphabet * self.mechanism.size + degrees)
            return cells
        return code_places(reports).astype(np.int64) * self.alphabet + reports.codes.astype(np.int64)

    def count(self, reports: Reports) -> Numbers:
        """How often each code came at each place."""
        counts = np.bincount(self.cells(reports), minlength=self.places * self.alphabet)
        counts = counts.reshape(self.places, self.alphabet)
        if isinstance(self.mechanism, LinkMechanism):
            links = counts[: self.mechanism.size]
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
                (own, span.low, span.high, "code {}"),
                (np.cumsum(own, axis=1), span.low_below, span.high_below, "a code of 0 to {}"),
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
        """Which answers of each user lie in the upper half of what came (users x answers), and how likely that may be."""
        if isinstance(self.mechanism, LinkMechanism):
            kinds, cuts = self.kinds, np.zeros(self.places, dtype=np.int64)
            there = np.zeros((reports.users, self.places), dtype=bool)
            owners, named, degrees = link_answers(self.mechanism, reports)
            there[owners, named] = True
            if degrees is not None:
                cuts[-1] = min(int(np.median(degrees)), self.alphabet - 2)
                there[:, -1] = degrees > cuts[-1]
        else:
            codes = reports.codes.reshape(reports.users, -1)
            # Where dimensions are named there is one channel for all of them.
            kinds = self.kinds[: codes.shape[1]]
            cuts = np.full(codes.shape[1], middle_code(codes.ravel(), self.alphabet))
            there = codes > cuts
        low = np.array([1 - self.spans[kind].high_below[cut] for kind, cut in zip(kinds, cuts, strict=True)])
        high = np.array([1 - self.spans[kind].low_below[cut] for kind, cut in zip(kinds, cuts, strict=True)])
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
