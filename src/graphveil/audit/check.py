"""The suite that every mechanism passes just by being registered.

Each check raises an AssertionError with a sentence. Random words are seeded, but for the audit's look at the default ones,
whose rate of false alarms is one in a million.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit import audit
from graphveil.audit.candidate import Candidate
from graphveil.audit.findings import batch, same_reports, show
from graphveil.audit.joint import Joint, enumerate_smaller
from graphveil.audit.paths import everything_answered
from graphveil.audit.probe import Probe
from graphveil.channels.words import SeededWords
from graphveil.errors import InputError, MessageError
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.registry import mechanism as build_by_name
from graphveil.mechanisms.reports import Reports

# A pure mechanism may waste this part of its claim; below the ε for one value that 2^62 counts resolve well, more.
WASTE, COARSE_WASTE, COARSE_BELOW = 1e-9, 1e-6, 0.01
# A bias that is smaller than this part of the range is rounding dust.
DUST = 1e-9
# Draws of statistical checks, and how many standard deviations they allow (a false alarm of 2·10^-9 each).
DRAWS, QUICK_DRAWS, DEVIATIONS = 1_000_000, 20_000, 6.0
SEED = 40

Check = Callable[[Candidate, int], None]


def check_mechanism(
    what: str | Callable[..., Mechanism], *, epsilons: Sequence[float] = (0.1, 1.0, 4.0), quick: bool = True
) -> None:
    """Check a registered mechanism, or a function that builds one, at some budgets; AssertionError says what is wrong.

    A budget that the mechanism refuses with an InputError is left out; one at least must be left.

    >>> check_mechanism("krr", epsilons=[1.0])
    """
    draws, checked = QUICK_DRAWS if quick else DRAWS, 0
    for epsilon in epsilons:
        candidate = Candidate.of(what, epsilon)
        try:
            candidate.build()
        except InputError:
            continue
        checked += 1
        for check in (check_claim, check_estimate, check_control, check_settings, check_rows, check_messages):
            check(candidate, draws)
        found = audit(what, epsilon=epsilon, quick=quick, words=SeededWords(SEED))
        _say(candidate, found.holds, f"the audit must find no leak: {' | '.join(found.leaks)}")
    if not checked:
        raise AssertionError(f"{what} must accept at least one epsilon of {list(epsilons)}")


def _say(candidate: Candidate, true: bool, sentence: str) -> None:
    if not true:
        raise AssertionError(f"{candidate.title} at epsilon {candidate.epsilon:g}: {sentence}")


def check_claim(candidate: Candidate, draws: int) -> None:
    """The exact ε is not above the claim and, where no δ is claimed, wastes hardly any of it."""
    mechanism = candidate.build()
    claim, loss = mechanism.claim, mechanism.loss
    _say(
        candidate,
        mechanism.strictest == candidate.epsilon,
        f"it must claim what it was asked for, not {claim}",
    )
    _say(candidate, mechanism.holds, f"its exact epsilon is {loss.epsilon!r}, claimed {claim.epsilon!r}")
    # Levels cost some of everybody's budget, and are told by the same part from each other only: no claim is used up.
    if claim.delta == 0 and not mechanism.personal:
        smallest = min([answer.channel.claim.epsilon for answer in mechanism.answers] or [claim.epsilon])
        allowed = WASTE if smallest >= COARSE_BELOW else COARSE_WASTE
        used = loss.epsilon >= claim.epsilon * (1 - allowed)
        _say(candidate, used, f"it wastes budget: its exact epsilon is {loss.epsilon!r}")


def check_estimate(candidate: Candidate, draws: int) -> None:
    """Estimates have the mean that is promised, and the variance that the tables say."""
    joint = enumerate_smaller(candidate)
    if joint is not None:
        _check_exact_moments(candidate, joint, draws)
    mechanism = candidate.build()
    if mechanism.unbiased:
        for rows in Probe.of(candidate).batches.values():
            private = rows[0]
            if mechanism.altered(rows[:1]):
                continue  # it is answered as something else, and so is its estimate
            estimates = _estimates(mechanism, private, draws)
            error = np.abs(estimates.mean(axis=0) - truth(mechanism, private))
            allowed = DEVIATIONS * estimates.std(axis=0) / math.sqrt(draws) + DUST
            told = f"its estimate of {show(private)} is off by {error.max():.6g} on average over {draws:,} reports"
            _say(candidate, bool((error <= allowed).all()), told)


def _check_exact_moments(candidate: Candidate, joint: Joint, draws: int) -> None:
    mechanism = joint.mechanism.settled()
    decoded = mechanism.estimate(mechanism.possible_reports()).dense()
    for private, shares in zip(joint.inputs, joint.shares, strict=True):
        mean = shares @ decoded
        if mechanism.unbiased:
            bias = float(np.abs(mean - truth(mechanism, private)).max())
            _say(
                candidate,
                bias <= DUST * width(mechanism),
                f"its estimate of {show(private)} is biased by {bias:.3g}",
            )
        variance = shares @ (decoded - mean) ** 2
        fourth = shares @ (decoded - mean) ** 4
        found = _estimates(mechanism, private, draws).var(axis=0)
        allowed = DEVIATIONS * np.sqrt(np.maximum(fourth - variance**2, 0) / draws) + DUST * variance + DUST
        told = f"the variance of its estimate of {show(private)} is {found}, its tables say {variance}"
        _say(candidate, bool((np.abs(found - variance) <= allowed).all()), told)


def _estimates(mechanism: Mechanism, private: Any, draws: int) -> NDArray[np.float64]:
    reports = mechanism.randomize(batch(private, draws), SeededWords(SEED))
    return mechanism.estimate(reports).dense()


def truth(mechanism: Mechanism, private: Any) -> NDArray[np.float64]:
    """What an unbiased estimate is the estimate of: the row, the label's indicator, or the level."""
    if mechanism.subject == "label":
        indicator: NDArray[np.float64] = np.zeros(mechanism.dimensions)
        indicator[int(private)] = 1.0
        return indicator
    values = mechanism.values_of(np.asarray(private, dtype=np.float64)[None])[0]
    return np.atleast_1d(values)


def width(mechanism: Mechanism) -> float:
    """How wide the public range is."""
    public = getattr(mechanism, "public", None)
    return 1.0 if public is None else float(public.high - public.low)


def check_control(candidate: Candidate, draws: int) -> None:
    """The control has ε = 0 exactly and otherwise the same reports: length, alphabet, dimensions, scale."""
    mechanism = candidate.build()
    control = mechanism.blind()
    _say(candidate, control.loss.terms == (), f"its control must have epsilon 0, it has {control.epsilon!r}")
    _say(
        candidate,
        control.claim.epsilon == 0 and control.holds,
        "its control must claim epsilon 0, and keep it",
    )
    names = ["dimensions", "report_length", "alphabet", "names_dimensions", "subject"]
    for name in [*names, "largest"] if mechanism.subject == "features" else names:
        kept = getattr(mechanism, name, None), getattr(control, name, None)
        _say(candidate, kept[0] == kept[1], f"its control must keep {name} {kept[0]!r}, it has {kept[1]!r}")
    batches = list(Probe.of(candidate).batches.values())
    # The same users with other values: a level, where they hold one, is answered as usual.
    alike = [control.with_values(batches[0], control.values_of(rows)) for rows in batches]
    answers = [control.randomize(rows, SeededWords(SEED)) for rows in alike]
    equal = all(same_reports(answers[0], other) for other in answers[1:])
    _say(candidate, equal, "its control answers different rows differently, with the same words")
    original = mechanism.randomize(batches[0], SeededWords(SEED))
    _say(
        candidate,
        mechanism.uneven or np.array_equal(original.indptr, answers[0].indptr),
        "its control sends reports of other lengths",
    )
    if original.dims is not None and answers[0].dims is not None:
        same = np.array_equal(original.dims, answers[0].dims)
        _say(candidate, same, "its control asks for other dimensions than the mechanism, with the same words")


def check_settings(candidate: Candidate, draws: int) -> None:
    """A budget or a number of dimensions that makes no sense is refused."""
    settings = candidate.settings()
    bad: Any
    for bad in (0.0, -1.0, math.nan, math.inf, "1", None, True):
        if candidate.name is not None:
            name, other = candidate.name, {key: value for key, value in settings.items() if key != "epsilon"}
            _refused(candidate, partial(build_by_name, name, epsilon=bad, **other), f"epsilon {bad!r}")
    if candidate.takes("dims"):
        for bad_dims in (0, -1):
            _refused(candidate, partial(candidate.build, dims=bad_dims), f"dims {bad_dims!r}")
    if candidate.takes("sampled"):
        for bad_count in (0, settings["dims"] + 1):
            _refused(candidate, partial(candidate.build, sampled=bad_count), f"sampled {bad_count!r}")


def check_rows(candidate: Candidate, draws: int) -> None:
    """Rows of a wrong shape are refused; any value is answered, in silence."""
    mechanism, probe = candidate.build(), Probe.of(candidate)
    rows = next(iter(probe.batches.values()))[:5]
    bad: dict[str, Any] = {"rows of one dimension too many": rows[None]}
    if mechanism.subject in ("features", "links"):
        bad["rows that are too short"] = rows[:, :-1]
        bad["rows that are too long"] = np.concatenate([rows, rows], axis=1)
    for title, private in bad.items():
        _refused(candidate, partial(mechanism.randomize, private), title)
        _refused(candidate, partial(mechanism.count, private), f"a count of {title}")
    _say(candidate, mechanism.count(rows) == len(rows), "it must count the users by the shape of their rows")
    leaks = everything_answered(mechanism, probe.public)
    _say(candidate, not leaks, f"any value must be answered, in silence: {' | '.join(leaks)}")
    _check_altered(candidate, mechanism, probe)


def _check_altered(candidate: Candidate, mechanism: Mechanism, probe: Probe) -> None:
    """The owner is told how many users hold what does not fit."""
    if probe.public is None or "rows anywhere in the range" not in probe.batches or not mechanism.finite:
        return
    rows = probe.batches["rows anywhere in the range"][:5]
    values = np.array(mechanism.values_of(rows), dtype=np.float64)
    values[1:3] = probe.public.high + 1e6
    before, after = mechanism.altered(rows), mechanism.altered(mechanism.with_values(rows, values))
    told = f"2 of 5 rows outside the range must be counted for their owner, got {after} after {before}"
    _say(candidate, after >= 2 and after >= before, told)


def check_messages(candidate: Candidate, draws: int) -> None:
    """Reports survive bytes and JSON; a damaged message is refused."""
    mechanism = candidate.build()
    for users in (0, 1, 9):
        rows = next(reversed(Probe.of(candidate).batches.values()))[:users]
        reports = mechanism.randomize(rows, SeededWords(SEED))
        message, text = reports.to_bytes(), reports.to_json()
        _say(
            candidate,
            Reports.from_bytes(message, mechanism) == reports,
            "bytes must give the same reports back",
        )
        _say(candidate, Reports.from_json(text, mechanism) == reports, "JSON must give the same reports back")
    for damaged in (message[:-1], message[:10], message[:-5] + bytes([message[-5] ^ 1]) + message[-4:]):
        _refused(
            candidate, partial(Reports.from_bytes, damaged, mechanism), "a damaged message", MessageError
        )
    _refused(candidate, lambda: Reports.from_json(text[:-2], mechanism), "truncated JSON", MessageError)


def _refused(
    candidate: Candidate, attempt: Callable[[], object], title: str, kind: type[InputError] = InputError
) -> None:
    try:
        attempt()
    except kind as error:
        _say(candidate, bool(str(error)), f"{title} must be refused with a message")
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        raise AssertionError(
            f"{candidate.title}: {title} must be refused with {kind.__name__}, got {told}"
        ) from error
    else:
        raise AssertionError(
            f"{candidate.title}: {title} must be refused with {kind.__name__}, it was accepted"
        )
