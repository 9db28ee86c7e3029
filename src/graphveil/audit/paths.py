"""The paths that data take: the same values as another type, sparse, in another order of memory, alone or among others.

With the same random words the same values must give the same reports, whatever array holds them. A path that a mechanism
does not take (it refuses sparse rows, say) is told and not blamed: what a type is is public, as a shape is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.findings import Leak, Rank, reports_of, same_reports
from graphveil.audit.inputs import misfits, symbols_of, valid_inputs
from graphveil.channels.sampling import SeededWords
from graphveil.errors import GraphveilError
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.links import LinkMechanism, NeighbourLists
from graphveil.mechanisms.personal import PersonalRows
from graphveil.mechanisms.reports import Reports, row_pointers
from graphveil.mechanisms.rows import PublicRange

# Users whose data take every path, fewer where rows are long.
USERS, MIN_USERS, MAX_VALUES, SEED = 64, 6, 1 << 16, 60
# Whole numbers up to here are the same in half precision.
MAX_HALF = 2048


def same_by_every_path(mechanism: Mechanism, public: PublicRange | None) -> tuple[list[str], list[str]]:
    """The leaks, and the paths that the mechanism does not take."""
    refused: list[str] = []
    for all_rows, paths in _paths(mechanism, public):
        for rows in (all_rows, all_rows[:1]):
            expected = reports_of(mechanism, rows, SeededWords(SEED))
            for title, make in paths.items():
                held = make(rows)
                if held is None:
                    continue
                try:
                    reports = _quietly(mechanism, held)
                except Exception:  # noqa: BLE001 -- refused by whatever error
                    refused.append(title)
                    continue
                if not same_reports(expected, reports):
                    leak = (
                        f"{title} are answered differently: with the same values and the same random words they give other "
                        "reports than an array of double precision"
                    )
                    return [Leak(leak, Rank.PATH)], refused
    return [], list(dict.fromkeys(refused))


def _quietly(mechanism: Mechanism, private: Any) -> Reports:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mechanism.randomize(private, SeededWords(SEED))


Path = Callable[[NDArray[Any]], Any]


def _paths(
    mechanism: Mechanism, public: PublicRange | None
) -> Iterator[tuple[NDArray[Any], dict[str, Path]]]:
    """Some users' private data, and other ways to hold them."""
    chance = np.random.default_rng(SEED)
    users = max(MIN_USERS, min(USERS, MAX_VALUES // mechanism.row_length))
    if mechanism.subject in ("label", "level"):
        symbols = chance.choice(symbols_of(mechanism), users)
        kinds = {
            f"{mechanism.subject}s as {kind}": _as(kind)
            for kind in ("int8", "int32", "uint8", "float32", "float64")
            if (symbols.astype(kind) == symbols).all()
        }
        yield symbols, {**kinds, f"{mechanism.subject}s in a list": lambda held: held.tolist()}
        return
    shape = (users, mechanism.row_length)
    if mechanism.subject == "links":
        links = (chance.random(shape) < 0.3).astype(np.float64)
        # To a curator lists of neighbours are one graph, and rows as many graphs.
        listed = isinstance(mechanism, LinkMechanism) and mechanism.trust == "local"
        lists: dict[str, Path] = {"neighbour lists": _lists} if listed else {}
        yield links, {**sparse_paths(), **_integers(), **lists}
        return
    span = public or PublicRange(0.0, 1.0)
    # A third of the values is 0, as in sparse rows, where the range has it.
    single = np.float32(span.low) + chance.random(shape).astype(np.float32) * np.float32(span.high - span.low)
    single = np.clip(single, np.nextafter(np.float32(span.low), np.float32(np.inf)), np.float32(span.high))
    single[chance.random(shape) < 1 / 3] = 0.0
    low, high = np.ceil(span.low), np.floor(span.high)
    whole = (
        chance.integers(int(low), int(high) + 1, shape).astype(np.float64)
        if high - low < 2**15 and low <= high
        else None
    )
    memory: dict[str, Path] = {
        "rows of single precision": _as("float32"),
        "rows of the other byte order": _as(">f8"),
        "rows behind a mask that hides nothing": np.ma.masked_array,
        "rows in Fortran order": np.asfortranarray,
        "rows that cannot be written": _locked,
        "rows of a mapped file": lambda rows: rows.view(np.memmap),
        "every second row of an array": lambda rows: np.repeat(rows, 2, axis=0)[::2],
        "rows in lists": lambda rows: rows.tolist(),
    }
    some = [(single.astype(np.float64), {**memory, **sparse_paths()})]
    if whole is not None:
        some.append((whole, {**_integers(), **sparse_paths()}))
    for rows, paths in some:
        if not mechanism.personal:
            yield rows, paths
            continue
        levels = chance.integers(1, len(getattr(mechanism, "budgets", (1,))) + 1, users)
        held = np.column_stack([rows, levels])
        yield held, {title: _beside(make) for title, make in paths.items()}


def _beside(make: Path) -> Path:
    """Rows by a path, beside levels of their own."""
    return lambda held: (
        None if (rows := make(held[:, :-1])) is None else PersonalRows(held[:, -1].astype(np.int64), rows)
    )


def _as(kind: str) -> Path:
    return lambda rows: rows.astype(kind)


def _locked(rows: NDArray[Any]) -> NDArray[Any]:
    locked = rows.copy()
    locked.flags.writeable = False
    return locked


def _integers() -> dict[str, Path]:
    kinds = {f"rows of {kind}": _as(kind) for kind in ("int64", "int16")}

    def booleans(rows: NDArray[Any]) -> Any:
        return rows.astype(bool) if ((rows == 0) | (rows == 1)).all() else None

    def halves(rows: NDArray[Any]) -> Any:
        return rows.astype(np.float16) if (np.abs(rows) <= MAX_HALF).all() else None

    return {**kinds, "rows of bools": booleans, "rows of half precision": halves}


def sparse_paths() -> dict[str, Path]:
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


def _lists(rows: NDArray[Any]) -> NeighbourLists:
    owners, neighbours = np.nonzero(rows > 0)
    pointers = row_pointers(np.bincount(owners, minlength=len(rows)))
    return NeighbourLists(np.full(len(rows), rows.shape[1]), pointers, neighbours)


def everything_answered(mechanism: Mechanism, public: PublicRange | None) -> list[str]:
    """Whatever a value is, it must be answered, in silence: who answers, and what is logged, tells nothing then."""
    sane = reports_of(mechanism, np.asarray(mechanism.extremes()[:1]), SeededWords(SEED))
    for title, private in misfits(mechanism, public).items():
        users = np.stack([np.asarray(private)] * 2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                reports = mechanism.randomize(users, SeededWords(SEED))
                reports.check()
            except Warning as warning:
                message = f"a warning ({type(warning).__name__}) tells of {title}: whatever a value is, nothing may be said of it"
                return [Leak(message, Rank.VALUE)]
            except GraphveilError as error:
                return [Leak(f"{title} are not answered as others are: {error}", Rank.VALUE)]
            except Exception as error:  # noqa: BLE001
                message = f"{title} are not answered ({type(error).__name__}): whether somebody answers then tells a value"
                return [Leak(message, Rank.VALUE)]
        if reports.users != 2 or reports.codes.dtype != sane.codes.dtype:
            return [Leak(f"{title} are answered in another form than other rows", Rank.VALUE)]
    return []


def refused_alike(mechanism: Mechanism, public: PublicRange | None) -> list[str]:
    """Rows of a wrong shape may be refused, whatever they hold: with the same error for all values."""
    if mechanism.subject in ("label", "level"):
        return []
    errors: dict[tuple[str, str], str] = {}
    for title, private in valid_inputs(mechanism, public).items():
        rows = np.asarray(private, dtype=np.float64)[None]
        for shape, wrong in {
            "too long": np.column_stack([rows, rows]),
            "of a dimension too many": rows[None],
        }.items():
            for call in (mechanism.randomize, mechanism.count):
                try:
                    call(wrong)
                except Exception as error:  # noqa: BLE001 -- whatever is raised is compared
                    told = f"{type(error).__name__}: {error}"
                else:
                    told = "accepted"
                if errors.setdefault((shape, call.__name__), told) != told:
                    message = f"whether and how rows that are {shape} are refused by {call.__name__} depends on their values, as with {title}"
                    return [Leak(message, Rank.FORMAT)]
    return []
