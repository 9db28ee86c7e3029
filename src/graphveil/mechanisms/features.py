"""Feature mechanisms: the choice of values that are asked, and a channel for each of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property, reduce
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import Codes, FiniteChannel, Values
from graphveil.channels.exact import Claim
from graphveil.channels.graded import MAX_BINS, featurerr
from graphveil.channels.sampling import RandomBits, SystemBits, code_type
from graphveil.checks import check_number, check_shares, check_whole, is_whole, short
from graphveil.errors import InputError, MessageError
from graphveil.mechanisms.base import (
    MAX_OUTCOMES,
    Answer,
    Enumerable,
    Estimate,
    Mechanism,
    ReportShape,
    RowMechanism,
    Subject,
)
from graphveil.mechanisms.limits import MAX_SAMPLED, check_dims, check_tables
from graphveil.mechanisms.reports import Reports, even_pointers
from graphveil.mechanisms.rows import (
    PublicRange,
    Rows,
    binary_symbols,
    choose_dimensions,
    round_at_random,
    upper_bins,
)

Floats = NDArray[np.float64]
# A chance is a number of 2^53 equally likely cases.
CASES = 1 << 53


@dataclass(frozen=True)
class Asking:
    """The choice of ``count`` of ``size`` values without replacement.

    In expectation ``from_pool`` of them are from ``pool``.

    A user draws k of the pool's T values and m - k of the rest, all choices equally likely, k being ``from_pool`` rounded
    down or up at random. So a value of the pool is asked with probability π = from_pool/T, any other with
    (m - from_pool)/(d - T); an estimate is unbiased if an answer counts 1/π. TOGL's round 2 is the case T = k = m*: everybody
    answers the pool, which counts 1, and the rest counts (d - m*)/(m - m*). What is drawn depends on random words alone.

    >>> Asking(10, 2, pool=(3, 7), from_pool=1.0).inclusion[[0, 3]].tolist()
    [0.125, 0.5]
    """

    size: int
    count: int
    pool: tuple[int, ...] = ()
    from_pool: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.count <= self.size:
            raise InputError(f"sampled must lie in 1..{self.size}, the dimensions, got {self.count}")
        if MAX_SAMPLED < self.count < self.size:
            raise InputError(f"sampled must be at most {MAX_SAMPLED}, or all {self.size}, got {self.count}")
        inside = len(self.pool)
        if len(set(self.pool)) != inside or not all(0 <= place < self.size for place in self.pool):
            raise InputError(f"pool must hold different dimensions below {self.size}")
        least, most = max(0, self.count - (self.size - inside)), min(self.count, inside)
        if not least <= self.from_pool <= most:
            raise InputError(f"from_pool must lie in {least}..{most} for this pool, got {self.from_pool!r}")

    @classmethod
    def of(cls, size: int, count: int, pool: Any = None, from_pool: Any = None) -> Asking:
        """Read the choice from the settings of a plan.

        Parameters
        ----------
        size
            d, the number of values in a row.
        count
            m, the number of values asked.
        pool
            Dimensions that are asked more often; None for no pool.
        from_pool
            The expected number of values from the pool; by default everybody answers all of it.
        """
        if pool is None:
            if from_pool is not None:
                raise InputError("from_pool says how many values come from a pool: give the pool too")
            return cls(size, count)
        if not isinstance(pool, (list, tuple, np.ndarray)) or (
            isinstance(pool, np.ndarray) and pool.ndim != 1
        ):
            raise InputError(f"pool must be a list of dimensions, got {short(pool)}")
        if len(pool) > size:
            raise InputError(f"pool must hold different dimensions below {size}, got {len(pool)} of them")
        if not all(map(is_whole, pool)):
            raise InputError(f"pool must be a list of dimensions, got {short(pool)}")
        expected = len(pool) if from_pool is None else from_pool
        return cls(
            size, count, tuple(sorted(int(place) for place in pool)), check_number(expected, "from_pool")
        )

    def described(self) -> dict[str, Any]:
        """Return the entry of a pool in a fingerprint; nothing where there is no pool."""
        return {} if self.even else {"pool": self.pool, "from_pool": self.from_pool}

    @property
    def even(self) -> bool:
        """Whether all values are asked equally often because nothing was said about a pool."""
        return not self.pool

    @cached_property
    def takes(self) -> dict[int, Fraction]:
        """The possible numbers of values from the pool, and the probability of each; exact."""
        low = math.floor(self.from_pool)
        more = Fraction(round((self.from_pool - low) * CASES), CASES)
        return {number: chance for number, chance in ((low, 1 - more), (low + 1, more)) if chance}

    @cached_property
    def inclusion(self) -> Floats:
        """π_j: the probability that each value is asked."""
        taken = float(sum(number * chance for number, chance in self.takes.items()))
        rest = self.size - len(self.pool)
        likely = np.full(self.size, (self.count - taken) / rest if rest else 0.0)
        likely[list(self.pool)] = taken / max(1, len(self.pool))
        return likely

    @cached_property
    def factors(self) -> Floats:
        """The weight of an answer about each value: (m/d)/π_j, 0 if it is never asked.

        It is 1 where all values are asked equally often.
        """
        asked = self.inclusion > 0
        return np.where(asked, self.count / self.size / np.where(asked, self.inclusion, 1.0), 0.0)

    @property
    def everything(self) -> bool:
        """Whether every value can be asked, so that all of them can be estimated."""
        return bool((self.inclusion > 0).all())

    @property
    def mean_square_factor(self) -> float:
        """The mean square of the factor of an answer."""
        return 1.0 if self.even else float((self.inclusion * self.factors**2).sum() / self.count)

    def choose(self, users: int, random_bits: RandomBits) -> NDArray[np.int32]:
        """Draw the dimensions that each user is asked for, in ascending order: (users, count)."""
        if self.even:
            return choose_dimensions(users, self.size, self.count, random_bits)
        pool = np.array(self.pool, dtype=np.int32)
        rest = np.setdiff1d(np.arange(self.size, dtype=np.int32), pool)
        chosen = np.empty((users, self.count), dtype=np.int32)
        for taken, who in self._by_take(users, random_bits):
            for places, number, start in ((pool, taken, 0), (rest, self.count - taken, taken)):
                if number:
                    drawn = choose_dimensions(len(who), len(places), number, random_bits)
                    chosen[who, start : start + number] = places[drawn]
        chosen.sort(axis=1)
        return chosen

    def _by_take(self, users: int, random_bits: RandomBits) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Group users by how many of their values come from the pool."""
        everyone = np.arange(users)
        if len(self.takes) == 1:
            yield next(iter(self.takes)), everyone
            return
        (low, _), (high, chance) = self.takes.items()
        more = (random_bits.take(users) >> np.uint64(11)) < np.uint64(int(chance * CASES))
        yield low, everyone[~more]
        yield high, everyone[more]

    def allows(self, dims: NDArray[np.int32]) -> bool:
        """Return whether every user's dimensions (users x count) can have been drawn."""
        if self.even:
            return True
        taken = np.isin(dims, self.pool).sum(axis=1)
        return bool(np.isin(taken, list(self.takes)).all())

    def subsets(self) -> tuple[list[tuple[int, ...]], list[int], int]:
        """Return all choices that can be drawn, how often each is, and the total; exact, for small d."""
        inside, pool = len(self.pool), set(self.pool)
        chances = {
            number: chance / (math.comb(inside, number) * math.comb(self.size - inside, self.count - number))
            for number, chance in self.takes.items()
        }
        total = math.lcm(*(chance.denominator for chance in chances.values()))
        choices = [
            (subset, chances[taken])
            for subset in combinations(range(self.size), self.count)
            if (taken := len(pool.intersection(subset))) in chances
        ]
        return [subset for subset, _ in choices], [int(chance * total) for _, chance in choices], total

    @property
    def choices(self) -> int:
        """The number of choices that can be drawn."""
        rest = self.size - len(self.pool)
        return sum(
            math.comb(len(self.pool), number) * math.comb(rest, self.count - number) for number in self.takes
        )


@dataclass(frozen=True)
class ReportPart:
    """Whole reports that differ in the codes of their answers alone.

    They name the dimensions ``chosen``, which happens ``weight`` times, and answer some of them, each through a channel
    whose codes are counted from ``first``; the last code is that of the level, where there is one.
    """

    chosen: tuple[int, ...]
    weight: int
    answered: tuple[int, ...]
    channels: tuple[FiniteChannel, ...]
    first: int = 0
    level_code: int | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of codes that each answer can have."""
        return tuple(channel.output_count for channel in self.channels)

    @property
    def size(self) -> int:
        """The number of reports."""
        return math.prod(self.shape)

    def codes(self) -> NDArray[np.int64]:
        """Return the codes of the answers of each report: (reports, answers)."""
        return self.first + np.indices(self.shape).reshape(len(self.shape), -1).T

    def counts(self, row: Callable[[FiniteChannel, int], NDArray[np.object_]]) -> NDArray[np.object_]:
        """Return how often each occurs, ``row`` giving the counts of a channel's answer about a dimension; exact."""
        rows = [row(*pair) for pair in zip(self.channels, self.answered, strict=True)]
        counts: NDArray[np.object_] = self.weight * reduce(np.multiply.outer, rows).ravel()
        return counts


@dataclass(frozen=True, eq=False, repr=False)
class ValueMechanism(RowMechanism, Enumerable):
    """Answer ``count`` of ``size`` values of a row one by one, chosen without regard to them.

    ``favoured`` says that some values are asked more often than others; each answer then counts as much as makes up for it.
    """

    name: str
    claim: Claim
    public: PublicRange
    size: int
    binary: bool = field(default=False, kw_only=True)
    favoured: Asking | None = field(default=None, kw_only=True)
    subject: Subject = field(default="features", kw_only=True)

    def __post_init__(self) -> None:
        if (self.asking.size, self.asking.count) != (self.size, self.most):
            raise InputError(f"favoured must be about {self.most} of {self.size} values")

    @property
    @abstractmethod
    def most(self) -> int:
        """m, the largest number of values that anybody answers."""

    @property
    @abstractmethod
    def answer_square(self) -> float:
        """v: the mean square of an answer before it counts 1/π, in the units of a value; public."""

    @cached_property
    def asking(self) -> Asking:
        return Asking(self.size, self.most) if self.favoured is None else self.favoured

    @abstractmethod
    def report_parts(self) -> Iterator[ReportPart]:
        """Yield all whole reports in parts; refuse if there are too many to enumerate."""

    def possible_reports(self) -> Reports:
        """Return every possible whole report, in the order of `report_parts` and then of the codes."""
        dims, codes = [], []
        for part in self.report_parts():
            # What is not answered has a code beyond those of answers, and the level's comes last.
            block = np.full((part.size, self.shape.length), self.blank, dtype=code_type(self.shape.alphabet))
            block[:, [part.chosen.index(place) for place in part.answered]] = part.codes()
            if part.level_code is not None:
                block[:, -1] = part.level_code
            codes.append(block)
            dims.append(np.tile(np.array(part.chosen, dtype=np.int32), (part.size, 1)))
        return self._reports(np.concatenate(dims), np.concatenate(codes))

    @property
    def blank(self) -> int:
        """The code of a dimension that is named and not answered, where there are such."""
        return 0

    def _reports(self, dims: NDArray[np.int32], codes: NDArray[np.unsignedinteger]) -> Reports:
        """Return reports about these dimensions (users x values); a further code is about the place after the last one."""
        pointers = even_pointers(len(codes), self.shape.length)
        if not self.shape.names_dimensions:
            return Reports(self, pointers, None, codes.ravel())
        places = np.full(codes.shape, self.size, dtype=np.int32)
        places[:, : dims.shape[1]] = dims
        return Reports(self, pointers, places.ravel(), codes.ravel())

    def describe_outcome(self, index: int) -> str:
        for part in self.report_parts():
            if index < part.size:
                codes = part.codes()[index]
                answers = zip(part.answered, codes, strict=True)
                level = [] if part.level_code is None else [self._describe_level(part.level_code)]
                return ", ".join([*level, *(f"dimension {place} = code {code}" for place, code in answers)])
            index -= part.size
        raise InputError("there is no such report")

    def _describe_level(self, code: int) -> str:
        return f"level code {code}"

    def _grid_row(self, values: Values) -> Callable[[FiniteChannel, int], NDArray[np.object_]]:
        """Return what gives a channel's counts for the value of a dimension, which must be one of its inputs."""

        @cache
        def row(channel: FiniteChannel, place: int) -> NDArray[np.object_]:
            symbol = int(np.abs(channel.inputs - values[place]).argmin())
            if abs(channel.inputs[symbol] - values[place]) > 1e-9:
                raise InputError("only values on the grid are enumerated, got one between two symbols")
            return np.array(channel.row(symbol), dtype=object)

        return row

    def described(self) -> dict[str, Any]:
        return {
            "dims": self.size,
            "range": [self.public.low, self.public.high],
            "encoding": "threshold" if self.binary else "rounding",
            **self.asking.described(),
        }


def value_mechanism(mechanism: Mechanism) -> ValueMechanism:
    """Return the mechanism if it answers values of a row one by one; refuse it otherwise."""
    if not isinstance(mechanism, ValueMechanism):
        raise InputError(f"{mechanism.name} does not answer the values of a row one by one")
    return mechanism


@dataclass(frozen=True, eq=False, repr=False)
class FeatureMechanism(ValueMechanism):
    """Sample m of d values without regard to them, randomize each by a channel, report nothing else.

    With m = d all values are answered and no dimensions are named. ``scale`` multiplies what a channel decodes to: d/m
    makes the estimate unbiased. ``channels`` holds one channel for all dimensions, or one a dimension (m = d only).
    """

    sampled: int
    channels: tuple[FiniteChannel, ...]
    scale: float
    unbiased: bool = True
    binned: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.channels) != 1 and not (len(self.channels) == self.size == self.sampled):
            raise InputError("channels must be one for all dimensions, or one each where all are answered")

    @property
    def most(self) -> int:
        return self.sampled

    @property
    def answer_square(self) -> float:
        return (self.spread / self.scale) ** 2 / self.asking.mean_square_factor

    @cached_property
    def shape(self) -> ReportShape:
        alphabet = max(channel.output_count for channel in self.channels)
        return ReportShape(self.sampled, alphabet, self.size, names_dimensions=self.sampled < self.size)

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        if len(self.channels) == 1:
            return (Answer(self.channels[0], self.sampled),)
        counts: dict[FiniteChannel, int] = {}
        for channel in self.channels:
            counts[channel] = counts.get(channel, 0) + 1
        return tuple(Answer(channel, count) for channel, count in counts.items())

    @property
    def largest(self) -> float:
        top = max(float(np.abs(channel.outputs).max()) for channel in self.channels)
        return self.public.half_width * self.scale * top * float(self.asking.factors.max())

    @cached_property
    def spread(self) -> float:
        squares = [answer.count * answer.channel.root_mean_square**2 for answer in self.answers]
        answer = math.sqrt(sum(squares) / self.sampled * self.asking.mean_square_factor)
        return self.public.half_width * self.scale * answer

    def randomize(self, private: Any, random_bits: RandomBits | None = None) -> Reports:
        source = SystemBits() if random_bits is None else random_bits
        rows = Rows(private, self.size)
        if self.sampled == self.size:
            return Reports(self, even_pointers(rows.users, self.size), None, self._answer_all(rows, source))
        dims = self.asking.choose(rows.users, source)
        values = self.public.to_unit(rows.take(dims)).ravel()
        codes = self.channels[0].respond(self.encode(values, self.channels[0], source), source)
        return Reports(self, even_pointers(rows.users, self.sampled), dims.ravel(), codes)

    def altered(self, private: Any) -> int:
        return int(Rows(private, self.size).outside(self.public, self.binary).sum())

    def encode(self, values: Values, channel: FiniteChannel, random_bits: RandomBits) -> NDArray[np.int64]:
        """Encode values of [-1, 1] as input symbols of a channel.

        Parameters
        ----------
        values
            float64 in [-1, 1].
        channel
            The channel that will answer them.
        random_bits
            The source of random words, used where values are rounded at random.
        """
        if self.binary:
            return binary_symbols(values)
        if self.binned:
            return upper_bins(values, channel.input_count)
        return round_at_random(values, channel.inputs, random_bits)

    def _answer_all(self, rows: Rows, random_bits: RandomBits) -> Codes:
        codes = np.empty((rows.users, self.size), dtype=code_type(self.shape.alphabet))
        for start, stop in rows.blocks():
            values = self.public.to_unit(rows.dense(start, stop))
            if len(self.channels) == 1:
                symbols = self.encode(values.ravel(), self.channels[0], random_bits)
                codes[start:stop] = self.channels[0].respond(symbols, random_bits).reshape(values.shape)
                continue
            for channel, places in self._places.items():
                part = values[:, places]
                symbols = self.encode(part.ravel(), channel, random_bits)
                codes[start:stop, places] = channel.respond(symbols, random_bits).reshape(part.shape)
        return codes.ravel()

    @property
    def _of_values(self) -> tuple[FiniteChannel, ...]:
        """The channel of each value."""
        return self.channels * (self.size // len(self.channels))

    @cached_property
    def _places(self) -> dict[FiniteChannel, NDArray[np.int64]]:
        """The dimensions that each channel answers, where there are several."""
        places_of: dict[FiniteChannel, list[int]] = {}
        for place, channel in enumerate(self.channels):
            places_of.setdefault(channel, []).append(place)
        return {channel: np.array(places) for channel, places in places_of.items()}

    def estimate(self, reports: Reports) -> Estimate:
        factor = self.public.half_width * self.scale
        if len(self.channels) == 1:
            values = (factor * self.channels[0].outputs).take(reports.codes)
            if reports.dims is not None and not self.asking.even:
                values *= self.asking.factors[reports.dims]
        else:
            by_user = reports.codes.reshape(reports.users, self.size)
            columns = [channel.outputs.take(by_user[:, place]) for place, channel in enumerate(self.channels)]
            values = factor * np.stack(columns, axis=1).ravel()
        shape = (reports.users, self.size)
        return Estimate(shape, reports.indptr, reports.dims, values, self.public.centre, self.unbiased)

    def only(self, reports: Reports, places: NDArray[np.int64]) -> Reports:
        """Return the part of complete reports about these dimensions, numbered anew: post-processing."""
        if self.shape.names_dimensions:
            raise InputError(f"{self.name} asks for some of the values: its reports say which")
        channels = self.channels if len(self.channels) == 1 else tuple(self.channels[j] for j in places)
        count = len(places)
        part = replace(self, size=count, sampled=count, channels=channels, favoured=None)
        codes = reports.codes.reshape(reports.users, self.size)[:, places].ravel()
        return Reports(part, even_pointers(reports.users, count), None, codes, reports.answered)

    def check_reports(self, reports: Reports) -> None:
        if reports.dims is not None and not self.asking.allows(reports.dims.reshape(-1, self.sampled)):
            raise MessageError(f"a report of {self.name} must name as many values of the pool as planned")

    def extremes(self) -> list[Values]:
        """Return rows that a whole report tells apart best.

        All their values are at a channel's most separated inputs, both ways.
        """
        channels = self._of_values
        chosen = [
            [(channel.worst.likelier, channel.worst.rarer, channel.inputs) for channel in channels],
            [(0, channel.input_count - 1, channel.inputs) for channel in channels],
        ]
        rows = [
            np.array([inputs[pick[side]] for *pick, inputs in pairs]) for pairs in chosen for side in (0, 1)
        ]
        return [self.public.centre + self.public.half_width * row for row in rows]

    def report_parts(self) -> Iterator[ReportPart]:
        if self.asking.choices * self.shape.alphabet**self.sampled > MAX_OUTCOMES:
            raise InputError(f"{self.name} has too many reports to enumerate: take fewer dimensions")
        subsets, weights, _ = self.asking.subsets()
        for subset, weight in zip(subsets, weights, strict=True):
            yield ReportPart(subset, weight, subset, tuple(self._of_values[place] for place in subset))

    def joint_counts(self, private: Any) -> tuple[NDArray[np.object_], int]:
        row = self._grid_row(self.public.to_unit(np.asarray(private, dtype=np.float64)))
        parts = list(self.report_parts())
        whole = math.prod(channel.total for channel in parts[0].channels)
        return np.concatenate([part.counts(row) for part in parts]), self.asking.subsets()[2] * whole

    def blind(self) -> FeatureMechanism:
        blinded: dict[FiniteChannel, FiniteChannel] = {
            channel: channel.blind() for channel in set(self.channels)
        }
        channels = tuple(blinded[channel] for channel in self.channels)
        return replace(self, name=f"blind {self.name}", claim=Claim(0.0), channels=channels)

    def described(self) -> dict[str, Any]:
        return {
            **super().described(),
            **({"encoding": "bins"} if self.binned else {}),
            "sampled": self.sampled,
            "scale": self.scale,
            "channels": [channel.fingerprint for channel in self.channels],
        }

    def __repr__(self) -> str:
        per_value = "" if len(self.channels) > 1 else f", {self.channels[0]!r} each"
        return (
            f"{type(self).__name__}({self.name}, epsilon={self.claim.epsilon:g}, "
            f"{self.sampled} of {self.size} values{per_value})"
        )


def budget_shares(
    importance: Sequence[float], sensitivity: Sequence[float], gamma: float = 0.5
) -> NDArray[np.float64]:
    """Return HeteroRR's shares θ of a budget: γα_i + (1-γ)(β_min+β_max-β_i), normalised to sum 1.

    Parameters
    ----------
    importance
        α of each dimension, from public data or an earlier private round.
    sensitivity
        β of each dimension, from the operator; public.
    gamma
        γ in [0, 1], the weight of importance.

    Examples
    --------
    >>> budget_shares([1, 1], [0, 0]).tolist()
    [0.5, 0.5]
    """
    alpha, beta = np.asarray(importance, dtype=np.float64), np.asarray(sensitivity, dtype=np.float64)
    if (
        alpha.shape != beta.shape
        or alpha.ndim != 1
        or not (np.isfinite(alpha).all() and np.isfinite(beta).all())
    ):
        raise InputError("importance and sensitivity must be two lists of finite numbers of the same length")
    check_number(gamma, "gamma", least=0, most=1)
    shares = gamma * alpha + (1 - gamma) * (beta.min() + beta.max() - beta)
    if (shares < 0).any() or shares.sum() <= 0:
        raise InputError("importance and sensitivity must be at least 0, and not all shares may be 0")
    normalised: NDArray[np.float64] = shares / shares.sum()
    return normalised


def build_featurerr(
    epsilon: float, dims: int, range: Any, shares: Any = None, bins: int = 10, debiased: bool = False
) -> FeatureMechanism:
    """Build FEATURERR: value i answered at θ_i·ε by a graded response over k bins.

    Parameters
    ----------
    epsilon
        The budget of a whole row.
    dims
        d, the number of values.
    range
        The public range (low, high) of values.
    shares
        θ, (d,) float64, public (see `budget_shares`); 1/d each by default. A share of 0 gets a blind answer.
    bins
        k, the number of bins.
    debiased
        Whether the response is divided out. As printed, bins decode to their upper edges and the estimate is
        biased.
    """
    check_dims(dims)
    weights = np.full(dims, 1 / dims) if shares is None else check_shares(shares, "shares", int(dims))
    size, different = check_whole(bins, "bins", least=2, most=MAX_BINS), set(weights.tolist())
    check_tables(
        "featurerr", len(different), size, size, "round the shares to fewer values, or take fewer bins"
    )
    distinct = {
        weight: featurerr(epsilon * weight if weight else epsilon / dims, size, raw=not debiased)
        for weight in different
    }
    if 0.0 in distinct:
        distinct[0.0] = distinct[0.0].blind()
    channels = tuple(distinct[weight] for weight in weights.tolist())
    return FeatureMechanism(
        "featurerr",
        Claim(epsilon),
        PublicRange.of(range),
        int(dims),
        int(dims),
        channels if len(distinct) > 1 else channels[:1],
        1.0,
        unbiased=debiased and 0.0 not in distinct,
        binned=not debiased,
    )
