"""Pairwise comparison of stored results, over the seeds that both have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

from graphveil.errors import InputError
from graphveil.experiments.result import RecordOrigin, Result, StoredResult
from graphveil.experiments.table import Table
from graphveil.number_format import counted, low_to_high, points, reach, rounded
from graphveil.statistics import CONFIDENCE, Summary, holm, paired_gain, paired_p

# A pair has one difference, and one difference has no spread.
FEWEST = 2
# Differences of scores are the same but for so much.
ROUNDING = 1e-12
HOLM = "p after Holm"
HEAD = ("first", "second", "difference", "interval", "p", HOLM, "seeds", "in words")
NUMBERS = frozenset(HEAD[2:7])
READING = (
    "Differences are the first minus the second, in points, over the seeds that both have: the same graph, split and seed each "
    "time. Intervals are 95% t-intervals of the mean difference, p is that of a paired two-sided t-test."
)
LIMITS = (
    "Seeds draw splits, reports and weights anew, but the graph is always the same: nothing here says what another graph would "
    "give."
)


@dataclass(frozen=True)
class Pair:
    """Two results over the seeds that both have. ``corrected`` is p after Holm, where there is more than one pair."""

    first: StoredResult
    second: StoredResult
    seeds: tuple[int, ...]
    difference: Summary
    p: float
    corrected: float | None = None
    # What makes it less sure, besides that other versions of graphveil may have computed the two.
    doubts: tuple[str, ...] = ()

    @property
    def named(self) -> str:
        """The names of both results."""
        return f"{self.first.label} and {self.second.label}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what makes the comparison less certain."""
        said = [f"{self.named}: {doubt}" for doubt in self.doubts]
        if self.first.origin != self.second.origin:
            said.append(
                f"{self.first.label} was computed by {self.first.origin}, {self.second.label} by {self.second.origin}: a difference "
                "may be theirs."
            )
        return tuple(said)

    @property
    def sure(self) -> bool:
        """Whether the difference is significant at the 95% level."""
        return (self.p if self.corrected is None else self.corrected) < 1 - CONFIDENCE

    @property
    def words(self) -> str:
        """The difference in words."""
        if not self.sure:
            return "no measurable difference"
        where = "above" if self.difference.mean > 0 else "below"
        return f"{points(abs(self.difference.mean))}{reach(self.difference)} points {where}"

    def to_dict(self) -> dict[str, Any]:
        """Return the pair in the form that `--json` prints."""
        return {
            "first": self.first.number,
            "second": self.second.number,
            "seeds": list(self.seeds),
            "difference": asdict(self.difference),
            "p": self.p,
            "p_holm": self.corrected,
            "differs": self.sure,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Comparison:
    """Several results, compared pairwise."""

    results: tuple[StoredResult, ...]
    pairs: tuple[Pair, ...]

    @property
    def headline(self) -> str:
        """The outcome of all comparisons in one sentence."""
        sure = [pair for pair in self.pairs if pair.sure]
        if not sure:
            return f"No measurable difference between {counted(len(self.results), 'result')}."
        largest = max(sure, key=lambda pair: abs(pair.difference.mean))
        said = f"{largest.first.label} is {largest.words} {largest.second.label}"
        if len(self.pairs) == 1:
            return f"{said}."
        return f"{len(sure)} of {counted(len(self.pairs), 'comparison')} show a difference, the largest where {said}."

    @property
    def sentences(self) -> list[str]:
        """Sentences about how to read the numbers, and notes on single pairs."""
        said = [READING]
        if len(self.pairs) > 1:
            said.append(
                f"There are {counted(len(self.pairs), 'comparison')}, and one of several looks like a difference by chance more easily: "
                "the words rest on p after Holm's correction, by which all of them together are wrong in at most 5% of cases. Intervals "
                "are not corrected."
            )
        return [*said, LIMITS, *self._notes()]

    def _notes(self) -> list[str]:
        """Return notes on pairs. A note that holds for several pairs is given once, with their names."""
        if len(self.pairs) == 1:
            return list(self.pairs[0].notes)
        about: dict[str, list[str]] = {}
        for pair in self.pairs:
            for doubt in pair.doubts:
                about.setdefault(doubt, []).append(pair.named)
        said = [
            f"{'All pairs' if len(named) == len(self.pairs) else ', '.join(named)}: {doubt}"
            for doubt, named in about.items()
        ]
        origins: dict[RecordOrigin, list[str]] = {}
        for each in self.results:
            origins.setdefault(each.origin, []).append(each.label)
        if len(origins) > 1:
            computed = ", ".join(f"{' and '.join(named)} by {origin}" for origin, named in origins.items())
            said.append(
                f"Results were computed by several versions, and a difference may be theirs: {computed}."
            )
        return said

    def table(self) -> Table:
        """Return a table with a row for each pair; a single comparison needs no correction."""
        head = tuple(name for name in HEAD if name != HOLM or len(self.pairs) > 1)
        rows = (
            (
                pair.first.label,
                pair.second.label,
                points(pair.difference.mean, signed=True),
                low_to_high(pair.difference, signed=True),
                p_text(pair.p),
                *([] if pair.corrected is None else [p_text(pair.corrected)]),
                str(len(pair.seeds)),
                pair.words,
            )
            for pair in self.pairs
        )
        return Table(head, tuple(rows), NUMBERS)


def compare(results: Sequence[StoredResult]) -> Comparison:
    """Compare results pairwise; raise an error if two cannot be paired."""
    if len(results) < 2:
        raise InputError(f"a comparison needs at least 2 results, got {len(results)}: name another one")
    for first, second in combinations(results, 2):
        if first.number == second.number:
            raise InputError(f"result {first.number} is named twice: name another one to compare it with")
    pairs = [_pair(first, second) for first, second in combinations(results, 2)]
    if len(pairs) > 1:
        corrected = holm([pair.p for pair in pairs])
        pairs = [replace(pair, corrected=p) for pair, p in zip(pairs, corrected, strict=True)]
    return Comparison(tuple(results), tuple(pairs))


def p_text(value: float) -> str:
    """A p value, of which the smallest say only that they are.

    >>> p_text(0.0321), p_text(0.00002)
    ('0.032', '< 0.0001')
    """
    return "< 0.0001" if value < 1e-4 else rounded(value, 2)


def _pair(first: StoredResult, second: StoredResult) -> Pair:
    _check_alike(first, second)
    one, other = _scores(first), _scores(second)
    seeds = tuple(sorted(one.keys() & other.keys()))
    if len(seeds) < FEWEST:
        raise InputError(
            f"{first.label} has the seeds {_seed_text(one)} and {second.label} the seeds {_seed_text(other)}: a pair needs at least {FEWEST} "
            "seeds that both have; run one of them again with the --seed and the --runs of the other"
        )
    values, others = [one[seed] for seed in seeds], [other[seed] for seed in seeds]
    difference, unpaired = paired_gain(values, others), len(one.keys() | other.keys()) - len(seeds)
    doubts = tuple(_doubts(first, second, difference, unpaired))
    return Pair(first, second, seeds, difference, paired_p(values, others), doubts=doubts)


def _check_alike(first: StoredResult, second: StoredResult) -> None:
    """Raise an error if two results were not scored on the same users of the same graph."""
    for what, field in {"graph": "data", "task": "task", "metric": "metric"}.items():
        value, another = getattr(first, field), getattr(second, field)
        if value != another:
            raise InputError(
                f"{first.label} has the {what} {value}, {second.label} {another}: pair results of one {what}"
            )
    if _loaded(first) != _loaded(second):
        raise InputError(
            f"{first.label} was loaded with {_loaded(first)} and {second.label} with {_loaded(second)}: only results of the same "
            "graph with the same split can be paired"
        )
    if first.data_digest and second.data_digest and first.data_digest != second.data_digest:
        raise InputError(
            f"{first.data} changed between {first.label} and {second.label}: run the older one again"
        )


def _loaded(result: Result) -> str:
    """Return the loader's options, the split included, in a canonical spelling."""
    options = result.experiment.loader_options
    return json.dumps(options, sort_keys=True, default=str) if options else "no options"


def _scores(result: StoredResult) -> dict[int, float]:
    """Return the score of each seed."""
    seeds = result.seeds
    if seeds is None:
        if result.interrupted:
            raise InputError(f"{result.label} was interrupted and does not say its seeds: run it again")
        seeds = tuple(range(result.seed, result.seed + len(result.runs)))
    return dict(zip(seeds, result.runs, strict=True))


def _seed_text(scores: dict[int, float]) -> str:
    """Seeds in few words: those of a result follow each other, but for those of an interrupted one."""
    seeds = sorted(scores)
    whole = len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1
    return f"{seeds[0]} to {seeds[-1]}" if whole else ", ".join(map(str, seeds))


def _doubts(one: Result, other: Result, difference: Summary, unpaired: int) -> list[str]:
    doubts = []
    assert difference.low is not None and difference.high is not None
    # All differences are the same but for rounding, and not 0.
    if abs(difference.mean) > ROUNDING and difference.high - difference.low < ROUNDING:
        doubts.append(
            "every seed has the same difference, so p rests on no spread. Scores go in steps of one test user, and few seeds can be the "
            "same by chance: take more."
        )
    if unpaired:
        doubts.append(
            f"{counted(unpaired, 'seed')} that only one of them has {'is' if unpaired == 1 else 'are'} left out."
        )
    if not (one.data_digest and other.data_digest):
        doubts.append(f"nobody knows whether {one.data} was the same, since results did not say so before.")
    return doubts
