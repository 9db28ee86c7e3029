"""A whole row, or its sketch, as one direction: PrivUnitG, for rows in a public ball."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import TOTAL, Claim, Loss, exp_below, target
from graphveil.channels.sampling import RandomBits, SystemBits
from graphveil.checks import check_number, check_whole
from graphveil.errors import InputError, MessageError
from graphveil.mechanisms.base import Answer, Estimate, ReportShape, RowMechanism, Subject, verified
from graphveil.mechanisms.exact_sampling import (
    MAX_THRESHOLD,
    density,
    draw_normals,
    draw_sides,
    tail,
    tail_bounds,
)
from graphveil.mechanisms.limits import MAX_DIMS, check_dims
from graphveil.mechanisms.reports import Reports, even_pointers
from graphveil.mechanisms.rows import Floats, PublicBall, PublicRange, Rows

MAX_HASH_SEED = (1 << 53) - 1
# SplitMix64 (Steele, Lea and Flood 2014).
STEP, FIRST, SECOND = (
    np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


@dataclass(frozen=True)
class Sketch:
    """A sketch of ``inputs`` values of a row as ``size`` numbers z/‖z‖.

    z_j = Σ s(i)·(x_i - centre) over the values i that fall on j.

    Values are clipped to the public range first; what is no number counts as the centre. Where there are as many inputs as
    numbers, each value stays at its place. Else value i = 0, 1, … falls on ⌊h·size/2^32⌋ for h the upper half of output i+1 of
    SplitMix64 that starts at the seed, and s(i) is -1 where its lowest bit is set, else 1 (Weinberger et al. 2009, "Feature
    hashing for large scale multitask learning"). A row whose sums are all 0 stays 0.

    All of this is public and acts on the row before anything is drawn: what a mechanism claims of any row it claims of this.

    >>> Sketch(3, 3, 0, PublicRange(0.0, 1.0), 0.5).of(np.array([[1.0, 0.5, 0.5]])).tolist()
    [[1.0, 0.0, 0.0]]
    """

    inputs: int
    size: int
    seed: int
    public: PublicRange
    centre: float

    def __post_init__(self) -> None:
        check_whole(self.inputs, "inputs", least=1, most=MAX_DIMS)
        check_whole(self.seed, "hash_seed", least=0, most=MAX_HASH_SEED)
        centre = check_number(self.centre, "centre", least=self.public.low, most=self.public.high)
        # 0 and 0.0 are the same centre, and have the same fingerprint.
        object.__setattr__(self, "centre", centre)
        if self.size > self.inputs:
            raise InputError(f"a sketch must have at most {self.inputs} numbers, got dims = {self.size}")

    def of(self, block: Floats) -> Floats:
        """Return the sketches of some rows (users x inputs), as users x size."""
        moved = np.clip(block, self.public.low, self.public.high)
        np.copyto(moved, self.centre, where=np.isnan(block))
        moved -= self.centre
        # Scaled by a power of two, which is exact: sums over a huge range do not overflow, and no warning tells of a value.
        np.ldexp(moved, -math.frexp(2 * self.public.half_width)[1], out=moved)
        if self.size < self.inputs:
            moved *= self.signs
            # Value after value, whatever it is.
            places = self.places + self.size * np.arange(len(block))[:, None]
            sums: Floats = np.bincount(places.ravel(), moved.ravel(), len(block) * self.size).astype(
                np.float64
            )
            moved = sums.reshape(len(block), self.size)
        # Values may be far smaller than the range: their squares do not underflow.
        top = np.abs(moved).max(axis=1, keepdims=True, initial=0.0)
        moved /= np.where(top > 0, top, 1.0)
        length = np.sqrt(np.einsum("ij,ij->i", moved, moved))[:, None]
        moved /= np.where(length > 0, length, 1.0)
        return moved

    def lifted(self, weights: Floats) -> Floats:
        """Return weights of sketches (classes x size) as weights of rows (classes x inputs).

        They give the same sums, but for the length.
        """
        if self.size == self.inputs:
            return weights
        lifted: Floats = weights[:, self.places] * self.signs
        return lifted

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The place in the sketch of each value."""
        if self.size == self.inputs:
            return np.arange(self.inputs)
        upper = self._hashes >> np.uint64(32)
        return ((upper * np.uint64(self.size)) >> np.uint64(32)).astype(np.int64)

    @cached_property
    def signs(self) -> Floats:
        """The sign that each value is multiplied by."""
        if self.size == self.inputs:
            return np.ones(self.inputs)
        return 1.0 - 2.0 * (self._hashes & np.uint64(1)).astype(np.float64)

    @cached_property
    def _hashes(self) -> NDArray[np.uint64]:
        with np.errstate(over="ignore"):
            state = np.uint64(self.seed) + STEP * np.arange(1, self.inputs + 1, dtype=np.uint64)
            state = (state ^ (state >> np.uint64(30))) * FIRST
            state = (state ^ (state >> np.uint64(27))) * SECOND
            return np.asarray(state ^ (state >> np.uint64(31)))


# For a whole row: below, 2^62 counts cannot hold the difference; above, the cap is beyond what can be drawn.
MIN_EPSILON, MAX_EPSILON = 1e-8, 100.0
# Thresholds are multiples of 2^-10 standard deviations: the best of them is the same on every machine.
THRESHOLD_STEP = 2.0**-10
# Codes are multiples of 2^-10 standard deviations of the noise, from -32 to 32: 16 bits, 10^-7 of the variance.
CODE_BITS, CODE_STEP = 16, 2.0**-10
CODES, MIDDLE = 1 << CODE_BITS, 1 << (CODE_BITS - 1)
# t of a tail e^-t: of honest reports fewer than one in 2^62 is longer than what is taken.
LONG_TAIL = 64 * math.log(2)
# Codes that are looked at together.
BLOCK = 1 << 20


@dataclass(frozen=True)
class SphericalCap:
    """The reports that lie ``threshold`` (g) standard deviations or more along a direction.

    Pure noise hits it with probability 1-q = P[N(0, 1) ≥ g], the mechanism with p = count/2^62.
    """

    threshold: float
    count: int

    @cached_property
    def ratio(self) -> Fraction:
        """An upper bound of the density inside the cap over that outside, p/(1-q) to (1-p)/q."""
        low, _ = tail_bounds(self.threshold)
        return Fraction(self.count, TOTAL - self.count) * (1 - low) / low

    @cached_property
    def gain(self) -> float:
        """M = φ(g)(p/(1-q) - (1-p)/q), the mean of a report along its direction, in standard deviations."""
        low, high = tail_bounds(self.threshold)
        outside = (low + high) / 2
        surplus = (Fraction(self.count, TOTAL) - outside) / (outside * (1 - outside))
        return density(self.threshold) * float(surplus)

    @property
    def flat(self) -> int:
        """The count at which p = 1-q: the mechanism hits the cap as often as pure noise does."""
        return round(tail_bounds(self.threshold)[0] * TOTAL)


@dataclass(frozen=True, eq=False, repr=False)
class PrivUnitMechanism(RowMechanism):
    """PrivUnitG: normal noise whose part along the row's direction u is likelier to lie in the cap around u.

    A row at distance s from the centre of the public ball (radius r) is first rounded at random to the sphere, along its
    own direction: to +r with probability (1+s/r)/2, else to -r, which keeps its mean. (The centre itself takes the
    direction (1, …, 1)/√d; any would do, and this one needs no words of its own.) With probability p a normal a is drawn
    given a ≥ g, else given a < g, and y = Z + (a - <Z, u>)u is reported, Z ~ N(0, I). In the authors' scale this is
    y/√d with γ = g/√d. The mean of y is Mu (see `SphericalCap.gain`), so centre + (r/M)y is unbiased, and
    E‖estimate - row‖² = r²(d/M² + g/M) - s². p and g are chosen for the smallest such error (see `best_cap`).

    Source: Asi, Feldman and Talwar (2022), "Optimal algorithms for mean estimation under local differential privacy";
    PrivUnit is by Bhowmick et al. (2018), "Protection against reconstruction and its applications in private federated
    learning".
    Claim: ε. Against N(0, I), y has density p/(1-q) inside the cap and (1-p)/q outside, whatever u is, so two rows differ
    by at most e^ε = p/(1-p)·q/(1-q); rounding to the sphere first only mixes such densities. p is drawn as an integer
    out of 2^62 and q is bounded by fractions, so `loss` is an upper bound in exact arithmetic; no float error enters it.

    What that ε is of, and what it is not: y is rounded to multiples of 2^-10 and clamped to ±32, both public and chosen
    without looking at the row, so they act on y alone and cost nothing. But unlike a finite channel's table, y itself
    comes from floating-point normals (Box and Muller, from 64-bit words), and ε is that of the ideal, real-valued
    mechanism. The draws follow it to about 16 digits, 13 below what is reported, up to 8 standard deviations; beyond
    (probability 10^-15 a value) they thin out and end at 8.58, and a report from there may be possible for one row only.
    Where not even that is allowed, take a finite mechanism. Rounding to codes moves a mean by less than 5·10^-8 of itself
    (at worst by 2^-20/24 of it, for a row along one axis); clamping is never seen.

    With a ``sketch``, the row is its sketch: fewer numbers, on the unit sphere, and the estimates are those of the sketches.
    """

    name: str
    claim: Claim
    size: int
    ball: PublicBall
    cap: SphericalCap
    truthful: bool = True
    sketch: Sketch | None = None
    subject: Subject = "features"
    unbiased: bool = True
    finite: ClassVar[bool] = False

    @property
    def answers(self) -> tuple[Answer, ...]:
        """None: a report is not made of finite channels' answers."""
        return ()

    @cached_property
    def shape(self) -> ReportShape:
        read = self.size if self.sketch is None else self.sketch.inputs
        return ReportShape(self.size, CODES, self.size, row_length=read)

    @cached_property
    def loss(self) -> Loss:
        """An upper bound of the loss of the ideal mechanism, exact but for less than 10^-50; 0 if it is blind."""
        return Loss.of(self.cap.ratio) if self.truthful else Loss(())

    @property
    def delta(self) -> float:
        return 0.0 if self.holds else 1.0

    @property
    def largest(self) -> float:
        """B, the largest magnitude of an entry of an estimate (offset aside); public. Typical ones are `spread`."""
        return MIDDLE * self._unit

    @property
    def spread(self) -> float:
        """The root mean square of an entry of an estimate (offset aside); public. It is the same for every row."""
        return math.sqrt(self._squared_length / self.size)

    @property
    def _squared_length(self) -> float:
        """E‖estimate - centre‖², the same for every row, as all are rounded to the sphere; rounding to codes included."""
        gain, radius = self.cap.gain, self.ball.radius
        return radius**2 * (self.size / gain**2 + self.cap.threshold / gain) + self.size * self._unit**2 / 12

    @property
    def _unit(self) -> float:
        """The value of one step of a code."""
        return self.ball.radius / self.cap.gain * CODE_STEP

    @cached_property
    def longest(self) -> float:
        """The largest length of a report that is accepted, in standard deviations of the noise.

        ‖y‖² = ‖Z⊥‖² + a². With probability 1 - e^-t, ‖Z⊥‖² ≤ d + 2√(dt) + 2t (Laurent and Massart 2000), and
        a² ≤ g² + 2t. Longer reports come from no honest client: codes alone would let one report weigh as
        much as 32 honest ones.
        """
        noise = self.size + 2 * math.sqrt(self.size * LONG_TAIL) + 2 * LONG_TAIL
        rounding = math.sqrt(self.size) * CODE_STEP
        return math.sqrt(noise + self.cap.threshold**2 + 2 * LONG_TAIL) + rounding

    @property
    def reach(self) -> float:
        """The largest distance from the centre of the estimate of one accepted report."""
        return self.longest * self.ball.radius / self.cap.gain

    def check_reports(self, reports: Reports) -> None:
        """Refuse reports that are longer than noise and a direction together can be."""
        codes, rows = reports.codes.reshape(-1, self.size), max(1, BLOCK // self.size)
        for start in range(0, len(codes), rows):
            steps = (codes[start : start + rows].astype(np.float64) - MIDDLE) * CODE_STEP
            if (np.einsum("ij,ij->i", steps, steps) > self.longest**2).any():
                raise MessageError(f"no report of {self.name} is longer than {self.longest:.4g} deviations")

    def squared_error(self, distance: float) -> float:
        """Return E‖estimate - row‖² for a row at this distance from the ball's centre, rounding included."""
        if not 0 <= distance <= self.ball.radius:
            raise InputError(f"distance must lie in [0, {self.ball.radius:g}], got {distance!r}")
        return self._squared_length - distance**2

    def randomize(self, private: Any, random_bits: RandomBits | None = None) -> Reports:
        source = SystemBits() if random_bits is None else random_bits
        rows = Rows(private, self.shape.row_length)
        codes = np.empty((rows.users, self.size), dtype=np.uint16)
        for start, stop in rows.blocks():
            block = rows.dense(start, stop)
            codes[start:stop] = self._respond(block if self.sketch is None else self.sketch.of(block), source)
        return Reports(self, even_pointers(rows.users, self.size), None, codes.ravel())

    def altered(self, private: Any) -> int:
        rows = Rows(private, self.shape.row_length)
        outside = rows.outside_ball(self.ball) if self.sketch is None else rows.outside(self.sketch.public)
        return int(outside.sum())

    def _respond(self, block: NDArray[np.float64], random_bits: RandomBits) -> NDArray[np.uint16]:
        """Return the codes of some rows; how many words that takes depends on their number alone."""
        # A blind answer is the centre's, whoever asks.
        distance, direction = self.ball.polar(
            block if self.truthful else np.full_like(block, self.ball.centre)
        )
        chance = (random_bits.take(len(block)) >> np.uint64(11)) * 2.0**-53
        direction[chance >= (1 + distance) / 2] *= -1
        count = self.cap.count if self.truthful else self.cap.flat
        inside = (random_bits.take(len(block)) >> np.uint64(2)) < np.uint64(count)
        along = draw_sides(self.cap.threshold, inside, random_bits)
        noise = draw_normals(block.size, random_bits).reshape(block.shape)
        along -= np.einsum("ij,ij->i", noise, direction)
        direction *= along[:, None]
        noise += direction
        noise /= CODE_STEP
        np.rint(noise, out=noise)
        return np.clip(noise + MIDDLE, 0, CODES - 1).astype(np.uint16)

    def estimate(self, reports: Reports) -> Estimate:
        values = (reports.codes.astype(np.float64) - MIDDLE) * self._unit
        shape = (reports.users, self.size)
        return Estimate(shape, reports.indptr, None, values, self.ball.centre, self.unbiased)

    def extremes(self) -> list[NDArray[np.float64]]:
        """Return the two ends of the ball along its first axis: opposite directions are told apart best.

        With a sketch, the first value at one end of the range, and at the other; the others at the centre.
        """
        if self.sketch is not None:
            ends = (self.sketch.public.high, self.sketch.public.low)
            own = [np.full(self.shape.row_length, self.sketch.centre) for _ in ends]
            for row, end in zip(own, ends, strict=True):
                row[0] = end
            return own
        rows = [np.full(self.size, self.ball.centre) for _ in range(2)]
        rows[0][0] += self.ball.radius
        rows[1][0] -= self.ball.radius
        return rows

    def blind(self) -> PrivUnitMechanism:
        """Return the control: p = 1-q makes the density flat, and the row is not even read.

        The scale stays.
        """
        return replace(self, name=f"blind {self.name}", claim=Claim(0.0), truthful=False)

    def described(self) -> dict[str, Any]:
        ball, cap = [self.ball.radius, self.ball.centre], [self.cap.threshold, self.cap.count]
        told = {"dims": self.size, "ball": ball, "cap": cap, "truthful": self.truthful}
        if self.sketch is None:
            return told
        sketch = self.sketch
        ends = [sketch.public.low, sketch.public.high]
        hashed = {"inputs": sketch.inputs, "seed": sketch.seed, "range": ends, "centre": sketch.centre}
        return {**told, "sketch": hashed}

    def __repr__(self) -> str:
        return (
            f"PrivUnitMechanism({self.name}, epsilon={self.claim.epsilon:g}, {self.size} values in the ball of radius "
            f"{self.ball.radius:g} around {self.ball.centre:g})"
        )


def error_factor(threshold: float, epsilon: float, dims: int) -> float:
    """Return d/M² + g/M, the expected squared length of an estimate on the unit sphere.

    p spends what is left of ε. With p/(1-p) = e^ε(1-q)/q: 1/M = (1/(e^ε-1) + 1-q)/φ(g).

    Parameters
    ----------
    threshold
        g, the threshold of the cap in standard deviations.
    epsilon
        The budget.
    dims
        d, the number of values in a row.
    """
    inverse = (1 / math.expm1(epsilon) + tail(threshold)) / density(threshold)
    return dims * inverse**2 + threshold * inverse


@lru_cache(maxsize=128)
def best_cap(epsilon: float, dims: int) -> SphericalCap:
    """Return the cap of the smallest error at ε.

    g is found by search over a lattice, then p is the largest that ε allows.

    A larger M is always better, so p is as large as ε(1-2^-40) allows: rounded down, in exact arithmetic. The error is
    convex in g (1/φ and (1-q)/φ are, and the first term outweighs what bends the second), and falls at g = 0.
    """
    low, high = 0, round(MAX_THRESHOLD / THRESHOLD_STEP)
    while low < high:
        middle = (low + high) // 2
        here, there = (error_factor(step * THRESHOLD_STEP, epsilon, dims) for step in (middle, middle + 1))
        low, high = (low, middle) if here <= there else (middle + 1, high)
    threshold = low * THRESHOLD_STEP
    below, _ = tail_bounds(threshold)
    odds = exp_below(target(epsilon)) * below / (1 - below)
    return SphericalCap(threshold, int(odds / (1 + odds) * TOTAL))


def privunit(epsilon: float, dims: int, ball: PublicBall, sketch: Sketch | None = None) -> PrivUnitMechanism:
    """Build PrivUnitG for rows in a public ball, or for sketches.

    Parameters
    ----------
    epsilon
        The budget of a whole row.
    dims
        d, the number of values in a row, or of numbers in a sketch.
    ball
        The public ball that rows lie in.
    sketch
        The sketch to report instead of the row; None for the row itself.

    Examples
    --------
    >>> privunit(1.0, 1433, PublicBall(3.0)).epsilon <= 1.0
    True
    """
    if not MIN_EPSILON <= epsilon <= MAX_EPSILON:
        raise InputError(f"epsilon of privunit must lie in {MIN_EPSILON:g}..{MAX_EPSILON:g}, got {epsilon:g}")
    cap = best_cap(epsilon, dims)
    return verified(PrivUnitMechanism("privunit", Claim(epsilon), dims, ball, cap, sketch=sketch))


def build_privunit(
    epsilon: float,
    dims: int,
    range: Any = None,
    radius: float | None = None,
    inputs: int | None = None,
    hash_seed: int | None = None,
    centre: float | None = None,
) -> PrivUnitMechanism:
    """Build PrivUnitG for rows in a public ball around 0, or in the ball around a public range.

    Parameters
    ----------
    epsilon
        The budget of a whole row.
    dims
        The number of values in a row, or of numbers in a sketch.
    range
        The public range (low, high) of values. Alone, it gives the ball around its centre that holds all rows
        within it.
    radius
        The radius of the ball around 0; it takes precedence over the range.
    inputs
        The number of values in a row, of which a sketch of ``dims`` numbers is reported (see `Sketch`).
    hash_seed, centre
        The seed and the centre of the sketch; by default 0, and 0 or the lower end of a range without 0.
    """
    check_dims(dims)
    public = None if range is None else PublicRange.of(range)
    if inputs is not None:
        # Sketches lie on the unit sphere.
        if public is None or radius is not None:
            raise InputError("a sketch needs the public range, and its radius is 1: leave radius out")
        around = 0.0 if public.low <= 0 <= public.high else public.low
        sketch = Sketch(
            inputs,
            int(dims),
            0 if hash_seed is None else hash_seed,
            public,
            around if centre is None else centre,
        )
        return privunit(epsilon, int(dims), PublicBall(1.0), sketch)
    if hash_seed is not None or centre is not None:
        raise InputError("hash_seed and centre say how rows are sketched: give inputs too, or leave them out")
    if radius is not None:
        return privunit(
            epsilon, int(dims), PublicBall(float(radius) if isinstance(radius, np.floating) else radius)
        )
    if public is None:
        raise InputError(
            "privunit needs radius or range: the public radius of a ball around 0 that rows lie in, or the public range "
            "(LOW, HIGH) of their values"
        )
    return privunit(epsilon, int(dims), PublicBall.around(public, int(dims)))
