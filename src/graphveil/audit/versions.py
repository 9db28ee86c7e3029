"""Other ways to use a mechanism: other representations of data, options, sizes and budgets, each looked at briefly.

Some faults show only with more than one answer, with many values, with binary values, with a pool, or at a large budget. Of the sizes
that an audit walks through, some are landmarks, where programs like to change their ways (powers of two and of ten, and their
neighbours); the others are drawn by the audit's own randomness, so that no mechanism knows them.

The same values as another type, sparse, or in another order of memory must give the same reports with the same random words. A path
that a mechanism does not take (it refuses sparse rows, say) is told and not blamed: what a type is is public, as a shape is.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.answers import ReportRanges, check_tables
from graphveil.audit.behaviour import check_answered, check_briefly
from graphveil.audit.candidate import Candidate, CheckedLoss, has_levels
from graphveil.audit.findings import (
    BrokenError,
    Leak,
    LeakError,
    OutOfTimeError,
    Rank,
    Step,
    Title,
    leaks_of,
    raise_first,
    rank_of,
)
from graphveil.audit.independence import check_answers
from graphveil.audit.lower_bound import check_contrast
from graphveil.audit.reports import Probe, Version, reports_of, same_reports, symbols_of
from graphveil.audit.tables import tables_step
from graphveil.channels.sampling import RandomBits, SeededBits
from graphveil.errors import GraphveilError
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.links import LinkMechanism, NeighbourLists
from graphveil.mechanisms.personal import PersonalRows
from graphveil.mechanisms.reports import row_pointers
from graphveil.mechanisms.rows import PublicRange

# Values that are drawn for one look at a version, and users that it has however long their rows are.
VALUES, MIN_USERS, MIN_DEPENDENT = 1 << 14, 128, 400
# Users whose behaviour is watched.
FEW = 12
# Noise that comes in one of n answers is missed with e^-SEEN by SEEN·n answers; answers and values of a look that is to see it.
SEEN, QUICK_ANSWERS, MAX_ANSWERS, VALUES_AN_ANSWER = 40.0, 1 << 18, 1 << 23, 8


def versions_step(candidate: Candidate, version: Version, schedule: AuditSchedule) -> tuple[Step, list[str]]:
    """Look at other versions of a mechanism; return the step, and the representations of data that it does not take.

    Parameters
    ----------
    candidate
        What is audited, and the way to build it.
    version
        The mechanism as it is audited.
    schedule
        The sizes to walk through.
    """
    refused: list[str] = []
    mechanism, ranges = version.mechanism, ReportRanges.of(version.mechanism)
    leaks = leaks_of(check_paths, version, refused)
    leaks += [] if ranges is None else leaks_of(check_rare_noise, version, ranges, schedule.quick)
    options, walked = list(variants(candidate)), sizes(candidate, schedule)
    tried: list[SizedMechanism] = []
    # Where its own tables are above the claim, those of other sizes are no news.
    kept, unfinished = CheckedLoss.of(mechanism).holds, False
    try:
        for sized in chain(options, walked):
            other = replace(version, mechanism=sized.mechanism, public=sized.range_among(version.public))
            asked = sized.epsilon if kept else None
            found = leaks_of(check_version, other, asked, schedule.quick, kind=BrokenError)
            tried.append(sized)
            if found:
                leaks.append(Leak(f"with {sized.title}: {found[0]}", rank_of(found[0])))
                break
    except OutOfTimeError:
        unfinished = True
    lengths = sorted({sized.size for sized in tried if sized.size is not None and sized not in options})
    budgets = sorted({sized.epsilon for sized in tried})
    covers = [f"{len(lengths)} sizes from {lengths[0]:,} to {lengths[-1]:,}"] if lengths else []
    if len(budgets) > 1:
        covers.append(f"{len(budgets)} budgets from epsilon {budgets[0]:g} to {budgets[-1]:g}")
    rare = [
        each.claim.epsilon
        for each in (mechanism, *(sized.mechanism for sized in tried))
        if users_needed(each) > users_affordable(each, schedule.quick)
    ]
    gaps = [
        f"Noise that is too rare for draws to show, at some sizes from epsilon {least:g} on: only tables were read there."
        for least in sorted(rare)[:1]
    ]
    paths = "sparse and dense rows, types and orders of memory give the same reports"
    seen = "; ".join([paths, *(sized.title for sized in options if sized in tried), *covers])
    step = Step(
        Title.VERSIONS, seen, tuple(leaks), unfinished=unfinished, covers=tuple(covers), gaps=tuple(gaps)
    )
    return step, refused


def users_needed(mechanism: Mechanism) -> int:
    """Return the number of reports that show the rarest answer a channel gives on purpose."""
    epsilons = [answer.channel.epsilon for answer in mechanism.answers if not answer.channel.claim.delta]
    largest = max((epsilon for epsilon in epsilons if math.isfinite(epsilon)), default=0.0)
    return math.ceil(SEEN * math.exp(min(largest, 40.0)) / mechanism.shape.length)


def users_affordable(mechanism: Mechanism, quick: bool) -> int:
    """Return the largest number of reports to draw for a mechanism."""
    answers = QUICK_ANSWERS if quick else MAX_ANSWERS
    length = 1 if mechanism.subject in ("label", "level") else mechanism.shape.row_length
    return answers // max(mechanism.shape.length, length // VALUES_AN_ANSWER)


def check_version(version: Version, epsilon: float | None, quick: bool) -> None:
    """Check a version of a mechanism briefly.

    Parameters
    ----------
    version
        The mechanism in one size.
    epsilon
        The ε that it was asked for; None skips its tables.
    quick
        Whether to draw fewer reports.
    """
    mechanism = version.mechanism
    if epsilon is not None:
        raise_first(tables_step(mechanism, epsilon).leaks)
    check_answered(version)
    check_briefly(Probe.around(version, FEW))
    ranges = ReportRanges.of(mechanism)
    if ranges is not None:
        check_tables(version, ranges, version.valid, VALUES, alone=False, least=MIN_USERS)
        check_rare_noise(version, ranges, quick)
    check_answers(version, VALUES, MIN_DEPENDENT)
    check_contrast(version)
    check_paths(version, [])


def check_rare_noise(version: Version, ranges: ReportRanges, quick: bool) -> None:
    """Check that two inputs, drawn so often that rare noise shows, are answered within their tables.

    Parameters
    ----------
    version
        The mechanism in one size.
    ranges
        The probabilities that its tables allow.
    quick
        Whether to draw fewer reports.
    """
    needed = min(users_needed(version.mechanism), users_affordable(version.mechanism, quick))
    if needed > MIN_USERS:
        some = list(version.valid.items())[:2]
        ranges.check((title, ranges.count(version.draw(private, needed))) for title, private in some)


# Other sizes and options that a mechanism is looked at in, where it takes them.
VARIANTS: dict[str, dict[str, Any]] = {
    "3 of 17 values": {"dims": 17, "sampled": 3},
    "2 of 5 values": {"dims": 5, "sampled": 2},
    "40 values": {"dims": 40},
    "one value": {"dims": 1},
    "binary values": {"dims": 9, "binary": True},
    "a pool of values": {"dims": 9, "sampled": 3, "pool": [1, 4], "from_pool": 1.5},
    "a range of other ends": {"dims": 4, "range": (-3.0, 5.0)},
    "2 classes": {"classes": 2},
    "40 classes": {"classes": 40},
}
# Budgets above those of the schedule, and how far the largest one that is accepted is looked for.
LARGER, MOST, HALVINGS = (16.0, 24.0, 48.0), 4096.0, 8
# What the size of a mechanism is called, by the setting that says it.
UNITS = {"dims": "values", "classes": "classes", "levels": "levels"}


@dataclass(frozen=True, eq=False)
class SizedMechanism:
    """A mechanism with other settings, and what that is called."""

    title: str
    mechanism: Mechanism
    epsilon: float
    changes: dict[str, Any]

    @property
    def size(self) -> int | None:
        """The number of values, where that is other."""
        return next((self.changes[setting] for setting in UNITS if setting in self.changes), None)

    def range_among(self, public: PublicRange | None) -> PublicRange | None:
        """The range that it was built with, whether it tells it or not; ``public`` unless it is another."""
        own = getattr(self.mechanism, "public", None)
        said = self.changes.get("range")
        return own if isinstance(own, PublicRange) else public if said is None else PublicRange(*said)


def variants(candidate: Candidate) -> Iterator[SizedMechanism]:
    """The mechanism in other sizes and with other options, as far as it takes them."""
    for title, changes in VARIANTS.items():
        if not candidate.fixed and all(candidate.takes(setting) for setting in changes):
            yield from _built(candidate, title, changes)


def sizes(candidate: Candidate, schedule: AuditSchedule) -> Iterator[SizedMechanism]:
    """All sizes of a schedule that the mechanism accepts, small ones first.

    A plan has no other size than its own, and for a curator, who sees everything, some cells stand for a whole graph.
    """
    if candidate.fixed or (whole := candidate.build()).trust == "curator":
        return
    setting, budgeted = size_setting(candidate), candidate.takes("epsilon")
    samples = candidate.takes("dims") and candidate.takes("sampled")
    if setting is not None:
        unit = "users" if whole.subject == "links" else UNITS[setting]
        for size in schedule.dims:
            fewer = {} if candidate.sampled is None else {"sampled": min(candidate.sampled, size)}
            yield from _built(candidate, f"{size:,} {unit}", {setting: size, **fewer})
    for dims, sampled in schedule.sampled if samples else ():
        yield from _built(candidate, f"{sampled:,} of {dims:,} values", {"dims": dims, "sampled": sampled})
    for epsilon in (*schedule.epsilons, *larger_budgets(candidate, schedule)) if budgeted else ():
        yield from _built(candidate, f"epsilon {epsilon:g}", {"epsilon": epsilon})
    for mixed in schedule.mixed if budgeted else ():
        if setting is None:
            return
        changes = {setting: mixed["dims"], "epsilon": mixed["epsilon"]}
        changes |= {"sampled": mixed["sampled"]} if samples and setting == "dims" else {}
        yield from _built(candidate, ", ".join(f"{key} {value:,}" for key, value in changes.items()), changes)


def size_setting(candidate: Candidate) -> str | None:
    """The setting that says how large a mechanism is: the first of these that it takes."""
    return next((setting for setting in UNITS if candidate.takes(setting)), None)


def larger_budgets(candidate: Candidate, schedule: AuditSchedule) -> list[float]:
    """Budgets beyond the schedule's, up to the largest that the mechanism accepts (to a few percent)."""
    low, high = BUDGETS[1], MOST
    if schedule.quick or not _built(candidate, "", {"epsilon": low}):
        return []
    for _ in range(HALVINGS):
        middle = float(f"{(low * high) ** 0.5:.4g}")
        low, high = (middle, high) if _built(candidate, "", {"epsilon": middle}) else (low, middle)
    return [*(epsilon for epsilon in LARGER if epsilon < low), low]


def _built(candidate: Candidate, title: str, changes: dict[str, Any]) -> list[SizedMechanism]:
    """Return the mechanism with these settings; nothing where it does not take them: not every family has every size."""
    try:
        built = candidate.build(**changes)
    except GraphveilError:
        return []
    return [SizedMechanism(title, built, changes.get("epsilon", candidate.epsilon), changes)]


LARGEST_DIMS, BUDGETS, LARGEST_CALL = 4096, (0.01, 12.0), 1_000_000
DIMS = (
    *(1, 2, 3, 5, 8, 16, 31, 32, 33, 59, 60, 61, 64, 100, 127, 128, 129),
    *(255, 256, 257, 512, 1000, 1024, 2048, 4095, 4096),
)
QUICK_DIMS = (1, 60, 257, 1000)
EPSILONS = (0.01, 0.02, 0.04, 0.1, 0.25, 0.5, 2.0, 3.0, 4.0, 5.0, 5.5, 6.0, 7.0, 8.0, 8.5, 10.0, 12.0)
QUICK_EPSILONS = (0.04, 8.5)
# (d, m): how many of how many values are asked.
SAMPLED = ((33, 16), (64, 33), (100, 17), (1000, 100), (4096, 64))
QUICK_SAMPLED = ((100, 17),)
CALLS = (
    *range(1, 18),
    *(31, 32, 33, 63, 64, 65, 99, 100, 101, 127, 128, 129, 255, 256, 257, 511, 513, 999, 1000, 1001),
    *(1023, 1024, 1025, 2047, 2049, 4095, 4096, 4097, 9999, 10_000, 10_001, 16_383, 16_385, 32_769),
    *(65_535, 65_536, 65_537, 100_000, 100_001, 131_073, 200_001, 262_144, 262_145, 500_001, 524_289),
    *(1_000_000, 1_000_003),
)
QUICK_CALLS = (1, 2, 3, 4, 7, 16, 33, 65, 100, 257, 1000, 4097, 10_001, 65_537, 262_147)
# Calls whose users' noise is compared at all distances.
NOISE_COMPARED = (262_145, 262_147, 1_000_003)
# Calls in which users hold different rows.
MIXED_CALLS, QUICK_MIXED_CALLS = (4099, 65_537, 262_147), (4099,)


@dataclass(frozen=True)
class AuditSchedule:
    """The sizes that an audit tries: numbers of values, budgets, both at once, and users in one call."""

    dims: tuple[int, ...]
    epsilons: tuple[float, ...]
    sampled: tuple[tuple[int, int], ...]
    mixed: tuple[dict[str, Any], ...]
    calls: tuple[int, ...]
    mixed_calls: tuple[int, ...]
    quick: bool

    @classmethod
    def of(cls, quick: bool, random_bits: RandomBits) -> Self:
        """The landmarks and what is drawn besides, in increasing order."""
        chance, count = np.random.default_rng(random_bits.take(4)), 1 if quick else 4
        octaves = range(6, 7) if quick else range(2, 12)
        dims = [int(chance.integers(1 << octave, 2 << octave)) for octave in octaves]
        epsilons = [_between(chance, *BUDGETS) for _ in range(count)]
        calls = [int(_between(chance, 1000, 1 << 16 if quick else LARGEST_CALL)) for _ in range(count)]
        mixed = []
        for _ in range(count if quick else 2 * count):
            size = int(_between(chance, 2, 512 if quick else LARGEST_DIMS))
            sampled = int(_between(chance, 1, size + 1))
            mixed.append({"dims": size, "sampled": sampled, "epsilon": _between(chance, *BUDGETS)})
        return cls(
            tuple(sorted({*(QUICK_DIMS if quick else DIMS), *dims})),
            tuple(sorted({*(QUICK_EPSILONS if quick else EPSILONS), *epsilons})),
            QUICK_SAMPLED if quick else SAMPLED,
            tuple(mixed),
            tuple(sorted({*(QUICK_CALLS if quick else CALLS), *calls})),
            QUICK_MIXED_CALLS if quick else MIXED_CALLS,
            quick,
        )


def _between(chance: np.random.Generator, low: float, high: float) -> float:
    """A number that is as likely in each octave."""
    return float(f"{math.exp(chance.uniform(math.log(low), math.log(high))):.4g}")


# Users whose data take every path, fewer where rows are long.
PATH_USERS, MIN_PATH_USERS, MAX_PATH_VALUES, PATH_SEED = 64, 6, 1 << 16, 60
# Whole numbers up to here are the same in half precision.
MAX_HALF = 2048


def check_paths(version: Version, refused: list[str]) -> None:
    """Check that data in every representation is answered alike.

    Those that the mechanism does not take are added to ``refused``.
    """
    mechanism = version.mechanism
    for all_rows, paths in _representations(version):
        for rows in (all_rows, all_rows[:1]):
            expected = reports_of(mechanism, rows, SeededBits(PATH_SEED))
            for title, make in paths.items():
                if (held := make(rows)) is None:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        reports = mechanism.randomize(held, SeededBits(PATH_SEED))
                    except Exception:  # noqa: BLE001 -- refused by whatever error
                        refused += [] if title in refused else [title]
                        continue
                if not same_reports(expected, reports):
                    detail = "with the same values and words they give other reports than an array of double precision"
                    raise LeakError(f"{title} are answered differently: {detail}", Rank.PATH)


Representation = Callable[[NDArray[Any]], Any]


def _representations(version: Version) -> Iterator[tuple[NDArray[Any], dict[str, Representation]]]:
    """Some users' private data, and other ways to hold them."""
    mechanism, chance = version.mechanism, np.random.default_rng(PATH_SEED)
    users = max(MIN_PATH_USERS, min(PATH_USERS, MAX_PATH_VALUES // mechanism.shape.row_length))
    if mechanism.subject in ("label", "level"):
        symbols = chance.choice(symbols_of(mechanism), users)
        kinds = {
            f"{mechanism.subject}s as {kind}": _as(kind)
            for kind in ("int8", "int32", "uint8", "float32", "float64")
            if (symbols.astype(kind) == symbols).all()
        }
        yield symbols, {**kinds, f"{mechanism.subject}s in a list": lambda held: held.tolist()}
        return
    shape = (users, mechanism.shape.row_length)
    if mechanism.subject == "links":
        links = (chance.random(shape) < 0.3).astype(np.float64)
        # To a curator lists of neighbours are one graph, and rows as many graphs.
        listed = isinstance(mechanism, LinkMechanism) and mechanism.trust == "local"
        lists: dict[str, Representation] = {"neighbour lists": _neighbour_lists} if listed else {}
        yield links, {**sparse_paths(), **_integers(), **lists}
        return
    span = version.public or PublicRange(0.0, 1.0)
    # A third of the values is 0, as in sparse rows, where the range has it.
    single = np.float32(span.low) + chance.random(shape).astype(np.float32) * np.float32(span.high - span.low)
    single = np.clip(single, np.nextafter(np.float32(span.low), np.float32(np.inf)), np.float32(span.high))
    single[chance.random(shape) < 1 / 3] = 0.0
    memory: dict[str, Representation] = {
        "rows of single precision": _as("float32"),
        "rows of the other byte order": _as(">f8"),
        "rows behind a mask that hides nothing": np.ma.masked_array,
        "rows in Fortran order": np.asfortranarray,
        "rows that cannot be written": lambda rows: np.broadcast_to(rows, rows.shape),
        "rows of a mapped file": lambda rows: rows.view(np.memmap),
        "every second row of an array": lambda rows: np.repeat(rows, 2, axis=0)[::2],
        "rows in lists": lambda rows: rows.tolist(),
    }
    some = [(single.astype(np.float64), {**memory, **sparse_paths()})]
    low, high = np.ceil(span.low), np.floor(span.high)
    if high - low < 2**15 and low <= high:
        whole = chance.integers(int(low), int(high) + 1, shape).astype(np.float64)
        some.append((whole, {**_integers(), **sparse_paths()}))
    for rows, paths in some:
        if not has_levels(mechanism):
            yield rows, paths
            continue
        levels = chance.integers(1, len(mechanism.budgets) + 1, users)
        held = np.column_stack([rows, levels])
        yield held, {title: _beside(make) for title, make in paths.items()}


def _beside(make: Representation) -> Representation:
    """Rows by a path, beside levels of their own."""
    return lambda held: (
        None if (rows := make(held[:, :-1])) is None else PersonalRows(held[:, -1].astype(np.int64), rows)
    )


def _as(kind: str) -> Representation:
    return lambda rows: rows.astype(kind)


def _integers() -> dict[str, Representation]:
    return {
        **{f"rows of {kind}": _as(kind) for kind in ("int64", "int16")},
        "rows of bools": lambda rows: rows.astype(bool) if np.isin(rows, (0, 1)).all() else None,
        "rows of half precision": lambda rows: (
            rows.astype(np.float16) if (np.abs(rows) <= MAX_HALF).all() else None
        ),
    }


def sparse_paths() -> dict[str, Representation]:
    """Sparse rows, where scipy is there."""
    try:
        from scipy import sparse
    except ImportError:
        return {}

    def unsorted(rows: NDArray[Any]) -> Any:
        matrix = sparse.csr_matrix(rows)
        pointers = matrix.indptr
        order = np.concatenate(
            [np.arange(stop - 1, start - 1, -1) for start, stop in pairwise(pointers.tolist())]
        )
        return sparse.csr_matrix((matrix.data[order], matrix.indices[order], pointers), shape=rows.shape)

    return {
        "sparse rows (CSR)": sparse.csr_matrix,
        "sparse rows (CSR array of single precision)": lambda rows: sparse.csr_array(rows.astype(np.float32)),
        "sparse rows (CSC)": sparse.csc_matrix,
        "sparse rows (COO)": sparse.coo_matrix,
        "sparse rows (CSR) out of order": unsorted,
    }


def _neighbour_lists(rows: NDArray[Any]) -> NeighbourLists:
    owners, neighbours = np.nonzero(rows > 0)
    pointers = row_pointers(np.bincount(owners, minlength=len(rows)))
    return NeighbourLists(np.full(len(rows), rows.shape[1]), pointers, neighbours)
