"""PPGNN's personalized perturbation: every user chooses a privacy level, and the level stays private.

Public are the budgets ε_1 < … < ε_f of the levels. A user holds a level τ and a row of d values. A report names a
randomized level τ' and answers some sampled dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import Channel, Values
from graphveil.channels.exact import Claim, Loss
from graphveil.channels.sampling import SystemWords, Words, code_type
from graphveil.errors import InputError
from graphveil.mechanisms.base import Answer, Estimate, Mechanism, ReportShape, Subject
from graphveil.mechanisms.features import Asking
from graphveil.mechanisms.personal import PersonalRows, checked_shares, level_of
from graphveil.mechanisms.ppm_answers import (
    AnswerTable,
    Decoding,
    RandomizedLevels,
    ReportForm,
    Way,
    check_alike,
    groups,
    top,
)
from graphveil.mechanisms.ppm_losses import EntryErrors, PairLosses, WholeReports, worst
from graphveil.mechanisms.reports import Reports, even_pointers
from graphveil.mechanisms.rows import PublicRange, Rows, choose_some, listed

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class PersonalMechanism(Mechanism):
    """A level and m' of d values, both randomized: τ' by ``level_channel``, each value by the channel of ``ways[τ-1][τ']``.

    Everybody names as many dimensions as anybody answers, chosen without looking; m' of them are answered, the others get
    a blank code. The level's code is one more entry, at place d. So every report has the same length, and the number of
    answers says no more than ``ways`` make it depend on. ``favoured`` says that some values are named more often than
    others; each answer then counts as much as makes up for it.

    `ppm` (sealed): ESW at ε_L = γ·ε_1 for everybody; m' = max(1, min(d, ⌊ε_{τ'}/2.2⌋)) with τ' clamped to 1..f; each answer
    at a_τ = min(20, (ε_τ-ε_L)/m'), as a sign that has the same code for all levels. `ppm-printed`: all of that from the
    user's own level, as printed, and codes that stand for magnitudes: the level is not protected.

    The server decodes a sign s beside τ' as s·(d/m')/E[r(a_τ) | τ'] half widths, with the response r(a) = tanh(a/2) of one
    bit and the levels' shares as they are estimated from all τ' (`level_shares`), or as given. The mean of an estimate
    over users is the mean of their rows if level and row are independent and the shares are right; for a user of a known
    level it is not (``unbiased`` is False), it is then r(a_τ)/E[r | τ'] times the row.

    Source: PPM of PPGNN (Algorithms 1 to 3); sealed, where its printed form reveals the level. Claim: two users of one
    level are told apart by at most that level's budget, two of different levels by at most the larger budget; ``claim`` is
    the largest budget, which holds for any two.
    """

    name: str
    claim: Claim
    public: PublicRange
    size: int
    budgets: tuple[float, ...]
    level_channel: Channel
    ways: tuple[tuple[Way, ...], ...]
    unbiased: bool = False
    binary: bool = False
    shares: tuple[float, ...] | None = None
    favoured: Asking | None = None
    blinded: bool = False
    subject: Subject = "features"
    personal: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.shares is not None:
            fixed = checked_shares(self.shares, len(self.budgets))
            object.__setattr__(self, "shares", tuple(fixed.tolist()))
        if (self.asking.size, self.asking.count) != (self.size, self.most):
            raise InputError(f"favoured must be about {self.most} of {self.size} values")
        for ways in zip(*self.ways, strict=True):
            for group in groups(ways).values():
                first = ways[group[0]].channel
                for level in group[1:]:
                    check_alike(first, ways[level].channel)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Every channel that some report answers through, with how many answers."""
        distinct = dict.fromkeys((way.channel, way.count) for ways in self.ways for way in ways)
        return (Answer(self.level_channel, 1), *(Answer(*pair) for pair in distinct))

    @cached_property
    def most(self) -> int:
        """The largest number of values that anybody answers."""
        return max(way.count for ways in self.ways for way in ways)

    @cached_property
    def asking(self) -> Asking:
        """Which values are named."""
        return Asking(self.size, self.most) if self.favoured is None else self.favoured

    @property
    def blank(self) -> int:
        """The code of a dimension that is named and not answered."""
        return self._table.blank

    @cached_property
    def shape(self) -> ReportShape:
        return ReportShape(
            self.most + 1,
            max(self.blank + 1, self.level_channel.output_count),
            self.size,
            names_dimensions=self.most < self.size,
            places=self.size + 1,
        )

    @property
    def strictest(self) -> float:
        return self.budgets[0] if not self.blinded else 0.0

    @cached_property
    def _table(self) -> AnswerTable:
        return AnswerTable(self.ways, self.claim, self.binary)

    @cached_property
    def _levels(self) -> RandomizedLevels:
        return RandomizedLevels(self.level_channel, len(self.budgets))

    @cached_property
    def _form(self) -> ReportForm:
        return ReportForm(
            self.name, self.asking, self.blank, self.level_channel.output_count, self._table.counts
        )

    @cached_property
    def _decoding(self) -> Decoding:
        return Decoding(self.ways, self.size, self._levels, self.blank)

    @cached_property
    def _errors(self) -> EntryErrors:
        return EntryErrors(self._decoding)

    # What the client does.

    def randomize(self, private: Any, words: Words | None = None) -> Reports:
        source = SystemWords() if words is None else words
        held = PersonalRows.of(private, self.size)
        rows = Rows(held.rows, self.size)
        held.check_shape(rows.users)
        levels = held.clipped_levels(len(self.budgets)) - 1
        # Whatever a level is, the same number of words is drawn: all named dimensions are answered, some answers forgotten.
        dims = self.asking.choose(rows.users, source)
        named = self.level_channel.respond(levels, source)
        answered = choose_some(self._table.counts[levels, named], self.most, source)
        values = self.public.to_unit(rows.take(dims))
        drawn = self._table.respond(values, levels, named, source)
        codes = np.empty((rows.users, self.shape.length), dtype=code_type(self.shape.alphabet))
        codes[:, :-1] = np.where(answered, drawn, self.blank)
        codes[:, -1] = named
        return self._reports(dims, codes)

    def count(self, private: Any) -> int:
        held = PersonalRows.of(private, self.size)
        users = Rows(held.rows, self.size).users
        held.check_shape(users)
        return users

    def altered(self, private: Any) -> int:
        held = PersonalRows.of(private, self.size)
        rows = Rows(held.rows, self.size)
        held.check_shape(rows.users)
        wrong = held.clipped_levels(len(self.budgets)) != listed(held.levels, "levels")
        return int((wrong | rows.outside(self.public, self.binary)).sum())

    def _reports(self, dims: NDArray[np.int32], codes: NDArray[np.unsignedinteger]) -> Reports:
        pointers = even_pointers(len(codes), self.shape.length)
        if not self.shape.names_dimensions:
            return Reports(self, pointers, None, codes.ravel())
        places = np.full(codes.shape, self.size, dtype=np.int32)
        places[:, :-1] = dims
        return Reports(self, pointers, places.ravel(), codes.ravel())

    @property
    def level_budgets(self) -> tuple[float, ...]:
        return self.budgets

    def costs(self, private: Any) -> Floats:
        levels = PersonalRows.of(private, self.size).clipped_levels(len(self.budgets))
        return np.array(self.budgets)[levels - 1]

    def values_of(self, private: Any) -> Any:
        return PersonalRows.of(private, self.size).rows

    def with_values(self, private: Any, values: Any) -> Any:
        levels = PersonalRows.of(private, self.size).levels
        return np.concatenate([values, np.asarray(levels, dtype=np.float64)[:, None]], axis=1)

    # What the server does.

    def check_reports(self, reports: Reports) -> None:
        self._form.check(reports)

    def level_codes(self, reports: Reports) -> NDArray[np.int64]:
        """τ' of every user as codes of ``level_channel``."""
        return self._form.codes(reports)[:, -1].astype(np.int64)

    def levels(self, reports: Reports) -> NDArray[np.int64]:
        """τ' of every user, clamped to 1..f: a randomized level, which says as little as the claim."""
        return self._levels.clamped[self.level_codes(reports)]

    @property
    def transition(self) -> Floats:
        """The probability of each τ' (column) for each level (row)."""
        return self._levels.transition

    def level_shares(self, reports: Reports) -> Floats:
        """Which share of users chose each level: as given, or estimated from all τ' by EM."""
        if self.shares is not None:
            return np.array(self.shares)
        return self._levels.shares(self.level_codes(reports))

    def posterior(self, shares: Any) -> Floats:
        """P[τ | τ'] at these shares: a row a τ', a column a level."""
        return self._levels.posterior(shares)

    def decoding(self, shares: Any) -> Floats:
        """What each code (column) beside each τ' (row) adds to an estimate, in half widths; a blank adds 0."""
        return self._decoding.table(shares)

    def estimate(self, reports: Reports, shares: Any = None) -> Estimate:
        """Estimates of all rows; ``shares`` of the levels replace those that are estimated from the reports."""
        shares = self.level_shares(reports) if shares is None else shares
        codes, dims = self._form.codes(reports), self._form.dims(reports)
        decoded = self.public.half_width * self.decoding(shares)
        answered = codes[:, :-1] != self.blank
        values = decoded[codes[:, -1:].astype(np.int64), codes[:, :-1]][answered]
        if not self.asking.even:
            values *= self.asking.factors[dims[answered]]
        pointers = np.concatenate([[0], np.cumsum(answered.sum(axis=1))]).astype(np.int64)
        shape = (reports.users, self.size)
        return Estimate(shape, pointers, dims[answered], values, self.public.centre, self.unbiased)

    def settled(self) -> PersonalMechanism:
        if self.shares is not None:
            return self
        return replace(self, shares=(1 / len(self.budgets),) * len(self.budgets))

    def variances(self, shares: Any) -> Floats:
        """The largest variance, over the values that an entry can have, of an estimated entry given τ'c = 1..f.

        With one bit: h²·Σ P[τ' | τ'c]·(d/m')/E[r(a_τ) | τ']², h the half width (at the middle of the range; a value x
        half widths away has h²x² less). A τ'c that is never seen gets the variance at equal shares.
        """
        return self.public.half_width**2 * self._errors.variances(shares)

    def level_errors(self, shares: Any) -> Floats:
        """The mean square error of an estimated entry for users of each level, all input symbols equally likely.

        Noise and bias together: what a level's users gain or lose, which they know and the server does not.
        """
        return self.public.half_width**2 * self._errors.by_level(shares)

    def answered_by_level(self) -> Floats:
        """How many values a user of each level answers in expectation."""
        return np.asarray((self.transition * self._table.counts).sum(axis=1))

    def clamped_transition(self) -> Floats:
        """The probability of each τ' within 1..f (column) for each level (row)."""
        return self._levels.clamped_transition()

    @property
    def largest(self) -> float:
        """B, the largest magnitude of an entry (offset aside) whatever the shares of the levels are; public."""
        tops = [self.size / way.count * top(way.channel) for ways in self.ways for way in ways]
        return self.public.half_width * max(tops) * float(self.asking.factors.max())

    @cached_property
    def spread(self) -> float:
        """The root mean square of a row's estimate over the codes of its report, all inputs and levels equally likely; public.

        Blanks and the level's code count as 0, so that √(codes) times this is how long a row is.
        """
        shares = np.array(self.settled().shares)
        seen, squares = shares @ self.transition, self._errors.mean_squares(shares).mean(axis=1)
        entry = seen @ squares * self.size / self.shape.length * self.asking.mean_square_factor
        return self.public.half_width * math.sqrt(entry)

    # What is protected.

    def pair_epsilon(self, one: Any, other: Any) -> float:
        """The claim for two inputs: the budget of their level, or the larger one where they have two."""
        return 0.0 if self.blinded else self.budgets[max(level_of(one), level_of(other)) - 1]

    def compares(self, one: Any, other: Any) -> bool:
        """The control still randomizes levels: it hides rows of one level from each other."""
        return not self.blinded or level_of(one) == level_of(other)

    def pair_loss(self, one: int, other: int, equal_rows: bool = False) -> Loss:
        """The exact loss of whole reports between a user of level one and a user of another (or the same) level.

        The largest over τ' of ln(P[τ' | one]/P[τ' | other]) plus m' times the largest loss of an answer, over all pairs of
        values or, with ``equal_rows``, over all values that both have in common.
        """
        return self._losses.between(one - 1, other - 1, equal_rows)

    @cached_property
    def _losses(self) -> PairLosses:
        return PairLosses(self._levels.rows, self.ways)

    @property
    def loss(self) -> Loss:
        """The exact loss of whole reports, over any two inputs that the claim is about."""
        return worst([self.pair_loss(one, other) for one, other in self._pairs()])

    def _pairs(self) -> list[tuple[int, int]]:
        levels = range(1, len(self.budgets) + 1)
        return [(one, other) for one in levels for other in levels if one == other or not self.blinded]

    @cached_property
    def level_loss(self) -> Loss:
        """What the level itself leaks: the exact loss over pairs of levels with equal rows."""
        return level_loss([self])

    @property
    def mixed_loss(self) -> Loss:
        """The exact loss between any two users of different levels."""
        levels = range(1, len(self.budgets) + 1)
        return worst([self.pair_loss(one, other) for one in levels for other in levels if one != other])

    @property
    def counts_follow_named(self) -> bool:
        """Whether the number of answers depends on the randomized level alone."""
        return bool((self._table.counts == self._table.counts[0]).all())

    def feature_loss(self, level: int) -> Loss:
        """The exact loss between two rows of users of one level."""
        return self.pair_loss(level, level)

    @property
    def holds(self) -> bool:
        return all(
            not self.pair_loss(one, other).exceeds(0.0 if self.blinded else self.budgets[max(one, other) - 1])
            for one, other in self._pairs()
        )

    # What an audit enumerates.

    def extremes(self) -> list[Values]:
        """The rows at both ends of the range and one that has them in turn, for each level, which is the last number."""
        low, high, count = self.public.low, self.public.high, len(self.budgets)
        turns = np.where(np.arange(self.size) % 2, low, high)
        rows = [np.full(self.size, low), np.full(self.size, high), turns]
        held = [np.append(row, float(level)) for level in range(1, count + 1) for row in rows]
        return [np.append(rows[0], 1.0), np.append(rows[1], float(count)), *held]

    def joint_counts(self, private: Any) -> tuple[NDArray[np.object_], int]:
        row = np.asarray(private, dtype=np.float64)
        return self._whole_reports.counts(level_of(row) - 1, self.public.to_unit(row[:-1]))

    def possible_reports(self) -> Reports:
        """Every possible whole report, in the order of `joint_counts`."""
        return self._reports(*self._whole_reports.listed(self.blank, self.shape.alphabet))

    def describe_outcome(self, index: int) -> str:
        return self._whole_reports.describe(index)

    @property
    def _whole_reports(self) -> WholeReports:
        return WholeReports(self.name, self.asking, self.level_channel, self.ways)

    def blind(self) -> PersonalMechanism:
        """The control: channels for values are blinded, levels are randomized as before."""
        blinded = {way.channel: way.channel.blind() for ways in self.ways for way in ways}
        ways = tuple(tuple(replace(way, channel=blinded[way.channel]) for way in ways) for ways in self.ways)
        return replace(self, name=f"blind {self.name}", claim=Claim(0.0), ways=ways, blinded=True)

    def described(self) -> dict[str, Any]:
        ways = [[[way.count, way.first, way.channel.fingerprint] for way in beside] for beside in self.ways]
        return {
            "dims": self.size,
            "range": [self.public.low, self.public.high],
            "budgets": self.budgets,
            "encoding": "threshold" if self.binary else "rounding",
            "level": self.level_channel.fingerprint,
            "ways": ways,
            **self.asking.described(),
        }

    def __repr__(self) -> str:
        budgets = ", ".join(f"{budget:g}" for budget in self.budgets)
        return f"{type(self).__name__}({self.name}, budgets {budgets}, at most {self.most} of {self.size} values)"


def level_loss(rounds: Sequence[PersonalMechanism]) -> Loss:
    """What all reports of a user together leak of the level itself: the exact loss over pairs of levels with equal rows."""
    levels = range(1, len(rounds[0].budgets) + 1)
    return worst(
        [
            Loss.total(mechanism.pair_loss(one, other, True) for mechanism in rounds)
            for one in levels
            for other in levels
            if one != other
        ]
    )
