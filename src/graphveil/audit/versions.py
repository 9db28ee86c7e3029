"""Other ways to use a mechanism: the paths that data take, and other sizes and options, each looked at briefly.

Some faults show only with more than one answer, with many values, with binary values, or with a pool.
"""

from __future__ import annotations

from graphveil.audit.answers import within_tables
from graphveil.audit.candidate import Candidate
from graphveil.audit.dependence import dependent_answers
from graphveil.audit.findings import VERSIONS, BrokenError, Leak, Rank, Step
from graphveil.audit.hull import Hull
from graphveil.audit.inputs import valid_inputs
from graphveil.audit.paths import everything_answered, same_by_every_path
from graphveil.channels.words import Words
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.rows import PublicRange

# Values that are drawn for one look at a version.
VALUES = 1 << 14


def versions_step(
    candidate: Candidate, whole: Mechanism, public: PublicRange | None, words: Words
) -> tuple[Step, list[str]]:
    """The findings, and the paths that the mechanism does not take."""
    leaks, refused = same_by_every_path(whole, public)
    tried = []
    for title, version in candidate.variants():
        tried.append(title)
        own = getattr(version, "public", public)
        own_leaks = look_at(version, own if isinstance(own, PublicRange) else None, words)
        if own_leaks:
            first = own_leaks[0]
            leaks.append(Leak(f"with {title}: {first}", getattr(first, "rank", Rank.FORMAT)))
            break
    paths = "sparse and dense rows, types and orders of memory give the same reports"
    seen = f"{paths}; {', '.join(tried)}" if tried else paths
    return Step(VERSIONS, seen, tuple(leaks)), refused


def look_at(mechanism: Mechanism, public: PublicRange | None, words: Words) -> list[str]:
    """A short look at one version of a mechanism."""
    try:
        leaks = everything_answered(mechanism, public)
        hull = Hull.of(mechanism)
        if hull is not None:
            leaks += within_tables(hull, valid_inputs(mechanism, public), VALUES, words, alone=False)
        leaks += dependent_answers(mechanism, public, VALUES, words)
        return leaks or same_by_every_path(mechanism, public)[0]
    except BrokenError as error:
        return [str(error)]
