"""Is the control blind? And reports with decoys: answers of a blind channel among the others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.candidate import has_decoys, is_blind, reshaped, with_values
from graphveil.audit.drawn_reports import batch, draw_reports, reports_of, same_reports
from graphveil.audit.findings import CONTROL, Leak, Rank, Step, log_false_alarm
from graphveil.audit.independence import AnswerBits, answers_of, equal_rows
from graphveil.audit.inputs import invalid_inputs, valid_inputs
from graphveil.audit.lower_bound import log_tail
from graphveil.audit.probability_ranges import CodeRange
from graphveil.channels.sampling import SeededWords, Words
from graphveil.errors import InputError
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.registry import is_own
from graphveil.mechanisms.reports import Reports
from graphveil.mechanisms.rows import PublicRange

Floats = NDArray[np.float64]
# Answers that are compared in pairs and in triples, and users that are drawn at least.
PAIRED, TRIPLED, MIN_USERS = 48, 12, 8000
# Bits of an answer, rows and versions that are compared: the rate of false alarms is divided by them.
LOOKS = 1000


def sighted_decoys(mechanism: Mechanism, public: PublicRange | None, values: int, words: Words) -> list[str]:
    """Return what is wrong with the decoys of a mechanism; nothing where it has none.

    Codes of a report that are no answers, by the mechanism's own word, count as decoys.

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
    """
    count = sum(answer.count for answer in mechanism.answers)
    more = (
        reshaped(mechanism)
        and mechanism.finite
        and not mechanism.shape.uneven
        and count < mechanism.shape.length
    )
    if not (has_decoys(mechanism) or more):
        return []
    users = max(MIN_USERS, values // max(mechanism.shape.length, 4))
    drawn = {
        title: draw_reports(mechanism, row, users, words) for title, row in _rows(mechanism, public).items()
    }
    if leak := _too_different(mechanism, drawn):
        return [leak]
    kinds = [answers_of(reports) for reports in drawn.values()]
    for bits in zip(*kinds, strict=True):
        if leak := _told_together(mechanism, list(drawn), list(bits), users):
            return [leak]
    return []


def _rows(mechanism: Mechanism, public: PublicRange | None) -> dict[str, NDArray[np.float64]]:
    rows = equal_rows(mechanism, public)
    if mechanism.subject in ("label", "level"):
        return rows
    low, high, *_ = rows.values()
    even = np.arange(len(low)) % 2 == 0
    return {**rows, "rows of both ends in turn": np.where(even, low, high)}


def _too_different(mechanism: Mechanism, drawn: dict[str, Reports]) -> Leak | None:
    """Whether a report holds a code more often under one row than under another, by more than all its answers together allow.

    Shares of a report lie between 0 and 1 and users are independent, so Hoeffding's bound holds for the difference of two means.
    """
    length, size = mechanism.shape.length, mechanism.shape.alphabet
    allowed = np.zeros(size)
    for answer in mechanism.answers:
        if (span := CodeRange.of(answer.channel)) is None:
            return None
        padded = span.padded(size)
        allowed += answer.count * (padded.high - padded.low) / length
    users = next(iter(drawn.values())).users
    shares = {
        title: np.bincount(reports.codes, minlength=size) / (length * users)
        for title, reports in drawn.items()
    }
    surplus = math.sqrt(-log_false_alarm(size, LOOKS) / users)
    for one, other in permutations(shares, 2):
        beyond = shares[one] - shares[other] - allowed
        code = int(beyond.argmax())
        if beyond[code] > surplus:
            return Leak(
                f"decoys are not blind: {shares[one][code]:.2%} of all codes are {code} under {one} and {shares[other][code]:.2%} under "
                f"{other}, and its answers allow a difference of {allowed[code]:.2%}",
                Rank.ANSWER,
            )
    return None


def _told_together(
    mechanism: Mechanism, titles: list[str], bits: list[AnswerBits], users: int
) -> Leak | None:
    """Whether two or three answers together tell two rows apart by more than the claim."""
    counts = np.array([np.concatenate([part.ravel() for part in _events(answers)]) for answers in bits])
    log_error = log_false_alarm(counts.size, LOOKS)
    low, high = _ends(counts, users, log_error)
    for one, other in permutations(range(len(titles)), 2):
        ratios = np.maximum(low[one] - mechanism.claim.delta, 0.0) / high[other]
        if (worst := float(ratios.max())) > math.exp(mechanism.claim.epsilon):
            return Leak(
                f"answers of one report tell more together than is claimed: an event of two or three of them is at least "
                f"{worst:.4g} times as likely under {titles[one]} as under {titles[other]}",
                Rank.TOGETHER,
            )
    return None


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


def _ends(counts: Floats, draws: int, log_error: float) -> tuple[Floats, Floats]:
    """Between which probabilities each count lies, but for that error, by Chernoff's bound."""
    share = counts / draws

    def end(beyond: float) -> Any:
        inside, outside = share.copy(), np.full(share.shape, beyond)
        for _ in range(40):
            middle = (inside + outside) / 2
            likely = log_tail(counts, draws, middle) > log_error
            inside, outside = np.where(likely, middle, inside), np.where(likely, outside, middle)
        return outside

    return end(0.0), end(1.0)


# Users of one look.
USERS, SEED = 64, 21


def control_step(mechanism: Mechanism, public: PublicRange | None) -> Step:
    """Whether the control of a mechanism carries nothing."""
    try:
        control = mechanism.blind()
    except (NotImplementedError, InputError):
        gap = "Its control: it has none (`blind` refuses), so nothing shows what a budget buys with it."
        return Step(CONTROL, "left out: it has no control", skipped=True, gaps=(gap,))
    leaks = [*sighted_tables(control), *sighted_reports(control, public)]
    seen = "with the same random words it gives the same reports for all values"
    if mechanism.finite:
        seen = f"exact epsilon 0 by its tables, and {seen}"
    return Step(
        CONTROL, seen, tuple(Leak(f"its control is not blind: {leak}", Rank.CONTROL) for leak in leaks)
    )


def sighted_tables(control: Mechanism) -> list[str]:
    """The channels of a control whose rows differ, in sentences."""
    if control.claim.epsilon != 0:
        return [f"it claims epsilon {control.claim.epsilon:g}, and not 0"]
    if is_own(control) or control.trust == "curator":
        return (
            []
            if control.loss.terms == ()
            else [f"it has an exact epsilon of {control.epsilon:.6g}, and not 0"]
        )
    for answer in control.answers:
        # Where users hold a level, it is answered as usual.
        if not is_blind(answer.channel) and answer.channel is not getattr(control, "level_channel", None):
            return [f"{answer.channel.name} has an exact epsilon of {answer.channel.epsilon:.6g}, and not 0"]
    return []


def sighted_reports(control: Mechanism, public: PublicRange | None) -> list[str]:
    """Whether a control answers some values differently, with the same random words."""
    inputs = {**valid_inputs(control, public), **invalid_inputs(control, public)}
    first: Any = None
    for title, private in inputs.items():
        rows = batch(private, USERS)
        if control.personal:
            # The same users with other values: a level is answered as usual.
            rows = with_values(control, batch(next(iter(inputs.values())), USERS), rows[:, :-1])
        reports = reports_of(control, rows, SeededWords(SEED))
        first = first or (title, reports)
        if not same_reports(first[1], reports):
            leak = f"with the same random words it answers {first[0]} and {title} differently"
            return [f"{leak}, so values reach its reports by a channel that is not blind, or past it"]
    return []
