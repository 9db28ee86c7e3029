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
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.candidate import claims_independence
from graphveil.audit.drawn_reports import (
    batch,
    code_owners,
    code_places,
    code_presence,
    draw_reports,
    link_answers,
    middle_code,
    place_count,
    report_matrix,
    reports_of,
)
from graphveil.audit.enumeration import JointDistribution
from graphveil.audit.findings import Leak, Rank, log_false_alarm
from graphveil.audit.inputs import symbols_of
from graphveil.audit.lower_bound import log_tail, unlikely
from graphveil.channels.sampling import SeededWords, Words
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.links import LinkMechanism
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


@dataclass(frozen=True)
class AnswerBits:
    """One kind of bit of the answers about some places (users x places), and which of them were asked; None: all."""

    bits: BitMatrix
    asked: BitMatrix | None
    places: NDArray[np.int64]


def dependent_answers(
    mechanism: Mechanism, public: PublicRange | None, values: int, words: Words, least: int = MIN_USERS
) -> list[str]:
    """Return what is wrong with answers that are said to be independent; nothing where they are not.

    Parameters
    ----------
    mechanism
        The mechanism under audit.
    public
        The range that values lie in; None where there is none.
    values
        How many values a look has in all.
    words
        Where random words come from.
    least
        How many users a look has, however long their reports are.
    """
    if not has_independent_answers(mechanism):
        return []
    users = max(least, values // max(mechanism.shape.length, 4))
    for title, row in equal_rows(mechanism, public).items():
        reports = draw_reports(mechanism, row, users, words)
        for answers in answers_of(reports):
            leak = _pairs(answers, title) or _triples(answers, title)
            if leak is None and not mechanism.shape.names_dimensions:
                leak = _halves(answers, title)
            if leak is not None:
                return [leak]
    return []


def has_independent_answers(mechanism: Mechanism) -> bool:
    """Whether a report consists of several answers that are said to be independent."""
    count = sum(answer.count for answer in mechanism.answers)
    alone = mechanism.finite and claims_independence(mechanism) and not mechanism.personal
    return alone and count == mechanism.shape.length > 1


def equal_rows(mechanism: Mechanism, public: PublicRange | None) -> dict[str, NDArray[np.float64]]:
    """Rows of equal values, so that answers from the same randomness are most alike; of labels and levels the first ones."""
    size = mechanism.shape.dimensions
    if mechanism.subject in ("label", "level"):
        return {
            f"{mechanism.subject} {symbol}": np.array(symbol) for symbol in symbols_of(mechanism)[:SYMBOLS]
        }
    if mechanism.subject == "links":
        return {"lists without a link": np.zeros(size), "lists of everybody": np.ones(size)}
    span = public or PublicRange(0.0, 1.0)
    shares = {
        "rows at the low end": 0.0,
        "rows at the high end": 1.0,
        "rows of one value between grid points": 0.3819,
    }
    return {
        title: np.full(size, span.low + share * (span.high - span.low)) for title, share in shares.items()
    }


def answers_of(reports: Reports) -> list[AnswerBits]:
    """The answers of some reports as bits, one kind after the other."""
    mechanism, users = reports.mechanism, reports.users
    if isinstance(mechanism, LinkMechanism):
        return [_links_of(mechanism, reports)]
    places = _places(place_count(mechanism))
    column = np.full(max(mechanism.shape.places, mechanism.shape.length), -1)
    column[places] = np.arange(len(places))
    at = column[code_places(reports)]
    kept = at >= 0
    owners, at, codes = code_owners(reports)[kept], at[kept], reports.codes.astype(np.int64)[kept]
    asked: BitMatrix | None = None
    if mechanism.shape.names_dimensions:
        asked = np.zeros((users, len(places)), dtype=np.float32)
        asked[owners, at] = 1
    answers = []
    for kind in _kinds(codes, mechanism.shape.alphabet):
        bits: BitMatrix = np.zeros((users, len(places)), dtype=np.float32)
        bits[owners, at] = kind[codes]
        answers.append(AnswerBits(bits, asked, places))
    return answers


def _links_of(mechanism: LinkMechanism, reports: Reports) -> AnswerBits:
    """The answers about links, and after them whether the reported degree, where there is one, is a high one."""
    owners, named, degrees = link_answers(mechanism, reports)
    places = _places(mechanism.size)
    column = np.full(mechanism.size, -1)
    column[places] = np.arange(len(places))
    at = column[named]
    bits: BitMatrix = np.zeros((reports.users, len(places)), dtype=np.float32)
    bits[owners[at >= 0], at[at >= 0]] = 1
    if degrees is not None:
        high = (degrees > np.median(degrees)).astype(np.float32)
        bits, places = np.column_stack([bits, high]), np.append(places, mechanism.size)
    return AnswerBits(bits, None, places)


def _places(count: int) -> NDArray[np.int64]:
    """The places that are compared: all, or the first, the last and some between."""
    if count <= MAX_PLACES:
        return np.arange(count)
    quarter = MAX_PLACES // 4
    between = np.linspace(quarter, count - quarter - 1, MAX_PLACES - 2 * quarter).astype(np.int64)
    return np.unique(np.concatenate([np.arange(quarter), between, np.arange(count - quarter, count)]))


def _kinds(codes: NDArray[np.int64], alphabet: int) -> list[NDArray[np.bool_]]:
    """Which codes set a bit, for each kind of bit."""
    middle = np.arange(alphabet) > middle_code(codes, alphabet)
    chance = np.random.default_rng(BITS_SEED)
    hashed = [chance.random(alphabet) < 0.5 for _ in range(HASHED)] if alphabet > 2 else []
    return [middle, *hashed]


def _tails(first: AnswerBits, second: AnswerBits) -> NDArray[np.float64]:
    """How unlikely each number of users is for whom both bits are set, as a logarithm."""
    if first.asked is None or second.asked is None:
        share = second.bits.mean(axis=0, dtype=np.float64)
        together = (first.bits.T @ second.bits).astype(np.float64)
        return np.asarray(log_tail(together, first.bits.sum(axis=0, dtype=np.float64)[:, None], share))
    both = (first.asked.T @ second.asked).astype(np.float64)
    one = (first.bits.T @ second.asked).astype(np.float64)
    other = (first.asked.T @ second.bits).astype(np.float64)
    seen = (first.bits.T @ second.bits).astype(np.float64)
    return np.asarray(log_tail(seen, one, other / np.maximum(both, 1.0)))


def _pairs(answers: AnswerBits, title: str) -> Leak | None:
    tails = np.triu(_tails(answers, answers), 1)
    at = np.unravel_index(int(tails.argmin()), tails.shape)
    if tails[at] >= log_false_alarm(tails.size):
        return None
    one, other = (int(answers.places[place]) for place in at)
    return Leak(
        f"answers of one report are not independent: under {title}, those about value {one} and value {other} come "
        f"together {_together_words(answers, int(at[0]), int(at[1]))} (random words used twice do this)",
        Rank.TOGETHER,
    )


def _together_words(answers: AnswerBits, one: int, other: int) -> str:
    asked: NDArray[Any] = np.ones(len(answers.bits))
    if answers.asked is not None:
        asked = answers.asked[:, one] * answers.asked[:, other]
    same = float(((answers.bits[:, one] == answers.bits[:, other]) * asked).sum() / asked.sum())
    shares = [float((answers.bits[:, place] * asked).sum() / asked.sum()) for place in (one, other)]
    expected = shares[0] * shares[1] + (1 - shares[0]) * (1 - shares[1])
    return f"in {same:.2%} of reports, independent ones would in {expected:.2%}"


def _triples(answers: AnswerBits, title: str) -> Leak | None:
    size = min(answers.bits.shape[1], MAX_TRIPLE_PLACES)
    if size < 3:
        return None
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
    if tails[pair, third] >= log_false_alarm(tails.size):
        return None
    listed = ", ".join(str(int(answers.places[place])) for place in (first[pair], second[pair], third))
    return Leak(
        f"answers of one report are not independent: under {title}, those about values {listed} depend on each other, "
        "although any two of them do not (noise that cancels, or is made from other noise, does this)",
        Rank.TOGETHER,
    )


def _halves(answers: AnswerBits, title: str) -> Leak | None:
    """Random halves of a report against the others: many small dependences add up."""
    size = answers.bits.shape[1]
    if size < 4:
        return None
    chance = np.random.default_rng(BITS_SEED)
    sides = np.stack([chance.permutation(size) < size // 2 for _ in range(HALVES)])
    # Sums of so few bits are exact.
    sums_of = [(part.astype(np.float32) @ answers.bits.T) for part in (sides, ~sides)]
    for sums in zip(*sums_of, strict=True):
        high = [one > np.median(one) for one in sums]
        seen = log_tail((high[0] & high[1]).sum(), high[0].sum(), high[1].mean())
        if float(seen) < log_false_alarm(HALVES):
            return Leak(
                f"answers of one report are not independent: under {title}, the answers about half of the values and "
                "those about the others vary together or against each other (noise that cancels does this)",
                Rank.TOGETHER,
            )
    return None


USERS, USERS_SEED = 1 << 16, 30
# All comparisons together raise a false alarm with at most this probability.
EQUAL_ALARM, EQUAL_COMPARISONS = 1e-6, 4
# Calls with words of their own, and shares of equal pairs that count as the same.
CALLS, ALIKE = 128, 0.02
# For reports that are too many to enumerate: answers up to this ε are random enough that most reports differ.
RANDOM_ENOUGH, FEW_USERS = 3.0, 64


def dependent_users(joint: JointDistribution) -> list[str]:
    """Users with the same row must answer independently, in one call and in two.

    Two independent reports are equal with probability Σp², and the number of equal pairs is compared with that. If all
    pairs are equal too often alike, the sampler draws something else than the table says, which is not found here.
    """
    users = batch(joint.inputs[0], USERS)
    equal = float((joint.shares[0] ** 2).sum())
    first, second = joint.places(users, None), joint.places(users, None)
    seeded = joint.places(users, SeededWords(USERS_SEED)), joint.places(users, SeededWords(USERS_SEED + 1))
    half = len(users) // 2
    pairs = {
        "neighbouring users of one call": (first[0::2], first[1::2]),
        "distant users of one call": (first[:half], first[half:]),
        "the same users in two calls": (first[:half], second[:half]),
        "the same users with other random words": (seeded[0][:half], seeded[1][:half]),
    }
    assert len(pairs) == EQUAL_COMPARISONS
    matches = {title: int((one == other).sum()) for title, (one, other) in pairs.items()}
    wrong = [
        title
        for title, count in matches.items()
        if unlikely([count], half, [equal], EQUAL_ALARM / EQUAL_COMPARISONS)[0]
    ]
    if not wrong or _all_alike(joint, list(matches.values()), half, len(wrong)):
        return []
    if min(matches.values()) == half:
        # Neither users nor calls nor words make a difference: there is no noise, and not a seed that is used twice.
        told = f"reports of users with the same row never vary, independent ones would be equal in {equal:.2%} of pairs"
        return [Leak(told, Rank.ANSWER)]
    told = ", ".join(f"{title} in {matches[title] / half:.2%}" for title in wrong)
    return [
        Leak(
            f"reports of users with the same row are not independent: they are equal for {told} of pairs, independent ones "
            f"would be in {equal:.2%} (a seed or random words used twice do this)",
            Rank.USERS,
        )
    ]


def _all_alike(joint: JointDistribution, matches: list[int], pairs: int, wrong: int) -> bool:
    """Whether reports are equal in the same, wrong share of all kinds of pairs, users that are asked alone included."""
    alone = np.array(
        [joint.places(batch(joint.inputs[0], 1), SeededWords(USERS_SEED, call))[0] for call in range(CALLS)]
    )
    matched = int((alone[0::2] == alone[1::2]).sum())
    shares = [count / pairs for count in matches]
    agreed = not unlikely([matched], CALLS // 2, [sum(shares) / len(shares)], EQUAL_ALARM)[0]
    return wrong == len(matches) and max(shares) - min(shares) < ALIKE and agreed


def repeated_reports(mechanism: Mechanism) -> list[str]:
    """For reports that cannot be enumerated because there are so many: most pairs must differ."""
    # The loss is that of all answers, or of one link alone.
    if not mechanism.loss.epsilon <= RANDOM_ENOUGH * (
        1 if mechanism.shape.uneven else mechanism.shape.length
    ):
        return []
    users = batch(mechanism.extremes()[0], FEW_USERS)
    words = None, None, SeededWords(USERS_SEED), SeededWords(USERS_SEED + 1)
    drawn = [report_matrix(reports_of(mechanism, users, source), mechanism.shape.length) for source in words]
    pairs = {
        "neighbouring users of one call": (drawn[0][0::2], drawn[0][1::2]),
        "two calls": (drawn[0], drawn[1]),
        "two calls with different random words": (drawn[2], drawn[3]),
    }
    return [
        Leak(
            f"reports are not independent: {title} give equal reports (a seed or random words used twice do this)",
            Rank.USERS,
        )
        for title, (one, other) in pairs.items()
        if (one == other).all(axis=1).mean() > 0.5
    ]


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
    """How long a string must be so that none comes twice by chance; None where codes hardly vary."""
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


def repeated_noise(
    mechanism: Mechanism, private: NDArray[np.float64], crowd: Reports, words: Words | None
) -> list[str]:
    """Return a finding where the noise of one call, or of two, comes back.

    Parameters
    ----------
    mechanism
        The mechanism under audit.
    private
        What all of these users hold.
    crowd
        The reports of many users of one call.
    words
        Where the words of a second call come from; None is a client's default.
    """
    users = crowd.users
    # Of the second call so many users that a string of it is seen again.
    second = max(users // 8, min(users, 2000))
    reports = [crowd, draw_reports(mechanism, private, second, words)]
    if mechanism.shape.uneven:
        kept = min(mechanism.shape.alphabet, 64)
        drawn = [code_presence(one, kept) for one in reports]
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
            return [_again_leak(what, distance / width, users)]
        for column in stream[:users].T[:MAX_COLUMNS]:
            halved = (column > middle_code(column)).astype(np.float64)
            period = noise_period(halved)
            if period is not None:
                return [_again_leak(what, float(period[0]), users)]
            if mirrored_deviations(halved) > DEVIATIONS:
                told = f"users with the same row are not independent: {what} come again in the opposite order of users"
                return [Leak(told, Rank.USERS)]
    return []


def _again_leak(what: str, distance: float, users: int) -> Leak:
    after = f"{distance:,.0f} users" if distance >= 1 else "less than one user"
    where = "in one call" if distance < users else "in the next call"
    return Leak(
        f"users with the same row are not independent: {what} come again {where}, after {after} "
        "(a seed or random words used twice do this)",
        Rank.USERS,
    )
