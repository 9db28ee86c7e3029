"""A row in fewer numbers: signed sums of its values by a public hash, divided by their length."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_number, check_whole
from graphveil.errors import InputError
from graphveil.mechanisms.limits import MAX_DIMS
from graphveil.mechanisms.rows import Floats, PublicRange

MAX_HASH_SEED = (1 << 53) - 1
# SplitMix64 (Steele, Lea and Flood 2014).
STEP, FIRST, SECOND = (
    np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


@dataclass(frozen=True)
class Sketch:
    """``inputs`` values of a row as ``size`` numbers z/‖z‖, z_j = Σ s(i)·(x_i - centre) over the values i that fall on j.

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
            raise InputError(
                f"a sketch of {self.inputs} values has at most as many numbers, got dims = {self.size}: take {self.inputs}"
            )

    def of(self, block: Floats) -> Floats:
        """The sketches of some rows (users x inputs), as users x size."""
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
        """Weights of sketches (classes x size) as weights of rows (classes x inputs): the same sums, but for the length."""
        if self.size == self.inputs:
            return weights
        lifted: Floats = weights[:, self.places] * self.signs
        return lifted

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Which number each value falls on."""
        if self.size == self.inputs:
            return np.arange(self.inputs)
        upper = self._hashes >> np.uint64(32)
        return ((upper * np.uint64(self.size)) >> np.uint64(32)).astype(np.int64)

    @cached_property
    def signs(self) -> Floats:
        """What each value is multiplied by."""
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
