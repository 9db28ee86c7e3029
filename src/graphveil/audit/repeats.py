"""Does noise come back? Reports of many users with the same row, compared at all distances between users.

Two looks. A long string of codes that comes twice, at any distance, is noise that was used twice: strings are so long that
none of a right mechanism comes twice, and are compared by hashing all of them and sorting. And where only some answers
come back, or come back changed, how they vary together at a distance of L users shows it, for all L at once by a Fourier
transform.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.findings import Leak, Rank, checked_reports, wide_batch
from graphveil.channels.sampling import Words
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.reports import Reports

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]

# A string that comes twice by chance has a probability of 2^-SURE at most, over all strings; entropies are halved besides.
SURE = 40
# Reports that are equal more often than this tell how much whole reports vary.
COMMON = 10
MAX_CODES = 1 << 22
# How many deviations an autocorrelation may have, and how rare the rarer half of a bit may be for that to be normal.
DEVIATIONS, BALANCED = 10.0, 0.05
# Places whose answers are compared at all distances, and the part of users that a distance must leave to compare.
MAX_PLACES, LEAST_LEFT = 8, 8
SEED = 51


def repeated_string(codes: Numbers) -> int | None:
    """After how many of these codes (users x width) a long string of them comes again; None if none does.

    >>> drawn = np.random.default_rng(0).integers(0, 2, (500, 8))
    >>> repeated_string(drawn), repeated_string(np.concatenate([drawn, drawn]))
    (None, 4000)
    """
    stream = codes.ravel()[:MAX_CODES]
    length = string_length(codes, len(stream))
    if length is None or 2 * length > len(stream):
        return None
    hashes = window_hashes(stream, length)
    # Where reports do not vary at all there is no noise, which other steps look at.
    varied = np.cumsum(stream != np.roll(stream, codes.shape[1]))
    changes = varied[length - 1 :] - np.append(0, varied[: len(stream) - length])
    starts = np.flatnonzero(changes > varied[-1] / len(stream) * length / 4)
    if not starts.size:
        return None
    hashes = hashes[starts]
    ordered = np.sort(hashes)
    if not (ordered[1:] == ordered[:-1]).any():
        return None
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
    distances = starts[order[same + 1]] - starts[order[same]]
    values, counts = np.unique(distances, return_counts=True)
    return int(values[counts.argmax()])


def string_length(codes: Numbers, size: int) -> int | None:
    """How long a string must be so that none comes twice by chance; None where codes hardly vary."""
    users = len(codes)
    entropies = []
    for column in codes.T:
        shares = np.bincount(column) / users
        entropies.append(-math.log2(float((shares**2).sum())))
    # Answers of one report may depend on each other, which is not what is looked for here.
    mixed = codes[np.random.default_rng(SEED).permutation(users)]
    equal = int((mixed[: users // 2] == mixed[users // 2 : users // 2 * 2]).all(axis=1).sum()) + 1
    of_reports = -math.log2(equal / (users // 2 + 1))
    of_answer = min(sum(entropies), of_reports if equal > COMMON else math.inf) / len(entropies) / 2
    if of_answer <= 0:
        return None
    return math.ceil((2 * math.log2(max(size, 2)) + SURE) / of_answer)


def window_hashes(stream: Numbers, length: int) -> NDArray[np.uint64]:
    """A 64-bit hash of every string of that length: Σ h(code_i)·b^i, by running sums modulo 2^64."""
    chance = np.random.default_rng(SEED)
    names = chance.integers(0, 1 << 63, int(stream.max()) + 1, dtype=np.uint64)[stream]
    base = np.uint64(int(chance.integers(0, 1 << 61)) * 8 + 5)
    inverse = np.uint64(pow(int(base), -1, 1 << 64))
    powers = np.cumprod(np.full(len(stream), base, dtype=np.uint64))
    back = np.cumprod(np.full(len(stream), inverse, dtype=np.uint64))
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(names * powers)])
    hashes: NDArray[np.uint64] = (sums[length:] - sums[:-length]) * back[: len(stream) - length + 1]
    return hashes


def periods(bits: Floats) -> tuple[int, float] | None:
    """The distance at which bits of users vary together the most, and by how many deviations; None if it is nothing.

    >>> coins = np.random.default_rng(0).integers(0, 2, 3000).astype(float)
    >>> periods(coins), periods(np.concatenate([coins, 1 - coins]))[0]
    (None, 3000)
    """
    count, mean = len(bits), float(bits.mean())
    if min(mean, 1 - mean) < BALANCED:
        return None
    centred = (bits - mean) / math.sqrt(mean * (1 - mean))
    spectrum = np.fft.rfft(centred, 1 << (2 * count - 1).bit_length())
    together = np.fft.irfft(spectrum * spectrum.conj())[1 : count - count // LEAST_LEFT]
    deviations = np.abs(together) / np.sqrt(count - np.arange(1, len(together) + 1))
    worst = int(deviations.argmax())
    beside = max((deviations[at] for at in (worst - 1, worst + 1) if 0 <= at < len(deviations)), default=0.0)
    # Noise that comes again does so at one distance; users who are drawn differently in a block are alike at many.
    if deviations[worst] <= max(DEVIATIONS, 2 * beside):
        return None
    return worst + 1, float(deviations[worst])


def mirrored(bits: Floats) -> float:
    """By how many deviations bits of users vary together with those of other users, in the opposite order, the most.

    >>> coins = np.random.default_rng(0).integers(0, 2, 3000).astype(float)
    >>> mirrored(coins) < DEVIATIONS < mirrored(np.concatenate([coins, coins[::-1]]))
    True
    """
    count, mean = len(bits), float(bits.mean())
    if min(mean, 1 - mean) < BALANCED:
        return 0.0
    centred = (bits - mean) / math.sqrt(mean * (1 - mean))
    spectrum = np.fft.rfft(centred, 1 << (2 * count - 1).bit_length())
    # At s stands Σ c_i·c_(s-i), where every pair comes twice.
    together = np.fft.irfft(spectrum * spectrum)[: 2 * count - 1]
    pairs = np.minimum(np.arange(1, 2 * count), np.arange(2 * count - 1, 0, -1))
    enough = pairs >= count // LEAST_LEFT
    return float((np.abs(together[enough]) / np.sqrt(2 * pairs[enough])).max())


def never_again(
    mechanism: Mechanism, private: NDArray[np.float64], crowd: Reports, words: Words | None
) -> list[str]:
    """Whether the noise of many users of one call, the ``crowd`` that all hold the same, or of two calls, comes back."""
    users = crowd.users
    # Of the second call so many users that a string of it is seen again.
    second = max(users // 8, min(users, 2000))
    reports = [crowd, checked_reports(mechanism, wide_batch(private, second), words)]
    if mechanism.uneven:
        kept = min(mechanism.alphabet, 64)
        drawn = [_presence(one.indptr, one.codes, kept) for one in reports]
    else:
        drawn = [one.codes.reshape(one.users, -1).astype(np.int64) for one in reports]
    width = drawn[0].shape[1]
    streams = {"answers": np.concatenate(drawn)}
    if reports[0].dims is not None:
        dims = [one.dims.reshape(one.users, -1).astype(np.int64) for one in reports if one.dims is not None]
        streams["choices of dimensions"] = np.concatenate(dims)
    for what, stream in streams.items():
        distance = repeated_string(stream)
        if distance is not None:
            return [_leak(what, distance / width, users)]
        for column in stream[:users].T[:MAX_PLACES]:
            halved = _halved(column)
            period = periods(halved)
            if period is not None:
                return [_leak(what, float(period[0]), users)]
            if mirrored(halved) > DEVIATIONS:
                told = f"users with the same row are not independent: {what} come again in the opposite order of users"
                return [Leak(told, Rank.USERS)]
    return []


def _halved(numbers: Numbers) -> Floats:
    """Which numbers lie in the upper half of what came."""
    shares = np.cumsum(np.bincount(numbers)) / len(numbers)
    cut = min(int((shares < 0.5).sum()), len(shares) - 2)
    return (numbers > cut).astype(np.float64)


def _presence(indptr: Numbers, codes: NDArray[np.unsignedinteger], kept: int) -> Numbers:
    there = np.zeros((len(indptr) - 1, kept), dtype=np.int64)
    owners = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    near = codes < kept
    there[owners[near], codes[near]] = 1
    return there


def _leak(what: str, distance: float, users: int) -> Leak:
    after = f"{distance:,.0f} users" if distance >= 1 else "less than one user"
    where = "in one call" if distance < users else "in the next call"
    return Leak(
        f"users with the same row are not independent: {what} come again {where}, after {after} "
        "(a seed or random words used twice do this)",
        Rank.USERS,
    )
