"""Independence of answers, of users and of calls: noise that is used twice tells more than is claimed.

**Answers of one report** may each be drawn right and still tell more together. Every answer becomes a few bits: above or below the
middle of what came, and bits of a fixed random function of its code. Two independent bits of n users, set a and b times, are both set
in a hypergeometric number of cases, whose tail Chernoff's bound covers whatever their probabilities are (`lower_bound.log_tail`).
Compared are all pairs of answers, all triples (the first two joined by "either or"), and random halves of a report against the others.

**Users** with equal rows send equal reports where a seed or random words are used twice.

**Noise that comes back** is looked for at all distances between many users with the same row. A long string of codes that comes twice
is noise that was used twice: strings are so long that none of a right mechanism comes twice, and are compared by hashing all of them
and sorting. Where only some answers come back, or come back changed, how they vary together at a distance of L users shows it, for all
L at once by a Fourier transform.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.candidate import answers_alone
from graphveil.audit.enumeration import JointDistribution
from graphveil.audit.findings import LeakError, Rank, log_false_alarm
from graphveil.audit.lower_bound import log_tail, unlikely
from graphveil.audit.reports import (
    Floats,
    Numbers,
    Version,
    batch,
    code_count,
    code_presence,
    middle_code,
    place_count,
    placed_answers,
    report_matrix,
    reports_of,
    symbols_of,
)
from graphveil.channels.sampling import RandomBits, SeededBits
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.reports import Reports
from graphveil.mechanisms.rows import PublicRange

BitMatrix = NDArray[np.float32]
# Places that are compared in pairs and in triples, random halves, and users that are looked at.
MAX_PLACES, MAX_TRIPLE_PLACES, HALVES, MIN_USERS = 256, 20, 16, 2000
# Bits of each answer that come from its code by a fixed random function, besides the middle.
HASHED = 2
# Labels or levels that are tried.
SYMBOLS = 3
BITS_SEED = 50
DEPENDENT = "answers of one report are not independent"
REUSED = "a seed or random words used twice do this"


@dataclass(frozen=True)
class AnswerBits:
    """One kind of bit of the answers about some places (users x places), and which of them were asked; None: all."""

    bits: BitMatrix
    asked: BitMatrix | None
    places: NDArray[np.int64]


def check_answers(version: Version, values: int, least: int = MIN_USERS) -> None:
    """Check that answers which are said to be independent are.

    Parameters
    ----------
    version
        The mechanism in the size to check.
    values
        The number of values to draw for each row in all.
    least
        The smallest number of users to draw.
    """
    mechanism = version.mechanism
    if not has_independent_answers(mechanism):
        return
    users = max(least, values // max(mechanism.shape.length, 4))
    for title, row in equal_rows(version).items():
        for answers in answers_of(version.draw(row, users)):
            check_pairs(answers, title)
            check_triples(answers, title)
            if not mechanism.shape.names_dimensions:
                check_halves(answers, title)


def has_independent_answers(mechanism: Mechanism) -> bool:
    """Return whether a report consists of several answers that are said to be independent."""
    count = sum(answer.count for answer in mechanism.answers)
    return answers_alone(mechanism) and count == mechanism.shape.length > 1


def equal_rows(version: Version) -> dict[str, Floats]:
    """Rows of equal values, so that answers from the same randomness are most alike; of labels and levels the first ones."""
    mechanism, size = version.mechanism, version.mechanism.shape.dimensions
    if mechanism.subject in ("label", "level"):
        symbols = symbols_of(mechanism)[:SYMBOLS]
        return {f"{mechanism.subject} {symbol}": np.array(symbol) for symbol in symbols}
    if mechanism.subject == "links":
        return {"lists without a link": np.zeros(size), "lists of everybody": np.ones(size)}
    span = version.public or PublicRange(0.0, 1.0)
    inner = span.low + 0.3819 * (span.high - span.low)
    return {
        "rows at the low end": np.full(size, span.low),
        "rows at the high end": np.full(size, span.low + (span.high - span.low)),
        "rows of one value between grid points": np.full(size, inner),
    }


def answers_of(reports: Reports) -> list[AnswerBits]:
    """The answers of some reports as bits, one kind after the other; of links one bit each, and the degree after them."""
    mechanism = reports.mechanism
    owners, named, codes = placed_answers(reports)
    links = mechanism.subject == "links"
    count = mechanism.shape.dimensions if links else place_count(mechanism)
    places = _places(count)
    column = np.full(count + 1, -1)
    column[places] = np.arange(len(places))
    at = column[named]
    kept = at >= 0
    size = reports.users, len(places)
    asked: BitMatrix | None = None
    if mechanism.shape.names_dimensions:
        asked = np.zeros(size, dtype=np.float32)
        asked[owners[kept], at[kept]] = 1
    answers = []
    for kind in _kinds(codes[kept], code_count(mechanism)):
        bits: BitMatrix = np.zeros(size, dtype=np.float32)
        bits[owners[kept], at[kept]] = kind[codes[kept]]
        answers.append(AnswerBits(bits, asked, places))
    degrees = codes[named == count]
    if links and degrees.size:
        bits = np.column_stack([answers[0].bits, (degrees > np.median(degrees)).astype(np.float32)])
        return [AnswerBits(bits, None, np.append(places, count))]
    return answers


def _places(count: int) -> NDArray[np.int64]:
    """The places that are compared: all, or the first, the last and some between."""
    if count <= MAX_PLACES:
        return np.arange(count)
    quarter = MAX_PLACES // 4
    between = np.linspace(quarter, count - quarter - 1, MAX_PLACES - 2 * quarter).astype(np.int64)
    return np.unique(np.concatenate([np.arange(quarter), between, np.arange(count - quarter, count)]))


def _kinds(codes: NDArray[np.int64], alphabet: int) -> list[NDArray[np.bool_]]:
    """Return, for each kind of bit, which codes set it, (alphabet,) bool."""
    middle = np.arange(alphabet) > middle_code(codes, alphabet)
    chance = np.random.default_rng(BITS_SEED)
    hashed = [chance.random(alphabet) < 0.5 for _ in range(HASHED)] if alphabet > 2 else []
    return [middle, *hashed]


def _tails(first: AnswerBits, second: AnswerBits) -> NDArray[np.float64]:
    """Return how unlikely the number of users with both bits set is, for each two places, as a logarithm."""
    if first.asked is None or second.asked is None:
        share = second.bits.mean(axis=0, dtype=np.float64)
        together = (first.bits.T @ second.bits).astype(np.float64)
        return np.asarray(log_tail(together, first.bits.sum(axis=0, dtype=np.float64)[:, None], share))
    both = (first.asked.T @ second.asked).astype(np.float64)
    one = (first.bits.T @ second.asked).astype(np.float64)
    other = (first.asked.T @ second.bits).astype(np.float64)
    seen = (first.bits.T @ second.bits).astype(np.float64)
    return np.asarray(log_tail(seen, one, other / np.maximum(both, 1.0)))


def check_pairs(answers: AnswerBits, title: str) -> None:
    """Check that any two answers are independent."""
    tails = np.triu(_tails(answers, answers), 1)
    at = np.unravel_index(int(tails.argmin()), tails.shape)
    if tails[at] < log_false_alarm(tails.size):
        one, other = (int(answers.places[place]) for place in at)
        seen = _together_words(answers, int(at[0]), int(at[1]))
        detail = f"those about value {one} and value {other} come together {seen} (random words used twice do this)"
        raise LeakError(f"{DEPENDENT}: under {title}, {detail}", Rank.TOGETHER)


def _together_words(answers: AnswerBits, one: int, other: int) -> str:
    asked: NDArray[Any] = np.ones(len(answers.bits))
    if answers.asked is not None:
        asked = answers.asked[:, one] * answers.asked[:, other]
    same = float(((answers.bits[:, one] == answers.bits[:, other]) * asked).sum() / asked.sum())
    shares = [float((answers.bits[:, place] * asked).sum() / asked.sum()) for place in (one, other)]
    expected = shares[0] * shares[1] + (1 - shares[0]) * (1 - shares[1])
    return f"in {same:.2%} of reports, independent ones would in {expected:.2%}"


def check_triples(answers: AnswerBits, title: str) -> None:
    """Check that any three answers are independent."""
    size = min(answers.bits.shape[1], MAX_TRIPLE_PLACES)
    if size < 3:
        return
    first, second = np.triu_indices(size, 1)
    bits, asked = answers.bits[:, :size], None if answers.asked is None else answers.asked[:, :size]
    either, both = np.abs(bits[:, first] - bits[:, second]), None
    if asked is not None:
        both = asked[:, first] * asked[:, second]
        either *= both
    tails = _tails(AnswerBits(either, both, answers.places), AnswerBits(bits, asked, answers.places))
    pairs = np.arange(len(first))
    tails[pairs, first] = tails[pairs, second] = 0.0
    pair, third = np.unravel_index(int(tails.argmin()), tails.shape)
    if tails[pair, third] < log_false_alarm(tails.size):
        listed = ", ".join(str(int(answers.places[place])) for place in (first[pair], second[pair], third))
        detail = f"those about values {listed} depend on each other, although any two of them do not"
        raise LeakError(f"{DEPENDENT}: under {title}, {detail} (noise that cancels does this)", Rank.TOGETHER)


def check_halves(answers: AnswerBits, title: str) -> None:
    """Check that random halves of a report are independent of each other: many small dependences add up."""
    size = answers.bits.shape[1]
    if size < 4:
        return
    chance = np.random.default_rng(BITS_SEED)
    sides = np.stack([chance.permutation(size) < size // 2 for _ in range(HALVES)])
    # Sums of so few bits are exact.
    sums_of = [(part.astype(np.float32) @ answers.bits.T) for part in (sides, ~sides)]
    for sums in zip(*sums_of, strict=True):
        high = [one > np.median(one) for one in sums]
        seen = log_tail((high[0] & high[1]).sum(), high[0].sum(), high[1].mean())
        if float(seen) < log_false_alarm(HALVES):
            detail = (
                "answers about half of the values and about the others vary together or against each other"
            )
            raise LeakError(
                f"{DEPENDENT}: under {title}, {detail} (noise that cancels does this)", Rank.TOGETHER
            )


USERS, USERS_SEED = 1 << 16, 30
# All comparisons together raise a false alarm with at most this probability.
EQUAL_ALARM = 1e-6
# Calls with words of their own, and shares of equal pairs that count as the same.
CALLS, ALIKE = 128, 0.02
# For reports that are too many to enumerate: answers up to this ε are random enough that most reports differ.
RANDOM_ENOUGH, FEW_USERS = 3.0, 128


def equal_pairs(draw: Callable[[RandomBits | None], NDArray[Any]]) -> dict[str, float]:
    """Return the share of pairs of reports that are equal, by the kind of the pair, where ``draw`` has an entry or a row for each user."""
    first, second = draw(None), draw(None)
    seeded = [draw(SeededBits(USERS_SEED + more)) for more in (0, 1)]
    half = len(first) // 2
    pairs = {
        "neighbouring users of one call": (first[0::2], first[1::2]),
        "distant users of one call": (first[:half], first[half:]),
        "the same users in two calls": (first[:half], second[:half]),
        "the same users with other random words": (seeded[0][:half], seeded[1][:half]),
    }
    return {
        title: float((one == other).reshape(half, -1).all(axis=1).mean())
        for title, (one, other) in pairs.items()
    }


def check_users(joint: JointDistribution) -> None:
    """Check that users with the same row answer independently, in one call and in two.

    Two independent reports are equal with probability Σp², and the number of equal pairs is compared with that. If all
    pairs are equal too often alike, the sampler draws something else than the table says, which is not found here.
    """
    users, half = batch(joint.inputs[0], USERS), USERS // 2
    equal = float((joint.shares[0] ** 2).sum())
    matches = equal_pairs(partial(joint.places, users))
    alarm = EQUAL_ALARM / len(matches)
    wrong = [title for title, share in matches.items() if unlikely(share * half, half, equal, alarm)]
    if not wrong or (len(wrong) == len(matches) and _all_alike(joint, list(matches.values()))):
        return
    if min(matches.values()) == 1:
        # Neither users nor calls nor words make a difference: there is no noise, and not a seed that is used twice.
        detail = f"reports of users with the same row never vary, independent ones would be equal in {equal:.2%} of pairs"
        raise LeakError(detail, Rank.ANSWER)
    detail = ", ".join(f"{title} in {matches[title]:.2%}" for title in wrong)
    detail = f"they are equal for {detail} of pairs, independent ones would be in {equal:.2%} ({REUSED})"
    raise LeakError(f"reports of users with the same row are not independent: {detail}", Rank.USERS)


def _all_alike(joint: JointDistribution, shares: list[float]) -> bool:
    """Return whether reports are equal equally often in all kinds of pairs, users asked alone included."""
    user = batch(joint.inputs[0], 1)
    alone = np.array([joint.places(user, SeededBits(USERS_SEED, call))[0] for call in range(CALLS)])
    matched = int((alone[0::2] == alone[1::2]).sum())
    agreed = not unlikely(matched, CALLS // 2, sum(shares) / len(shares), EQUAL_ALARM)
    return max(shares) - min(shares) < ALIKE and agreed


def check_repeated(mechanism: Mechanism) -> None:
    """Check that most pairs of reports differ, where reports are too many to enumerate."""
    # The loss is that of all answers, or of one link alone.
    answers = 1 if mechanism.shape.uneven else mechanism.shape.length
    if not mechanism.loss.epsilon <= RANDOM_ENOUGH * answers:
        return
    users = batch(mechanism.extremes()[0], FEW_USERS)
    matches = equal_pairs(
        lambda words: report_matrix(reports_of(mechanism, users, words), mechanism.shape.length)
    )
    for title, share in matches.items():
        if share > 0.5:
            detail = f"{title} give equal reports ({REUSED})"
            raise LeakError(f"reports are not independent: {detail}", Rank.USERS)


# A string that comes twice by chance has a probability of 2^-SURE at most, over all strings; entropies are halved besides.
SURE = 40
# Reports that are equal more often than this tell how much whole reports vary.
COMMON = 10
MAX_CODES = 1 << 22
# How many deviations an autocorrelation may have, and how rare the rarer half of a bit may be for that to be normal.
DEVIATIONS, BALANCED = 10.0, 0.05
# Places whose answers are compared at all distances, and the part of users that a distance must leave to compare.
MAX_COLUMNS, LEAST_LEFT = 8, 8
STRING_SEED = 51


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
    """Return the length from which no string repeats by chance; None where codes hardly vary."""
    users = len(codes)
    entropies = []
    for column in codes.T:
        shares = np.bincount(column) / users
        entropies.append(-math.log2(float((shares**2).sum())))
    # Answers of one report may depend on each other, which is not what is looked for here.
    mixed = codes[np.random.default_rng(STRING_SEED).permutation(users)]
    equal = int((mixed[: users // 2] == mixed[users // 2 : users // 2 * 2]).all(axis=1).sum()) + 1
    of_reports = -math.log2(equal / (users // 2 + 1))
    of_answer = min(sum(entropies), of_reports if equal > COMMON else math.inf) / len(entropies) / 2
    if of_answer <= 0:
        return None
    return math.ceil((2 * math.log2(max(size, 2)) + SURE) / of_answer)


def window_hashes(stream: Numbers, length: int) -> NDArray[np.uint64]:
    """A 64-bit hash of every string of that length: Σ h(code_i)·b^i, by running sums modulo 2^64."""
    chance = np.random.default_rng(STRING_SEED)
    names = chance.integers(0, 1 << 63, int(stream.max()) + 1, dtype=np.uint64)[stream]
    base = np.uint64(int(chance.integers(0, 1 << 61)) * 8 + 5)
    inverse = np.uint64(pow(int(base), -1, 1 << 64))
    powers = np.cumprod(np.full(len(stream), base, dtype=np.uint64))
    back = np.cumprod(np.full(len(stream), inverse, dtype=np.uint64))
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(names * powers)])
    hashes: NDArray[np.uint64] = (sums[length:] - sums[:-length]) * back[: len(stream) - length + 1]
    return hashes


def noise_period(bits: Floats) -> tuple[int, float] | None:
    """The distance at which bits of users vary together the most, and by how many deviations; None if it is nothing.

    >>> coins = np.random.default_rng(0).integers(0, 2, 3000).astype(float)
    >>> noise_period(coins), noise_period(np.concatenate([coins, 1 - coins]))[0]
    (None, 3000)
    """
    count, spectrum = len(bits), _spectrum(bits)
    if spectrum is None:
        return None
    together = np.fft.irfft(spectrum * spectrum.conj())[1 : count - count // LEAST_LEFT]
    deviations = np.abs(together) / np.sqrt(count - np.arange(1, len(together) + 1))
    worst = int(deviations.argmax())
    beside = max((deviations[at] for at in (worst - 1, worst + 1) if 0 <= at < len(deviations)), default=0.0)
    # Noise that comes again does so at one distance; users who are drawn differently in a block are alike at many.
    if deviations[worst] <= max(DEVIATIONS, 2 * beside):
        return None
    return worst + 1, float(deviations[worst])


def mirrored_deviations(bits: Floats) -> float:
    """By how many deviations bits of users vary together with those of other users, in the opposite order, the most.

    >>> coins = np.random.default_rng(0).integers(0, 2, 3000).astype(float)
    >>> mirrored_deviations(coins) < DEVIATIONS < mirrored_deviations(np.concatenate([coins, coins[::-1]]))
    True
    """
    count, spectrum = len(bits), _spectrum(bits)
    if spectrum is None:
        return 0.0
    # At s stands Σ c_i·c_(s-i), where every pair comes twice.
    together = np.fft.irfft(spectrum * spectrum)[: 2 * count - 1]
    pairs = np.minimum(np.arange(1, 2 * count), np.arange(2 * count - 1, 0, -1))
    enough = pairs >= count // LEAST_LEFT
    return float((np.abs(together[enough]) / np.sqrt(2 * pairs[enough])).max())


def _spectrum(bits: Floats) -> NDArray[np.complex128] | None:
    """Return the Fourier transform of centred and scaled bits; None where one side is too rare."""
    mean = float(bits.mean())
    if min(mean, 1 - mean) < BALANCED:
        return None
    centred = (bits - mean) / math.sqrt(mean * (1 - mean))
    return np.fft.rfft(centred, 1 << (2 * len(bits) - 1).bit_length())


def check_noise(version: Version, private: Any, crowd: Reports) -> None:
    """Check that the noise of a call does not come back, within the call or in a second one.

    Parameters
    ----------
    version
        The mechanism in the size to check.
    private
        The row that all users hold.
    crowd
        The reports of many users of one call, who all hold that row.
    """
    mechanism, users = version.mechanism, crowd.users
    # Of the second call so many users that a string of it is seen again.
    reports = [crowd, version.draw(private, max(users // 8, min(users, 2000)))]
    if mechanism.shape.uneven:
        drawn = [code_presence(one, min(mechanism.shape.alphabet, 64)) for one in reports]
    else:
        drawn = [one.codes.reshape(one.users, -1).astype(np.int64) for one in reports]
    streams = {"answers": np.concatenate(drawn)}
    if reports[0].dims is not None:
        dims = [one.dims.reshape(one.users, -1).astype(np.int64) for one in reports if one.dims is not None]
        streams["choices of dimensions"] = np.concatenate(dims)
    for what, stream in streams.items():
        again = repeated_string(stream)
        distance = None if again is None else again / drawn[0].shape[1]
        for column in stream[:users].T[:MAX_COLUMNS] if distance is None else ():
            halved = (column > middle_code(column)).astype(np.float64)
            if (period := noise_period(halved)) is not None:
                distance = float(period[0])
                break
            if mirrored_deviations(halved) > DEVIATIONS:
                detail = f"users with the same row are not independent: {what} come again in the opposite order of users"
                raise LeakError(detail, Rank.USERS)
        if distance is not None:
            after = f"{distance:,.0f} users" if distance >= 1 else "less than one user"
            where = "in one call" if distance < users else "in the next call"
            detail = f"{what} come again {where}, after {after} ({REUSED})"
            raise LeakError(f"users with the same row are not independent: {detail}", Rank.USERS)
