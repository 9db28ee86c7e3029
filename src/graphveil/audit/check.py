"""The suite that every mechanism passes just by being registered, as a series of named checks.

Each check raises an AssertionError with a sentence. Random words are seeded, but for the audit's look at the default ones,
whose rate of false alarms is one in a million.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.behaviour import check_answered, sighted_reports, sighted_tables
from graphveil.audit.candidate import Candidate, decoder, has_levels, least_claim, values_of, with_values
from graphveil.audit.enumeration import JointDistribution, enumerate_smaller
from graphveil.audit.examine import examine
from graphveil.audit.findings import leaks_of, show
from graphveil.audit.reports import Probe, Version, batch, public_range
from graphveil.channels.sampling import SeededBits
from graphveil.errors import InputError, MessageError
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.registry import mechanism as build_by_name
from graphveil.mechanisms.reports import Reports
from graphveil.suites import Check, run_checks

# A pure mechanism may waste this part of its claim; below the ε for one value that 2^62 counts resolve well, more.
WASTE, COARSE_WASTE, COARSE_BELOW = 1e-9, 1e-6, 0.01
# A bias that is smaller than this part of the range is rounding dust.
DUST = 1e-9
# Draws of statistical checks, and how many standard deviations they allow (a false alarm of 2·10^-9 each).
DRAWS, QUICK_DRAWS, DEVIATIONS = 1_000_000, 20_000, 6.0
SEED = 40
# Settings that make no sense, whatever the mechanism.
BAD_BUDGETS: tuple[Any, ...] = (0.0, -1.0, math.nan, math.inf, "1", None, True)
BAD_DIMS = (0, -1)
# The batch of rows that lie anywhere in the public range (`Probe.of`).
ANYWHERE = "rows anywhere in the range"


def check_mechanism(
    what: str | Callable[..., Mechanism], *, epsilons: Sequence[float] = (0.1, 1.0, 4.0), quick: bool = True
) -> None:
    """Check a mechanism at some budgets; an AssertionError names everything that is wrong.

    Parameters
    ----------
    what
        A registered name, or a function that builds a mechanism.
    epsilons
        The budgets. One that the mechanism refuses with an InputError is skipped; at least one must be left.
    quick
        Whether statistical checks draw fewer reports, and the audit is a quick one.

    >>> check_mechanism("krr", epsilons=[1.0])
    """
    run_checks(title_of(what), mechanism_checks(what, epsilons=epsilons, quick=quick))


def mechanism_checks(
    what: str | Callable[..., Mechanism], *, epsilons: Sequence[float] = (0.1, 1.0, 4.0), quick: bool = True
) -> Iterator[Check]:
    """Yield the named checks of a mechanism at some budgets, so that each can be a separate test.

    What several checks of one budget need is computed once, when the first of them runs.

    Parameters
    ----------
    what
        A registered name, or a function that builds a mechanism.
    epsilons
        The budgets; those that the mechanism refuses are skipped.
    quick
        Whether statistical checks draw fewer reports, and the audit is a quick one.

    >>> [check.name for check in mechanism_checks("krr", epsilons=[1.0])][:2]
    ['it claims what it was asked for at epsilon 1', 'its claim holds at epsilon 1']
    """
    accepted: list[float] = []

    def check_accepted() -> None:
        assert accepted, f"{title_of(what)} must accept at least one epsilon of {list(epsilons)}"

    for epsilon in epsilons:
        tried = TriedMechanism(Candidate.of(what, epsilon), quick)
        try:
            _ = tried.mechanism
        except InputError:
            continue
        accepted.append(epsilon)
        for name, check in checks_of(tried):
            yield Check(f"{name} at epsilon {epsilon:g}", partial(check, tried))
    if not accepted:
        yield Check("it accepts a budget", check_accepted)


def title_of(what: str | Callable[..., Mechanism]) -> str:
    """Return the title of a mechanism under test."""
    return what if isinstance(what, str) else Candidate.of(what, 1.0).title


@dataclass(frozen=True, eq=False)
class TriedMechanism:
    """A mechanism at one budget, and what several checks need of it."""

    candidate: Candidate
    quick: bool = True

    @property
    def draws(self) -> int:
        """The number of reports that a statistical check draws."""
        return QUICK_DRAWS if self.quick else DRAWS

    @cached_property
    def mechanism(self) -> Mechanism:
        """As it is audited."""
        return self.candidate.build()

    @cached_property
    def control(self) -> Mechanism:
        """Its control."""
        return self.mechanism.blind()

    @cached_property
    def probe(self) -> Probe:
        """Rows to try it with."""
        return Probe.of(self.candidate)

    @cached_property
    def enumerable(self) -> bool:
        """Whether it can be built so small that its reports can be listed."""
        return self.mechanism.finite and next(self.candidate.smaller(), None) is not None

    @cached_property
    def joint(self) -> JointDistribution | None:
        """All its reports, where it is small."""
        return enumerate_smaller(self.candidate)

    def say(self, true: bool, sentence: str) -> None:
        """Raise the sentence unless it is true."""
        if not true:
            raise AssertionError(f"{self.candidate.title} at epsilon {self.candidate.epsilon:g}: {sentence}")


def checks_of(tried: TriedMechanism) -> Iterator[tuple[str, Callable[[TriedMechanism], None]]]:
    """Yield the checks that apply, by name."""
    mechanism, candidate = tried.mechanism, tried.candidate
    yield "it claims what it was asked for", check_asked
    yield "its claim holds", check_holds
    # Levels cost some of everybody's budget, and are told by the same part from each other only: no claim is used up.
    if mechanism.claim.delta == 0 and not has_levels(mechanism):
        yield "it wastes no budget", check_waste
    if mechanism.unbiased and tried.enumerable:
        yield "its mean is exact", check_exact_mean
    if tried.enumerable:
        yield "its variance is the tables'", check_variance
    if mechanism.unbiased:
        yield "drawn estimates have the right mean", check_drawn_mean
    yield "its control costs nothing", check_control_is_free
    yield "its control keeps the format", check_control_format
    yield "its control sees no values", check_control_is_blind
    yield "its control sends reports alike", check_control_reports
    if candidate.name is not None:
        yield "senseless budgets are refused", partial(check_setting, "epsilon", BAD_BUDGETS)
    if candidate.takes("dims"):
        yield "senseless dims are refused", partial(check_setting, "dims", BAD_DIMS)
    if candidate.takes("sampled"):
        too_many = candidate.settings()["dims"] + 1
        yield "senseless numbers sampled are refused", partial(check_setting, "sampled", (0, too_many))
    yield "wrong shapes are refused", check_shapes
    yield "users are counted by shape", check_count
    yield "any value is answered in silence", check_silence
    if mechanism.finite and public_range(candidate, mechanism) is not None:
        yield "its owner hears of outliers", check_altered
    yield "messages give reports back", check_messages
    yield "damaged messages are refused", check_damaged
    yield "the audit finds no leak", check_audit


def check_asked(tried: TriedMechanism) -> None:
    """The claim is the budget that was asked for."""
    asked = least_claim(tried.mechanism) == tried.candidate.epsilon
    tried.say(asked, f"it must claim what it was asked for, not {tried.mechanism.claim}")


def check_holds(tried: TriedMechanism) -> None:
    """The exact ε is not above the claim."""
    claim, loss = tried.mechanism.claim, tried.mechanism.loss
    message = f"its exact epsilon is {loss.epsilon!r}, claimed {claim.epsilon!r}"
    tried.say(tried.mechanism.holds, message)


def check_waste(tried: TriedMechanism) -> None:
    """The exact ε wastes hardly any of the claim."""
    claim, loss = tried.mechanism.claim, tried.mechanism.loss
    smallest = min([answer.channel.claim.epsilon for answer in tried.mechanism.answers] or [claim.epsilon])
    allowed = WASTE if smallest >= COARSE_BELOW else COARSE_WASTE
    used = loss.epsilon >= claim.epsilon * (1 - allowed)
    tried.say(used, f"it wastes budget: its exact epsilon is {loss.epsilon!r}")


def _moments(joint: JointDistribution) -> Iterator[tuple[Any, NDArray[np.float64], NDArray[np.float64]]]:
    """For each input the shares of all reports, and what each report is decoded to."""
    mechanism = joint.mechanism
    decoded = decoder(mechanism).estimate(mechanism.possible_reports()).dense()
    for private, shares in zip(joint.inputs, joint.shares, strict=True):
        yield private, shares, decoded


def check_exact_mean(tried: TriedMechanism) -> None:
    """Over all reports of a small mechanism, estimates have the mean that is promised."""
    if tried.joint is None:
        return
    mechanism = tried.joint.mechanism
    for private, shares, decoded in _moments(tried.joint):
        bias = float(np.abs(shares @ decoded - truth(mechanism, private)).max())
        message = f"its estimate of {show(private)} is biased by {bias:.3g}"
        tried.say(bias <= DUST * width(mechanism), message)


def check_variance(tried: TriedMechanism) -> None:
    """Drawn estimates of a small mechanism have the variance that the tables say."""
    if tried.joint is None:
        return
    mechanism, draws = decoder(tried.joint.mechanism), tried.draws
    for private, shares, decoded in _moments(tried.joint):
        mean = shares @ decoded
        variance = shares @ (decoded - mean) ** 2
        fourth = shares @ (decoded - mean) ** 4
        drawn = _estimates(mechanism, private, draws).var(axis=0)
        allowed = DEVIATIONS * np.sqrt(np.maximum(fourth - variance**2, 0) / draws) + DUST * variance + DUST
        message = f"the variance of its estimate of {show(private)} is {drawn}, its tables say {variance}"
        tried.say(bool((np.abs(drawn - variance) <= allowed).all()), message)


def check_drawn_mean(tried: TriedMechanism) -> None:
    """Drawn estimates of rows anywhere have the mean that is promised."""
    mechanism, draws = tried.mechanism, tried.draws
    for rows in tried.probe.batches.values():
        private = rows[0]
        if mechanism.altered(rows[:1]):
            continue  # it is answered as something else, and so is its estimate
        estimates = _estimates(mechanism, private, draws)
        error = np.abs(estimates.mean(axis=0) - truth(mechanism, private))
        allowed = DEVIATIONS * estimates.std(axis=0) / math.sqrt(draws) + DUST
        message = f"its mean estimate of {show(private)} is off by {error.max():.6g} over {draws:,} reports"
        tried.say(bool((error <= allowed).all()), message)


def _estimates(mechanism: Mechanism, private: Any, draws: int) -> NDArray[np.float64]:
    reports = mechanism.randomize(batch(private, draws), SeededBits(SEED))
    return mechanism.estimate(reports).dense()


def truth(mechanism: Mechanism, private: Any) -> NDArray[np.float64]:
    """Return the target of an unbiased estimate: the row, the label's indicator, or the level."""
    if mechanism.subject == "label":
        indicator: NDArray[np.float64] = np.zeros(mechanism.shape.dimensions)
        indicator[int(private)] = 1.0
        return indicator
    values = values_of(mechanism, np.asarray(private, dtype=np.float64)[None])[0]
    return np.atleast_1d(values)


def width(mechanism: Mechanism) -> float:
    """Return the width of the public range; 1 where there is none."""
    public = getattr(mechanism, "public", None)
    return 1.0 if public is None else float(public.high - public.low)


def check_control_is_free(tried: TriedMechanism) -> None:
    """The control has ε = 0 exactly, and claims it."""
    leaks = sighted_tables(tried.control)
    tried.say(not leaks, f"its control must cost nothing: {' | '.join(leaks)}")


def check_control_format(tried: TriedMechanism) -> None:
    """The control's reports are otherwise the same: length, alphabet, dimensions, scale."""
    mechanism = tried.mechanism
    names = ["shape", "subject"]
    for name in [*names, "largest"] if mechanism.subject == "features" else names:
        kept = getattr(mechanism, name, None), getattr(tried.control, name, None)
        tried.say(kept[0] == kept[1], f"its control must keep {name} {kept[0]!r}, it has {kept[1]!r}")


def check_control_is_blind(tried: TriedMechanism) -> None:
    """With the same words the control answers all values alike."""
    leaks = sighted_reports(Version(tried.control, tried.probe.public))
    tried.say(not leaks, f"its control must see no values: {' | '.join(leaks)}")


def check_control_reports(tried: TriedMechanism) -> None:
    """With the same words the control names the same dimensions, and its reports are as long."""
    mechanism, rows = tried.mechanism, tried.probe.first
    original, blinded = (each.randomize(rows, SeededBits(SEED)) for each in (mechanism, tried.control))
    as_long = mechanism.shape.uneven or np.array_equal(original.indptr, blinded.indptr)
    tried.say(as_long, "its control sends reports of other lengths")
    if original.dims is not None and blinded.dims is not None:
        same = np.array_equal(original.dims, blinded.dims)
        tried.say(same, "its control asks for other dimensions than the mechanism, with the same words")


def check_setting(setting: str, values: Sequence[Any], tried: TriedMechanism) -> None:
    """Check that invalid values of a setting are refused.

    Parameters
    ----------
    setting
        The name of the setting.
    values
        Values that must be refused.
    tried
        The mechanism under test.
    """
    for bad in values:
        build = partial(tried.candidate.build, **{setting: bad})
        if setting == "epsilon" and tried.candidate.name is not None:
            settings = {**tried.candidate.settings(), "epsilon": bad}
            build = partial(build_by_name, tried.candidate.name, **settings)
        _refused(tried, build, f"{setting} {bad!r}")


def check_shapes(tried: TriedMechanism) -> None:
    """Rows of a wrong shape are refused, by whom they are counted too."""
    mechanism, rows = tried.mechanism, tried.probe.first[:5]
    bad: dict[str, Any] = {"rows of one dimension too many": rows[None]}
    if mechanism.subject in ("features", "links"):
        bad["rows that are too short"] = rows[:, :-1]
        bad["rows that are too long"] = np.concatenate([rows, rows], axis=1)
    for title, private in bad.items():
        _refused(tried, partial(mechanism.randomize, private), title)
        _refused(tried, partial(mechanism.count, private), f"a count of {title}")


def check_count(tried: TriedMechanism) -> None:
    """Users are counted by the shape of what they hold."""
    rows = tried.probe.first[:5]
    counted = tried.mechanism.count(rows) == len(rows)
    tried.say(counted, "it must count the users by the shape of their rows")


def check_silence(tried: TriedMechanism) -> None:
    """Any value is answered, in silence."""
    leaks = leaks_of(check_answered, Version(tried.mechanism, tried.probe.public))
    tried.say(not leaks, f"any value must be answered, in silence: {' | '.join(leaks)}")


def check_altered(tried: TriedMechanism) -> None:
    """The owner is told how many users hold what does not fit."""
    mechanism, public = tried.mechanism, tried.probe.public
    if public is None or ANYWHERE not in tried.probe.batches:
        return  # not all of its range can be held
    rows = tried.probe.batches[ANYWHERE][:5]
    values = np.array(values_of(mechanism, rows), dtype=np.float64)
    values[1:3] = public.high + 1e6
    before, after = mechanism.altered(rows), mechanism.altered(with_values(mechanism, rows, values))
    message = f"2 of 5 rows outside the range must be counted for their owner, got {after} after {before}"
    tried.say(after >= 2 and after >= before, message)


def _sent(tried: TriedMechanism, users: int) -> Reports:
    rows = next(reversed(tried.probe.batches.values()))[:users]
    return tried.mechanism.randomize(rows, SeededBits(SEED))


def check_messages(tried: TriedMechanism) -> None:
    """Reports survive bytes and JSON."""
    mechanism = tried.mechanism
    for users in (0, 1, 9):
        reports = _sent(tried, users)
        same = Reports.from_bytes(reports.to_bytes(), mechanism) == reports
        tried.say(same, "bytes must give the same reports back")
        same = Reports.from_json(reports.to_json(), mechanism) == reports
        tried.say(same, "JSON must give the same reports back")


def check_damaged(tried: TriedMechanism) -> None:
    """A message that was damaged on its way is refused."""
    mechanism, reports = tried.mechanism, _sent(tried, 9)
    message, text = reports.to_bytes(), reports.to_json()
    for damaged in (message[:-1], message[:10], message[:-5] + bytes([message[-5] ^ 1]) + message[-4:]):
        _refused(tried, partial(Reports.from_bytes, damaged, mechanism), "a damaged message", MessageError)
    _refused(tried, partial(Reports.from_json, text[:-2], mechanism), "truncated JSON", MessageError)


def check_audit(tried: TriedMechanism) -> None:
    """The audit finds no leak."""
    candidate = tried.candidate
    what = candidate.builder if candidate.name is None else candidate.name
    audited = examine(Candidate.of(what, candidate.epsilon), quick=tried.quick, random_bits=SeededBits(SEED))
    tried.say(audited.holds, f"the audit must find no leak: {' | '.join(audited.leaks)}")


def _refused(
    tried: TriedMechanism, attempt: Callable[[], object], title: str, kind: type[InputError] = InputError
) -> None:
    must = f"{title} must be refused with {kind.__name__}"
    try:
        attempt()
    except kind as error:
        tried.say(bool(str(error)), f"{title} must be refused with a message")
    except Exception as error:
        message = f"{must}, got {type(error).__name__}: {error}"
        raise AssertionError(f"{tried.candidate.title}: {message}") from error
    else:
        tried.say(False, f"{must}, it was accepted")
