"""PPGNN's personalized perturbation: every user chooses a privacy level, and the level stays private.

Public are the budgets ε_1 < … < ε_f of the levels. A user holds a level τ and a row of d values. A report names a
randomized level τ' and answers some sampled dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, permutations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import Channel, FiniteChannel, Values
from graphveil.channels.exact import Claim, Loss
from graphveil.channels.sampling import DrawnBits, RandomBits, SystemBits, code_type
from graphveil.checks import check_shares
from graphveil.errors import InputError, MessageError
from graphveil.mechanisms.base import (
    MAX_OUTCOMES,
    Answer,
    Estimate,
    Mechanism,
    ReportShape,
)
from graphveil.mechanisms.features import ReportPart, ValueMechanism
from graphveil.mechanisms.personal_losses import (
    Way,
    check_alike,
    groups,
    largest_variance,
    loss_between,
    top,
    worst,
)
from graphveil.mechanisms.reports import Reports, row_pointers
from graphveil.mechanisms.rows import (
    Rows,
    binary_symbols,
    choose_some,
    listed,
    rectangle,
    round_at_random,
)

Floats = NDArray[np.float64]
# When the shares of the levels are found.
ITERATIONS, CLOSE = 300, 1e-9


class PersonalRows(NamedTuple):
    """The levels and the rows of some users; rows are an array or a sparse matrix.

    Where there is only an array, it holds a user's values and then the level, as the last column.
    """

    levels: Any
    rows: Any

    @classmethod
    def of(cls, private: Any, dimensions: int) -> PersonalRows:
        """Read levels and rows from a pair of them, or from an array whose last column is the level."""
        if isinstance(private, tuple):
            if len(private) != 2:
                raise InputError(f"users hold a pair (levels, rows), got {len(private)} things")
            return cls(*private)
        array = rectangle(private)
        if array.ndim != 2 or array.shape[1] != dimensions + 1:
            raise InputError(
                f"users hold a pair (levels, rows), or an array of users x ({dimensions} values and the level), got "
                f"the shape {array.shape}"
            )
        return cls(array[:, -1], array[:, :-1])

    def clipped_levels(self, highest: int) -> NDArray[np.int64]:
        """Return the levels as integers of 1..highest.

        A level outside counts as the nearer end, and a value that is not a number as 1.
        """
        levels = listed(self.levels, "levels")
        clipped: NDArray[np.int64] = np.clip(np.nan_to_num(levels, nan=1.0), 1, highest).astype(np.int64)
        return clipped


def level_of(private: Any) -> int:
    """Return the level of one user: the first of a pair (level, row), or the last number of an array."""
    return int(private[0]) if isinstance(private, tuple) else int(np.asarray(private)[-1])


@dataclass(frozen=True, eq=False, repr=False)
class PersonalMechanism(ValueMechanism):
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

    budgets: tuple[float, ...] = field()
    level_channel: Channel
    ways: tuple[tuple[Way, ...], ...]
    unbiased: bool = False
    shares: tuple[float, ...] | None = None
    blinded: bool = False

    def __post_init__(self) -> None:
        if self.shares is not None:
            fixed = self._checked(self.shares)
            object.__setattr__(self, "shares", tuple(fixed.tolist()))
        super().__post_init__()
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
        return max(way.count for ways in self.ways for way in ways)

    @property
    def answer_square(self) -> float:
        square = self.spread**2 * self.shape.length * self.most / self.size**2
        return square / self.asking.mean_square_factor

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The number of values answered, by level (row) and randomized level (column)."""
        return np.array([[way.count for way in ways] for ways in self.ways])

    @cached_property
    def blank(self) -> int:
        """The code of a dimension that is named and not answered: one more than any answer has."""
        return max(way.first + way.channel.output_count for ways in self.ways for way in ways)

    @cached_property
    def shape(self) -> ReportShape:
        return ReportShape(
            self.most + 1,
            max(self.blank + 1, self.level_channel.output_count),
            self.size,
            names_dimensions=self.most < self.size,
            places=self.size + 1,
        )

    # What the client does.

    def randomize(self, private: Any, random_bits: RandomBits | None = None) -> Reports:
        source = SystemBits() if random_bits is None else random_bits
        held, rows = self._held(private)
        levels = held.clipped_levels(len(self.budgets)) - 1
        # Whatever a level is, the same number of words is drawn: all named dimensions are answered, some answers forgotten.
        dims = self.asking.choose(rows.users, source)
        named = self.level_channel.respond(levels, source)
        answered = choose_some(self.counts[levels, named], self.most, source)
        values = self.public.to_unit(rows.take(dims))
        drawn = self._respond(values, levels, named, source)
        codes = np.empty((rows.users, self.shape.length), dtype=code_type(self.shape.alphabet))
        codes[:, :-1] = np.where(answered, drawn, self.blank)
        codes[:, -1] = named
        return self._reports(dims, codes)

    def _respond(
        self,
        values: Values,
        levels: NDArray[np.int64],
        named: NDArray[np.unsignedinteger],
        random_bits: RandomBits,
    ) -> NDArray[np.unsignedinteger]:
        """Return a code for each value of [-1, 1] (users x values), given levels (from 0) and codes of τ'."""
        starts = np.array([[self._blocks[way.channel, way.first] for way in ways] for ways in self.ways])
        rows = self._encode(values, starts[levels, named], random_bits)
        return self._every_answer.respond(rows.ravel(), random_bits).reshape(values.shape)

    def _encode(
        self, values: Values, starts: NDArray[np.int64], random_bits: RandomBits
    ) -> NDArray[np.int64]:
        """Return values of [-1, 1] as rows of the table of all answers, for the channels that start there."""
        if self.binary:
            return starts[:, None] + binary_symbols(values)
        # Words are drawn for all values alike: those of a user do not depend on the levels of others.
        chance = random_bits.take(values.size).reshape(values.shape)
        rows = np.empty(values.shape, dtype=np.int64)
        for (channel, _), start in self._blocks.items():
            own = starts == start
            own_words = DrawnBits(chance[own].ravel())
            rows[own] = start + round_at_random(values[own], channel.inputs, own_words)
        return rows

    @cached_property
    def _blocks(self) -> dict[tuple[FiniteChannel, int], int]:
        """The first row of each channel in the table of all answers."""
        kinds = list(dict.fromkeys((way.channel, way.first) for ways in self.ways for way in ways))
        sizes = [channel.input_count for channel, _ in kinds]
        return dict(zip(kinds, (int(start) for start in np.cumsum([0, *sizes[:-1]])), strict=True))

    @cached_property
    def _every_answer(self) -> Channel:
        """The rows of all channels in one table, so that a user's words do not depend on the levels of others."""
        size = sum(channel.input_count for channel, _ in self._blocks)
        table = np.zeros((size, self.blank), dtype=np.int64)
        for (channel, first), start in self._blocks.items():
            for symbol in range(channel.input_count):
                table[start + symbol, first : first + channel.output_count] = channel.row(symbol)
        rows, codes = np.arange(float(len(table))), np.arange(float(self.blank))
        return Channel("all answers", table, rows, codes, self.claim)

    def count(self, private: Any) -> int:
        return self._held(private)[1].users

    def _held(self, private: Any) -> tuple[PersonalRows, Rows]:
        """Read what users hold; refuse anything but one level a row."""
        held = PersonalRows.of(private, self.size)
        rows, count = Rows(held.rows, self.size), len(listed(held.levels, "levels"))
        if count != rows.users:
            raise InputError(f"levels must be {rows.users} integers, one a row, got {count}")
        return held, rows

    def altered(self, private: Any) -> int:
        held, rows = self._held(private)
        wrong = held.clipped_levels(len(self.budgets)) != listed(held.levels, "levels")
        return int((wrong | rows.outside(self.public, self.binary)).sum())

    def costs(self, private: Any) -> Floats:
        levels = PersonalRows.of(private, self.size).clipped_levels(len(self.budgets))
        return np.array(self.budgets)[levels - 1]

    # What the server does.

    def check_reports(self, reports: Reports) -> None:
        codes, level_codes = self._codes(reports), self.level_channel.output_count
        if reports.dims is not None and (reports.dims.reshape(codes.shape)[:, -1] != self.size).any():
            raise MessageError(f"a report of {self.name} must end with its level, at place {self.size}")
        if (codes[:, -1] >= level_codes).any():
            raise MessageError(f"codes of levels must be below {level_codes}")
        if (codes[:, :-1] > self.blank).any():
            raise MessageError(f"codes of values must be at most {self.blank}, which is a blank")
        if reports.dims is not None and not self.asking.allows(self._dims(reports)):
            raise MessageError(f"a report of {self.name} must name as many values of the pool as planned")
        answered = (codes[:, :-1] != self.blank).sum(axis=1)
        if not (self.counts.T[codes[:, -1]] == answered[:, None]).any(axis=1).all():
            raise MessageError(f"a report of {self.name} must answer as many values as its level says")

    def _codes(self, reports: Reports) -> NDArray[np.unsignedinteger]:
        """Return the codes of the named values and then that of τ', one row per user."""
        return reports.codes.reshape(-1, self.shape.length)

    def _dims(self, reports: Reports) -> NDArray[np.int32]:
        """Return the dimensions that are named, one row per user."""
        if reports.dims is None:
            return np.broadcast_to(np.arange(self.size, dtype=np.int32), (reports.users, self.size))
        return reports.dims.reshape(-1, self.shape.length)[:, :-1]

    def level_codes(self, reports: Reports) -> NDArray[np.int64]:
        """Return τ' of every user as codes of ``level_channel``."""
        return self._codes(reports)[:, -1].astype(np.int64)

    @cached_property
    def clamped(self) -> NDArray[np.int64]:
        """The level of 1..f that each τ' is nearest to, by its code."""
        return np.clip(self.level_channel.outputs, 1, len(self.budgets)).astype(np.int64)

    def levels(self, reports: Reports) -> NDArray[np.int64]:
        """Return τ' of every user, clamped to 1..f: a randomized level, which says as little as the claim."""
        return self.clamped[self.level_codes(reports)]

    @cached_property
    def _level_rows(self) -> list[list[int]]:
        """The number of the level channel's draws that give each τ', for each level."""
        return [self.level_channel.row(level) for level in range(len(self.budgets))]

    @cached_property
    def transition(self) -> Floats:
        """The probability of each τ' (column) for each level (row)."""
        return self.level_channel.probabilities

    def clamped_transition(self) -> Floats:
        """The probability of each τ' within 1..f (column) for each level (row)."""
        levels = range(1, len(self.budgets) + 1)
        return np.stack([self.transition[:, self.clamped == level].sum(axis=1) for level in levels], axis=1)

    def level_shares(self, reports: Reports) -> Floats:
        """Return the share of users who chose each level: as given, or estimated from all τ' by EM."""
        if self.shares is not None:
            return np.array(self.shares)
        counts = np.bincount(self.level_codes(reports), minlength=self.level_channel.output_count)
        return estimate_level_shares(counts, self.transition)

    def _checked(self, shares: Any) -> Floats:
        return check_shares(shares, "shares", len(self.budgets), why="one a level")

    def posterior(self, shares: Any) -> Floats:
        """Return P[τ | τ'] at these shares of the levels: one row per τ', one column per level."""
        joint = self._checked(shares)[:, None] * self.transition
        return np.asarray((joint / np.maximum(joint.sum(axis=0), 1e-300)).T)

    def decoding(self, shares: Any) -> Floats:
        """Return what each code (column) beside each τ' (row) adds to an estimate, in half widths.

        A blank adds 0.

        A sign s decodes to s·(d/m')/E[r(a_τ) | τ'], at these shares of the levels.
        """
        decoded = np.zeros((self.level_channel.output_count, self.blank + 1))
        for place, weights in enumerate(self.posterior(shares)):
            ways = tuple(ways[place] for ways in self.ways)
            for group in groups(ways).values():
                way, weight = ways[group[0]], weights[group]
                tops = np.array([top(ways[level].channel) for level in group])
                # r(a_τ) of a level is 1 over its magnitude; the signs are the same for all levels of the group.
                response = weight @ (1 / tops) / weight.sum() if weight.sum() > 0 else (1 / tops).mean()
                signs = way.channel.outputs / tops[0]
                codes = slice(way.first, way.first + way.channel.output_count)
                decoded[place, codes] = self.size / way.count * signs / response
        return decoded

    def estimate(self, reports: Reports, shares: Any = None) -> Estimate:
        """Estimate all rows; ``shares`` of the levels replace those that are estimated from the reports."""
        shares = self.level_shares(reports) if shares is None else shares
        codes, dims = self._codes(reports), self._dims(reports)
        decoded = self.public.half_width * self.decoding(shares)
        answered = codes[:, :-1] != self.blank
        values = decoded[codes[:, -1:].astype(np.int64), codes[:, :-1]][answered]
        if not self.asking.even:
            values *= self.asking.factors[dims[answered]]
        pointers = row_pointers(answered.sum(axis=1))
        shape = (reports.users, self.size)
        return Estimate(shape, pointers, dims[answered], values, self.public.centre, self.unbiased)

    def settled(self) -> PersonalMechanism:
        """Return the same mechanism, decoding each report by itself.

        It does not learn the shares of levels from all reports.
        """
        if self.shares is not None:
            return self
        return replace(self, shares=(1 / len(self.budgets),) * len(self.budgets))

    def variances(self, shares: Any) -> Floats:
        """Return the largest variance of an estimated entry given τ'c = 1..f, over all values of the entry.

        With one bit: h²·Σ P[τ' | τ'c]·(d/m')/E[r(a_τ) | τ']², h the half width (at the middle of the range; a value x
        half widths away has h²x² less). A τ'c that is never seen gets the variance at equal shares.
        """
        prior = self._checked(shares)
        if not ((prior @ self.transition) > 0).all():
            prior = np.full(len(prior), 1 / len(prior))
        grid, squares = self._mean_squares(prior)
        seen = prior @ self.transition
        variances = []
        for level in range(1, len(self.budgets) + 1):
            weight = np.where(self.clamped == level, seen, 0.0)
            variances.append(largest_variance(grid, weight @ squares / weight.sum()))
        return self.public.half_width**2 * np.array(variances)

    def _mean_squares(self, shares: Any) -> tuple[Values, Floats]:
        """Return all values that are an input of some channel, and mean squares of entries in half widths.

        There is a row of mean squares for each τ', one for each value.

        Between two such values mean squares are linear.
        """
        grid = np.unique(np.concatenate([way.channel.inputs for ways in self.ways for way in ways]))
        squares = self.decoding(shares) ** 2
        entry_squares = np.zeros((len(squares), len(grid)))
        for place, weights in enumerate(self.posterior(shares)):
            for level, weight in enumerate(weights):
                way = self.ways[level][place]
                codes = squares[place, way.first : way.first + way.channel.output_count]
                means = np.interp(grid, way.channel.inputs, way.channel.probabilities @ codes)
                entry_squares[place] += weight * way.count / self.size * means
        return grid, entry_squares

    def level_errors(self, shares: Any) -> Floats:
        """Return the mean square error of an estimated entry for each level, all inputs equally likely.

        Noise and bias together: what a level's users gain or lose, which they know and the server does not.
        """
        decoded, inputs = self.decoding(shares), self.ways[0][0].channel.inputs
        errors = np.zeros(len(self.ways))
        for level, own in enumerate(self.ways):
            for place, way in enumerate(own):
                codes = decoded[place, way.first : way.first + way.channel.output_count]
                squares = (codes[None, :] - inputs[:, None]) ** 2
                asked = way.count / self.size
                error = asked * (way.channel.probabilities * squares).sum(axis=1) + (1 - asked) * inputs**2
                errors[level] += self.transition[level, place] * error.mean()
        return self.public.half_width**2 * errors

    def answered_by_level(self) -> Floats:
        """The expected number of values that a user of each level answers."""
        return np.asarray((self.transition * self.counts).sum(axis=1))

    @property
    def largest(self) -> float:
        """B, whatever the shares of the levels are."""
        tops = [self.size / way.count * top(way.channel) for ways in self.ways for way in ways]
        return self.public.half_width * max(tops) * float(self.asking.factors.max())

    @cached_property
    def spread(self) -> float:
        """The root mean square of a row's estimate over the codes of its report, all inputs and levels equally likely; public.

        Blanks and the level's code count as 0, so that √(codes) times this is how long a row is.
        """
        shares = np.array(self.settled().shares)
        seen, squares = shares @ self.transition, self._mean_squares(shares)[1].mean(axis=1)
        entry = seen @ squares * self.size / self.shape.length * self.asking.mean_square_factor
        return self.public.half_width * math.sqrt(entry)

    # What is protected.

    def pair_epsilon(self, one: Any, other: Any) -> float:
        """Return the claim for two inputs: the budget of their level, or the larger one of two."""
        return 0.0 if self.blinded else self.budgets[max(level_of(one), level_of(other)) - 1]

    def pair_loss(self, one: int, other: int, equal_rows: bool = False) -> Loss:
        """Return the exact loss of whole reports between users of two levels, or of the same level.

        The largest over τ' of ln(P[τ' | one]/P[τ' | other]) plus m' times the largest loss of an answer.

        Parameters
        ----------
        one, other
            The two levels.
        equal_rows
            Whether the loss of an answer is over values that both users have in common, instead of all pairs
            of values.
        """
        return self._losses[one - 1, other - 1, equal_rows]

    @cached_property
    def _losses(self) -> dict[tuple[int, int, bool], Loss]:
        levels = list(enumerate(zip(self._level_rows, self.ways, strict=True)))
        return {
            (place, against, equal): loss_between(one, other, equal)
            for place, one in levels
            for against, other in levels
            for equal in (False, True)
        }

    @property
    def loss(self) -> Loss:
        """The exact loss of whole reports, over any two inputs that the claim is about."""
        return worst([self.pair_loss(one, other) for one, other in self._pairs()])

    def _pairs(self) -> list[tuple[int, int]]:
        levels = range(1, len(self.budgets) + 1)
        return [(level, level) for level in levels] if self.blinded else list(product(levels, levels))

    @cached_property
    def level_loss(self) -> Loss:
        """The exact loss of the level itself, over pairs of levels with equal rows."""
        return level_loss([self])

    @property
    def mixed_loss(self) -> Loss:
        """The exact loss between any two users of different levels."""
        pairs = permutations(range(1, len(self.budgets) + 1), 2)
        return worst([self.pair_loss(one, other) for one, other in pairs])

    @property
    def counts_follow_named(self) -> bool:
        """Whether the number of answers depends on the randomized level alone."""
        return bool((self.counts == self.counts[0]).all())

    def feature_loss(self, level: int) -> Loss:
        """Return the exact loss between two rows of users of one level."""
        return self.pair_loss(level, level)

    @property
    def holds(self) -> bool:
        return not any(
            self.pair_loss(one, other).exceeds(0.0 if self.blinded else self.budgets[max(one, other) - 1])
            for one, other in self._pairs()
        )

    # What an audit enumerates.

    def extremes(self) -> list[Values]:
        """Return, for each level, the rows at both ends of the range and one that alternates.

        The level comes last.
        """
        low, high, count = self.public.low, self.public.high, len(self.budgets)
        turns = np.where(np.arange(self.size) % 2, low, high)
        rows = [np.full(self.size, low), np.full(self.size, high), turns]
        held = [np.append(row, float(level)) for level in range(1, count + 1) for row in rows]
        return [np.append(rows[0], 1.0), np.append(rows[1], float(count)), *held]

    def report_parts(self) -> Iterator[ReportPart]:
        """Yield reports by dimensions named, τ', the way values are answered, and which."""
        # Of each group of levels that a report beside a τ' cannot tell apart, one way of answering.
        ways = [
            [beside[group[0]] for group in groups(beside).values()] for beside in zip(*self.ways, strict=True)
        ]
        size = self.asking.choices * sum(
            math.comb(self.most, way.count) * float(way.channel.output_count) ** way.count
            for beside in ways
            for way in beside
        )
        if size > MAX_OUTCOMES:
            raise InputError(f"{self.name} has too many reports to enumerate: take fewer dimensions")
        subsets, weights, _ = self.asking.subsets()
        for chosen, weight in zip(subsets, weights, strict=True):
            for code, beside in enumerate(ways):
                for way in beside:
                    for answered in combinations(chosen, way.count):
                        channels = (way.channel,) * way.count
                        yield ReportPart(chosen, weight, answered, channels, way.first, code)

    def joint_counts(self, private: Any) -> tuple[NDArray[np.object_], int]:
        held, counts, total = np.asarray(private, dtype=np.float64), [], self.level_channel.total
        level, row = level_of(held) - 1, self._grid_row(self.public.to_unit(held[:-1]))
        named = self.level_channel.row(level)
        orders = math.lcm(*{math.comb(self.most, count) for count in self.counts.ravel().tolist()})
        for part in self.report_parts():
            assert part.level_code is not None
            way, count = self.ways[level][part.level_code], len(part.answered)
            if (way.count, way.first) != (count, part.first):
                counts.append(np.zeros(part.size, dtype=object))
                continue
            left = total ** (self.most - count) * (orders // math.comb(self.most, count))
            own = replace(part, channels=(way.channel,) * count)
            counts.append(named[part.level_code] * left * own.counts(row))
        return np.concatenate(counts), self.asking.subsets()[2] * orders * total ** (self.most + 1)

    def _describe_level(self, code: int) -> str:
        return f"randomized level {self.level_channel.outputs[code]:g}"

    def blind(self) -> PersonalMechanism:
        """Return the control: channels for values are blinded, levels are randomized as before."""
        blinded = {way.channel: way.channel.blind() for ways in self.ways for way in ways}
        ways = tuple(tuple(replace(way, channel=blinded[way.channel]) for way in ways) for ways in self.ways)
        return replace(self, name=f"blind {self.name}", claim=Claim(0.0), ways=ways, blinded=True)

    def described(self) -> dict[str, Any]:
        ways = [[[way.count, way.first, way.channel.fingerprint] for way in beside] for beside in self.ways]
        level = self.level_channel.fingerprint
        return {**super().described(), "budgets": self.budgets, "level": level, "ways": ways}

    def __repr__(self) -> str:
        budgets = ", ".join(f"{budget:g}" for budget in self.budgets)
        return f"{type(self).__name__}({self.name}, budgets {budgets}, at most {self.most} of {self.size} values)"


def strictest_budget(mechanism: Mechanism) -> float:
    """Return the ε that a mechanism was asked for: the claim, or the smallest budget users can choose."""
    return mechanism.budgets[0] if mechanism.budgets and mechanism.claim.epsilon else mechanism.claim.epsilon


def level_loss(rounds: Sequence[PersonalMechanism]) -> Loss:
    """Return the exact loss of the level itself in all reports of a user together.

    It is over pairs of levels with equal rows.
    """
    pairs = permutations(range(1, len(rounds[0].budgets) + 1), 2)
    return worst([Loss.total(mechanism.pair_loss(*pair, True) for mechanism in rounds) for pair in pairs])


def estimate_level_shares(counts: Any, transition: Any, iterations: int = ITERATIONS) -> Floats:
    """Estimate the most likely shares of the true levels from counts of the randomized levels, by EM.

    From equal shares s each step sets s_i = Σ_j n_j/n · s_i P_ij / Σ_k s_k P_kj, until no share moves by more
    than 1e-9 or ``iterations`` steps are done. The same counts always give the same shares. Where the budget
    of a level is small, reports say little about shares, and few steps keep them near equal.

    Source: the EM of Li et al. (2020) for the square wave, without smoothing. Claim: none, it sees randomized
    levels only.

    Parameters
    ----------
    counts
        How often each randomized level was seen.
    transition
        (levels, randomized levels) float64: the probability of each randomized level for each true one.
    iterations
        The largest number of steps.

    Examples
    --------
    >>> estimate_level_shares([30, 10], [[1, 0], [0, 1]]).tolist()
    [0.75, 0.25]
    """
    seen, table = np.asarray(counts, dtype=np.float64), np.asarray(transition, dtype=np.float64)
    if table.ndim != 2 or seen.shape != table.shape[1:] or not (seen >= 0).all():
        raise InputError(
            "counts must be numbers of at least 0, one for each column of the transition: "
            f"got {seen.shape} and {table.shape}"
        )
    shares = np.full(len(table), 1 / len(table))
    if not seen.sum():
        return shares
    seen = seen / seen.sum()
    for _ in range(iterations):
        expected = np.maximum(shares @ table, 1e-300)
        moved = shares * (table @ (seen / expected))
        moved /= moved.sum()
        done = np.abs(moved - shares).max() < CLOSE
        shares = moved
        if done:
            break
    return shares
