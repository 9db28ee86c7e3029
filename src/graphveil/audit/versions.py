"""Other ways to use a mechanism: the paths that data take, and other options, sizes and budgets, each looked at briefly.

Some faults show only with more than one answer, with many values, with binary values, with a pool, or at a large budget.
"""

from __future__ import annotations

import math
from itertools import chain

from graphveil.audit.answers import drawn_often, within_tables
from graphveil.audit.behaviour import brief_behaviour
from graphveil.audit.candidate import VARIANTS, Candidate
from graphveil.audit.contrast import more_than_claimed
from graphveil.audit.dependence import dependent_answers
from graphveil.audit.findings import VERSIONS, BrokenError, Leak, OutOfTimeError, Rank, Step
from graphveil.audit.hull import Hull
from graphveil.audit.inputs import valid_inputs
from graphveil.audit.paths import everything_answered, same_by_every_path
from graphveil.audit.probe import Probe
from graphveil.audit.schedule import Schedule
from graphveil.audit.sizes import Sized, sizes
from graphveil.audit.tables import tables_step
from graphveil.audit.trust import Stated
from graphveil.channels.sampling import Words
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.rows import PublicRange

# Values that are drawn for one look at a version, and users that it has however long their rows are.
VALUES, MIN_USERS, MIN_DEPENDENT = 1 << 14, 128, 400
# Users whose behaviour is watched.
FEW = 12
# Noise that comes in one of n answers is missed with e^-SEEN by SEEN·n answers; answers and values of a look that is to see it.
SEEN, QUICK_ANSWERS, MAX_ANSWERS, VALUES_AN_ANSWER = 40.0, 1 << 18, 1 << 23, 8


def versions_step(
    candidate: Candidate, whole: Mechanism, public: PublicRange | None, words: Words, schedule: Schedule
) -> tuple[Step, list[str]]:
    """The findings, and the paths that the mechanism does not take."""
    leaks, refused = same_by_every_path(whole, public)
    hull = Hull.of(whole)
    leaks += [] if hull is None else rare_noise(hull, public, words, schedule.quick)
    tried: list[Sized] = []
    options = [Sized(title, version, candidate.epsilon) for title, version in candidate.variants()]
    # Where its own tables are above the claim, those of other sizes are no news.
    kept, unfinished = Stated.of(whole).holds, False
    try:
        for version in chain(options, sizes(candidate, schedule)):
            asked = version.epsilon if kept else None
            found = look_at(version.mechanism, _range_of(version, public), words, asked, schedule.quick)
            tried.append(version)
            if found:
                leaks.append(
                    Leak(f"with {version.title}: {found[0]}", getattr(found[0], "rank", Rank.FORMAT))
                )
                break
    except OutOfTimeError:
        unfinished = True
    paths = "sparse and dense rows, types and orders of memory give the same reports"
    covers, gaps = _covers(tried), _gaps([whole, *(version.mechanism for version in tried)], schedule.quick)
    seen = "; ".join([paths, *(version.title for version in options if version in tried), *covers])
    return Step(VERSIONS, seen, tuple(leaks), unfinished=unfinished, covers=covers, gaps=gaps), refused


def _range_of(version: Sized, public: PublicRange | None) -> PublicRange | None:
    """The range that a version was built with, whether it tells it or not."""
    own = getattr(version.mechanism, "public", None)
    said = VARIANTS.get(version.title, {}).get("range")
    return own if isinstance(own, PublicRange) else public if said is None else PublicRange(*said)


def _covers(tried: list[Sized]) -> tuple[str, ...]:
    """The sizes and budgets that were looked at."""
    covered = []
    walked = sorted({version.size for version in tried if version.size is not None})
    if walked:
        covered.append(f"{len(walked)} sizes from {walked[0]:,} to {walked[-1]:,}")
    budgets = sorted({version.epsilon for version in tried})
    if len(budgets) > 1:
        covered.append(f"{len(budgets)} budgets from epsilon {budgets[0]:g} to {budgets[-1]:g}")
    return tuple(covered)


def _gaps(mechanisms: list[Mechanism], quick: bool) -> tuple[str, ...]:
    """Budgets at which noise is so rare that draws do not show whether there is any."""
    blind = [each.claim.epsilon for each in mechanisms if users_needed(each) > users_affordable(each, quick)]
    if not blind:
        return ()
    return (
        f"Noise that is too rare for draws to show, at some sizes from epsilon {min(blind):g} on: only tables were read there.",
    )


def users_needed(mechanism: Mechanism) -> int:
    """How many reports show the rarest answer that a channel gives on purpose."""
    epsilons = [answer.channel.epsilon for answer in mechanism.answers if not answer.channel.claim.delta]
    largest = max((epsilon for epsilon in epsilons if math.isfinite(epsilon)), default=0.0)
    return math.ceil(SEEN * math.exp(min(largest, 40.0)) / mechanism.report_length)


def users_affordable(mechanism: Mechanism, quick: bool) -> int:
    """How many reports are drawn for it at most."""
    answers = QUICK_ANSWERS if quick else MAX_ANSWERS
    length = 1 if mechanism.subject in ("label", "level") else mechanism.row_length
    return answers // max(mechanism.report_length, length // VALUES_AN_ANSWER)


def look_at(
    mechanism: Mechanism,
    public: PublicRange | None,
    words: Words,
    epsilon: float | None = None,
    quick: bool = True,
) -> list[str]:
    """A short look at one version of a mechanism; its tables too, where it was asked for this ``epsilon``."""
    try:
        leaks: list[str] = [] if epsilon is None else list(tables_step(mechanism, epsilon).leaks)
        leaks += everything_answered(mechanism, public)
        leaks = leaks or brief_behaviour(Probe.around(mechanism, public, FEW))
        hull = Hull.of(mechanism)
        if hull is not None and not leaks:
            leaks += _tables_kept(hull, public, words, quick)
        leaks = leaks or dependent_answers(mechanism, public, VALUES, words, MIN_DEPENDENT)
        leaks = leaks or more_than_claimed(mechanism, public, words)
        return leaks or same_by_every_path(mechanism, public)[0]
    except BrokenError as error:
        return [str(error)]


def _tables_kept(hull: Hull, public: PublicRange | None, words: Words, quick: bool) -> list[str]:
    """Answers to many inputs within their tables."""
    inputs = valid_inputs(hull.mechanism, public)
    leaks = within_tables(hull, inputs, VALUES, words, alone=False, least=MIN_USERS)
    return leaks or rare_noise(hull, public, words, quick)


def rare_noise(hull: Hull, public: PublicRange | None, words: Words, quick: bool) -> list[str]:
    """Answers to two inputs within their tables, so many of them that noise shows which comes rarely."""
    needed = min(users_needed(hull.mechanism), users_affordable(hull.mechanism, quick))
    if needed <= MIN_USERS:
        return []
    first = dict(list(valid_inputs(hull.mechanism, public).items())[:2])
    return drawn_often(hull, first, needed, words)
