"""The audit: does a mechanism keep what it claims? Its steps in order, and what it does not cover."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from graphveil.audit.answers import answers_step
from graphveil.audit.behaviour import behaviour_step, control_step
from graphveil.audit.candidate import Candidate, CheckedLoss, has_levels, is_foreign, trust_findings
from graphveil.audit.enumeration import JointDistribution, enumerate_smaller, graphs_step, sampler_step
from graphveil.audit.findings import (
    BrokenError,
    Deadline,
    OutOfTimeError,
    Rank,
    Step,
    Title,
    exact_words,
    leaks_of,
    power,
    rank_of,
    within,
)
from graphveil.audit.lower_bound import FEWER, bound_step, check_contrast
from graphveil.audit.many_users import many_users_step, walked_candidate
from graphveil.audit.recomputation import classes_step, processes_step
from graphveil.audit.reports import Version, public_range
from graphveil.audit.tables import describe_size, joint_step, personal_sentences, tables_step
from graphveil.audit.versions import AuditSchedule, versions_step
from graphveil.channels.sampling import RandomBits, SeededBits, SystemBits
from graphveil.checks import check_number
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.classes import ClassMechanism
from graphveil.mechanisms.labels import SymbolMechanism
from graphveil.mechanisms.links import LinkMechanism
from graphveil.number_format import counted

FOREIGN = (
    "Code that recognises an audit and behaves only while it is looked at. This mechanism is not graphveil's own: its tables are "
    "proved, its code was tested, so the audit is evidence and not proof."
)
CURATED = (
    "The curator: what it keeps, how long it takes and how many random words it draws, which depend on what users hold.",
    "Whole graphs: a small number of cells stands for them, one input a row.",
)
ALWAYS = (
    "Timing, memory, caches and power: only the number of random words is compared.",
    "The words themselves: a weak generator or a seed of low entropy outside the mechanism is not seen.",
    "State between processes: files, clocks or networks that a mechanism reads or writes.",
    "Faults that come more rarely than the draws show, or at single values, sizes or settings that were not tried.",
    "More than one report of a user: budgets of several reports add up, which the ledger counts and not the audit.",
    "What the reports of others, or the public graph, tell about a user.",
)


def not_covered(
    mechanism: Mechanism, steps: list[Step], refused: list[str], enumerated: bool, foreign: bool
) -> list[str]:
    """Return all that was not looked at, in sentences.

    Parameters
    ----------
    mechanism
        The mechanism under audit.
    steps
        The steps that were taken, the one in a second process last.
    refused
        Representations of data that the mechanism does not take.
    enumerated
        Whether whole reports were enumerated.
    foreign
        Whether it is not the package's own.
    """
    # Of code from outside, that it may recognise its audit comes before everything else.
    gaps = [FOREIGN] if foreign else []
    gaps += [
        f"What is left of the step {str(step.title)!r}: its time was over. Give the audit more (--minutes N), or ask for less (--quick, --plan)."
        for step in steps
        if step.unfinished
    ]
    gaps += [gap for step in steps for gap in step.gaps]
    if not mechanism.finite:
        gaps.append(
            "The closed form of its epsilon, and how near floating-point draws come to it: only reports were tested."
        )
    elif not enumerated:
        gaps.append(
            "Whole reports: there are too many to enumerate, so dependences of more than three answers may remain."
        )
    gaps += CURATED if mechanism.trust == "curator" else ()
    gaps += mechanism.beyond_audit
    if refused:
        gaps.append(f"Paths that the mechanism does not take: {', '.join(refused)}.")
    return [*gaps, *ALWAYS]


# Steps that compute and do not draw.
EXACT = (Title.TABLES, Title.CLOSED_FORM, Title.JOINT, Title.GRAPHS)
DRAWS, QUICK_DRAWS = 10_000_000, 200_000
# Labels and levels are drawn fast: so many draws of a quick audit for all symbols together.
CHEAP_DRAWS = 40_000_000
# Minutes that an audit may take, and the part of what is left that one step may use.
MINUTES, QUICK_MINUTES, SHARE = 10.0, 3.0, 0.5


@dataclass(frozen=True)
class StatedPrivacy:
    """An ε (which may be infinite) and a δ."""

    epsilon: float
    delta: float = 0.0

    def as_dict(self) -> dict[str, float | None]:
        """As JSON has it: an infinite ε is null."""
        return {"epsilon": None if math.isinf(self.epsilon) else self.epsilon, "delta": self.delta}


# What JSON says of an audit besides its name and its budgets.
FINDINGS = ("finite", "holds", "not_covered", "protects", "leaks", "trusts", "finished", "covers")


@dataclass(frozen=True)
class Audit:
    """The findings of an audit. It ``holds`` if nothing leaks and every step was finished.

    ``exact`` is what the tables say, rounded up: ε at the claimed δ, and δ at the claimed ε (0 where none is claimed).
    Where the mechanism is not ``finite`` there are no tables, and it is what a closed form says. ``protects``, ``leaks``,
    ``trusts`` (what somebody else's mechanism says of itself), ``covers`` (the sizes that were looked at) and ``not_covered``
    are sentences. Of the package's own mechanisms an audit is a proof of the tables and a test of the code; of ``foreign`` code it is
    evidence, and ``not_covered`` says so first.
    """

    name: str
    claimed: StatedPrivacy
    exact: StatedPrivacy
    protects: list[str]
    leaks: list[str]
    steps: list[Step] = field(default_factory=list)
    finite: bool = True
    trusts: list[str] = field(default_factory=list)
    not_covered: list[str] = field(default_factory=list)
    foreign: bool = False
    covers: str = ""

    @property
    def holds(self) -> bool:
        """Whether the claim holds, as far as the audit can see; not where it could not look to the end."""
        return not self.leaks and self.finished

    @property
    def finished(self) -> bool:
        """Whether every step came to its end in time."""
        return not any(step.unfinished for step in self.steps)

    def as_dict(self) -> dict[str, Any]:
        """The findings without the steps. An infinite ε is None, and a leak says so."""
        return {
            "name": self.name,
            "claimed": self.claimed.as_dict(),
            "exact": self.exact.as_dict(),
            **{key: getattr(self, key) for key in FINDINGS},
        }

    def to_json(self) -> str:
        """One JSON object with the keys of `as_dict`. An infinite ε is null."""
        return json.dumps(self.as_dict(), ensure_ascii=False)


class StepRunner:
    """The steps of an audit that have been taken, each within its part of the time that is left."""

    def __init__(self, deadline: Deadline, progress: Callable[[str], None] | None) -> None:
        self.deadline, self.progress = deadline, progress
        self.steps: list[Step] = []

    @property
    def found(self) -> bool:
        """Whether a step has found something."""
        return any(step.leaks for step in self.steps)

    def run(self, title: str, look: Callable[[], Step], then: Callable[[], Step] | None = None) -> Step:
        """Take a step; whatever goes wrong in it is its finding.

        Parameters
        ----------
        title
            What the step is called.
        look
            Takes it.
        then
            Takes it again with more draws, only where nothing was found by then, however slow a mechanism is.
        """
        if self.progress is not None:
            self.progress(title)
        step = self._look(title, look)
        if then is not None and not (step.leaks or step.unfinished or self.found):
            step = self._look(title, then)
        self.steps.append(step)
        return step

    def _look(self, title: str, look: Callable[[], Step]) -> Step:
        try:
            with within(self.deadline.part(SHARE)):
                return look()
        except OutOfTimeError:
            return Step(title, "its time was over before its end", unfinished=True)
        except Exception as error:  # noqa: BLE001
            # Whatever a mechanism of one's own may do wrong ends here as a finding.
            message = str(error) if isinstance(error, BrokenError) else f"{type(error).__name__}: {error}"
            return Step(title, "it failed on the way", (f"{title}: {message}",), failed=True)


def examine(
    candidate: Candidate,
    *,
    quick: bool = False,
    random_bits: RandomBits | None = None,
    progress: Callable[[str], None] | None = None,
    deadline: Deadline | None = None,
) -> Audit:
    """Run all steps of an audit, one after the other.

    Parameters
    ----------
    candidate
        What is audited, and the way to build it.
    quick
        Whether to look at fewer sizes and draws.
    random_bits
        Where random words come from; None: a generator that the operating system seeds.
    progress
        Told the title of each step that begins.
    deadline
        When the audit must end; None: whenever it does.
    """
    runner = StepRunner(deadline or Deadline(), progress)
    run, steps = runner.run, runner.steps
    whole = candidate.build()
    # Millions of words come faster from a generator; what a client draws from is looked at in `independence`.
    source: RandomBits = random_bits or SeededBits(int(SystemBits().take(1)[0] >> np.uint64(1)))
    version = Version(whole, public_range(candidate, whole), source)
    foreign = is_foreign(candidate, whole)
    schedule = AuditSchedule.of(quick, source)
    joint: JointDistribution | None = None
    refused: list[str] = []

    def enumerated() -> Step:
        nonlocal joint
        joint = enumerate_smaller(candidate)
        return joint_step(joint, whole.finite)

    def sampled(draws: int) -> Step:
        assert small is not None
        return sampler_step(small, draws, source)

    def versions() -> Step:
        step, paths = versions_step(candidate, version, schedule)
        refused.extend(paths)
        return step

    def bounded(draws: int) -> Step:
        # Where the sampler could not be compared with a table, all draws go into the bound.
        fresh = replace(version, mechanism=candidate.build())
        step = bound_step(fresh, draws // (1 if small is None else FEWER))
        if step.leaks or (draws == QUICK_DRAWS and not quick):
            return step
        return replace(step, leaks=tuple(leaks_of(check_contrast, version)))

    run(Title.TABLES if whole.finite else Title.CLOSED_FORM, lambda: tables_step(whole, candidate.epsilon))
    small = None if run(Title.JOINT, enumerated).failed else joint
    trusts, untrusted = trust_findings(whole, small is not None)
    steps[0] = replace(steps[0], leaks=(*steps[0].leaks, *untrusted))
    if isinstance(whole, LinkMechanism):
        run(Title.GRAPHS, lambda: graphs_step(candidate))
    run(Title.BEHAVIOUR, lambda: behaviour_step(candidate, small))
    run(Title.CONTROL, lambda: control_step(version))
    if isinstance(whole, ClassMechanism):
        asked = candidate.asked or whole
        run(Title.CLASSES, lambda: classes_step(asked))
    if small is not None:
        draws = draws_of(small, quick)
        run(
            Title.SAMPLER,
            partial(sampled, QUICK_DRAWS),
            partial(sampled, draws) if draws > QUICK_DRAWS else None,
        )
    run(Title.ANSWERS, lambda: answers_step(version, quick or runner.found))
    run(Title.USERS, lambda: many_users_step(version, schedule, walked_candidate(candidate)))
    run(Title.VERSIONS, versions)
    run(Title.BOUND, partial(bounded, QUICK_DRAWS), None if quick else partial(bounded, DRAWS))
    # Last, so that whatever calls have changed shows.
    run(Title.PROCESSES, lambda: processes_step(candidate, version, foreign))
    stated = CheckedLoss.of(whole)
    exact = StatedPrivacy(stated.loss.epsilon, stated.delta if whole.claim.delta else 0.0)
    return Audit(
        candidate.name or whole.name,
        StatedPrivacy(whole.claim.epsilon, whole.claim.delta),
        exact,
        _protects(whole, exact, steps, foreign),
        _leaks(steps),
        steps,
        whole.finite,
        trusts,
        not_covered(whole, steps, refused, small is not None, foreign),
        foreign,
        _covers(whole, candidate, steps, quick),
    )


def _covers(mechanism: Mechanism, candidate: Candidate, steps: list[Step], quick: bool) -> str:
    """The sizes that the verdict is about."""
    size = f"{describe_size(mechanism)} at epsilon {mechanism.claim.epsilon:g} in full"
    if candidate.planned is not None:
        size = f"the plan's own size alone, {size}"
    walked = ["; ".join(step.covers) for step in steps if step.covers]
    depth = " (quick: fewer sizes and draws than a full audit)" if quick else ""
    return "; ".join([size, *walked]) + depth


def deadline_of(minutes: float | None, quick: bool) -> Deadline:
    """Return the deadline of an audit that may take so many minutes."""
    usual = QUICK_MINUTES if quick else MINUTES
    return Deadline(60 * (usual if minutes is None else check_number(minutes, "minutes", above=0)))


def draws_of(joint: JointDistribution, quick: bool) -> int:
    """Return the number of reports to draw for each input."""
    cheap = CHEAP_DRAWS // len(joint.inputs) if isinstance(joint.mechanism, SymbolMechanism) else 0
    return max(QUICK_DRAWS, min(DRAWS, cheap)) if quick else DRAWS


def _leaks(steps: list[Step]) -> list[str]:
    """All findings, each once, the nearest to the root of a fault first; what failed on the way only where nothing else did."""
    leaks = [leak for step in steps for leak in step.leaks if not step.failed]
    distinct = dict.fromkeys(leaks or [leak for step in steps for leak in step.leaks])
    # Tables and enumeration speak first: they are exact.
    exact = {leak for step in steps if step.title in EXACT for leak in step.leaks}
    return sorted(distinct, key=lambda leak: Rank.CLAIM if leak in exact else rank_of(leak))


def _protects(mechanism: Mechanism, exact: StatedPrivacy, steps: list[Step], foreign: bool) -> list[str]:
    """Return what is protected, in sentences; only what the steps have confirmed."""
    sound = {step.title: not (step.leaks or step.unfinished) for step in steps}
    sentences = []
    if all(sound[title] for title in sound if title not in EXACT) and not math.isinf(exact.epsilon):
        sentences.append(_main_sentence(mechanism, exact, foreign))
    drawn = sound[Title.BEHAVIOUR] and sound[Title.BOUND] and sound.get(Title.SAMPLER, True)
    if drawn and has_levels(mechanism):
        sentences += personal_sentences(mechanism)
    if not sound[Title.BEHAVIOUR]:
        return sentences
    if not mechanism.shape.uneven:
        sentences.append(
            f"Length, type and size of a report: {counted(mechanism.shape.length, 'code')} of an alphabet of "
            f"{mechanism.shape.alphabet:,} for everybody, whatever they hold."
        )
    if mechanism.shape.names_dimensions:
        sentences.append(
            f"Which values: {mechanism.shape.length - has_levels(mechanism)} of {mechanism.shape.dimensions} are chosen without looking at them."
        )
    if sound.get(Title.CLASSES, False):
        sentences.append(
            "What the model makes of a row: whatever it is, and whatever it leaves open, the answer's epsilon is the channel's."
        )
    if mechanism.subject == "features":
        sentences.append(
            "Outliers: a value outside the public range is reported like its end, and what is no number is answered too."
        )
    if mechanism.trust == "local":
        sentences.append(
            "Each user alone: a report depends on nobody else's data and is drawn independently."
        )
    return sentences


def _main_sentence(mechanism: Mechanism, exact: StatedPrivacy, foreign: bool) -> str:
    what = {
        "features": f"A user's whole row{' and level' if has_levels(mechanism) else ''} ({describe_size(mechanism)} reported)",
        "label": "A user's label",
        "level": "A user's privacy level",
        "links": "Each link of a user" if mechanism.trust == "local" else "Each link, once published",
    }[mechanism.subject]
    word = "exact epsilon" if mechanism.finite else "epsilon by its closed form"
    if mechanism.beyond_audit:
        word = "epsilon as far as what is not covered below holds,"
    but = "" if CheckedLoss.of(mechanism).holds else f", more than the claimed {mechanism.claim.epsilon:g}"
    except_for = f", but for a probability of {mechanism.claim.delta:g}" if mechanism.claim.delta else ""
    tested = "; that its code follows them was tested, not proved" if foreign else ""
    if foreign and mechanism.finite:
        word = "by its tables, exact epsilon"
    than = "with it as without it" if mechanism.subject == "links" else "under one as under any other"
    return (
        f"{what}: any report is at most {power(exact.epsilon)} times as likely {than}"
        f"{except_for} ({word} {exact_words(exact.epsilon, mechanism.claim.epsilon)}{but}{tested})."
    )
