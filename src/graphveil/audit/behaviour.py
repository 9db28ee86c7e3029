"""A mechanism seen from outside: what else than the random answers of a report depends on private data, costs included?"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.candidate import (
    Candidate,
    draws_by_reports,
    is_curated,
    values_of,
    with_values,
)
from graphveil.audit.drawn_reports import CountedWords, batch, reports_of, same_dims, same_reports
from graphveil.audit.enumeration import JointDistribution
from graphveil.audit.findings import BEHAVIOUR, BrokenError, Leak, Rank, Step, rank_of
from graphveil.audit.independence import dependent_users, repeated_reports
from graphveil.audit.inputs import SEED, Probe, accepts, invalid_inputs, valid_inputs
from graphveil.audit.lower_bound import best_bound
from graphveil.channels.sampling import SeededWords, code_type
from graphveil.errors import GraphveilError
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.links import LinkMechanism
from graphveil.mechanisms.personal import level_of
from graphveil.mechanisms.ppm import PersonalMechanism
from graphveil.mechanisms.reports import HEADER, Reports
from graphveil.mechanisms.rows import PublicRange

Subject = TypeVar("Subject")
# Calls that are repeated with the same words, in another order.
CALLS = 13
# Users who are asked one by one, each with words of their own.
ALONE = 200
# Users whose charges are looked at, all with the same row.
USERS = 3
# Users, and values at most, of a look for codes without noise.
CLEAR_USERS, CLEAR_VALUES = 4096, 1 << 17
# The bound of one event is 99.9% sure; both rows are drawn again before anything is said.
CLEAR_LOOKS = 2


def behaviour_step(candidate: Candidate, joint: JointDistribution | None) -> Step:
    """All the checks; each returns the leaks that it found."""
    try:
        probe = Probe.of(candidate)
    except BrokenError as error:
        return Step(BEHAVIOUR, "it fails on valid rows", (str(error),), failed=True)
    leaks = _guarded(same_format, probe)
    well_formed = not leaks
    changed = _guarded(unchanged_by_calls, probe)
    if changed:
        seen = "two equal calls differ, so that no other two calls can be compared"
        return Step(BEHAVIOUR, seen, _ranked(leaks + changed))
    # A curator sees everything anyway, and how long it takes is said not to be covered.
    curated = is_curated(probe.build())
    uneven = [] if curated else _guarded(same_words_used, probe)
    # The others compare two calls word by word, which says nothing if they use different numbers of words.
    for check in () if uneven or curated else (same_dimensions, outliers_like_ends, depends_on_others):
        leaks += _guarded(check, probe)
    leaks += uneven
    if joint is not None:
        dependent = _guarded(dependent_users, joint)
    else:
        dependent = _guarded(repeated_reports, candidate.build())
    # Where everybody's noise is the same, a report looks as if it had none.
    leaks += dependent
    if not any(rank_of(leak) is Rank.USERS for leak in dependent):
        leaks += _guarded(in_the_clear, probe)
    if well_formed:
        leaks += _guarded(lambda built: everything_answered(built, probe.public), candidate.build())
    leaks += _guarded(lambda built: charged_alike(built, probe.public), candidate.build())
    leaks += _guarded(lambda built: refused_alike(built, probe.public), candidate.build())
    used = "words used (by the reported degree)" if draws_by_reports(probe.build()) else "words used"
    seen = f"length, type, {used}, dimensions, clipping, NaN and infinity, other users, repeated calls, independence, charges"
    if curated:
        seen = "type, NaN and infinity, repeated calls, independence, charges"
    return Step(BEHAVIOUR, seen, _ranked(leaks))


def brief_behaviour(probe: Probe) -> list[str]:
    """The first of the same findings, for one more size of a mechanism."""
    leaks = _guarded(same_format, probe) or _guarded(unchanged_by_calls, probe)
    if probe.build().trust == "curator":
        return leaks
    for check in (same_words_used, same_dimensions, outliers_like_ends, depends_on_others):
        leaks = leaks or _guarded(check, probe)
    return leaks


def _ranked(leaks: list[str]) -> tuple[str, ...]:
    """Each finding once, the nearest to the root of a fault first."""
    return tuple(sorted(dict.fromkeys(leaks), key=rank_of))


def _guarded(check: Callable[[Subject], list[str]], subject: Subject) -> list[str]:
    """What a check finds; a mechanism that fails in the middle of it is a finding too."""
    try:
        return check(subject)
    except BrokenError as error:
        return [str(error)]


def unchanged_by_calls(probe: Probe) -> list[str]:
    """Calling a mechanism must not change it, and the same words must give the same reports."""
    mechanism = probe.build()
    before = (mechanism.fingerprint, mechanism.claim, mechanism.epsilon)
    rows = next(reversed(probe.batches.values()))
    same = same_reports(*(reports_of(mechanism, rows, SeededWords(SEED)) for _ in range(2)))
    after = (mechanism.fingerprint, mechanism.claim, mechanism.epsilon)
    if before != after:
        return [
            Leak(
                "a call changes the mechanism: before some calls its exact epsilon was "
                f"{before[2]:.6g} (claimed {before[1].epsilon:g}), after them {after[2]:.6g} (claimed {after[1].epsilon:g}), "
                "so the budget of a report depends on how often the mechanism was used",
                Rank.STATE,
            )
        ]
    # Another order the second time: what every so many calls do comes at other words then.
    seeds = range(SEED, SEED + CALLS)
    first = [reports_of(mechanism, rows, SeededWords(seed)) for seed in seeds]
    second = [reports_of(mechanism, rows, SeededWords(seed)) for seed in reversed(seeds)]
    if not same or not all(map(same_reports, first, reversed(second))):
        return [
            Leak(
                "two calls with the same rows and the same words give different reports: either a call changes the "
                "mechanism, or it draws randomness of its own, which cannot be checked",
                Rank.STATE,
            )
        ]
    return []


def same_format(probe: Probe) -> list[str]:
    """Length, type, size and settings of reports must be those that the mechanism declares, for all rows.

    Where reports are ``uneven`` their length is part of the answer, which other steps look at.
    """
    mechanism = probe.build()
    leaks: list[str] = []
    odd: list[str] = []
    resettled: list[str] = []
    sizes: dict[str, int] = {}
    forms: dict[tuple[Any, ...], str] = {}
    for title, rows in probe.batches.items():
        reports = reports_of(mechanism, rows, SeededWords(SEED))
        lengths = np.unique(reports.lengths)
        if not mechanism.shape.uneven and lengths.tolist() != [mechanism.shape.length]:
            odd.append(f"{title} give {_span(lengths)}")
            continue
        if reports.codes.dtype != code_type(mechanism.shape.alphabet):
            leaks.append(
                f"the type of the codes is not the declared one: {title} give {reports.codes.dtype}, an alphabet "
                f"of {mechanism.shape.alphabet} takes {code_type(mechanism.shape.alphabet)}"
            )
        elif reports.codes.size and int(reports.codes.max()) >= mechanism.shape.alphabet:
            leaks.append(
                f"codes leave the alphabet: {title} give code {int(reports.codes.max())}, the alphabet ends at "
                f"{mechanism.shape.alphabet - 1}"
            )
        if reports.mechanism.fingerprint != mechanism.fingerprint:
            resettled.append(title)
        if not mechanism.shape.uneven:
            message = reports.to_bytes()
            sizes[title] = len(message)
            forms.setdefault((message[: HEADER.size], *_forms_of(reports)), title)
    if odd:
        # The same wrong length for everybody tells nothing by itself.
        alike = len({told.partition(" give ")[2] for told in odd}) == 1 and len(odd) == len(probe.batches)
        what = "is not the declared one" if alike and " to " not in odd[0] else "depends on the values"
        leaks.append(
            Leak(
                f"the length of a report {what}: every report must hold {mechanism.shape.length} codes, {', '.join(odd)}",
                Rank.CHOICE if what == "depends on the values" else Rank.FORMAT,
            )
        )
    if resettled:
        leaks.append(
            f"the settings that reports are decoded with are not those that were asked for ({', '.join(resettled)}): "
            "a scale or a range that depends on the values does this"
        )
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{title}: {size} bytes" for title, size in sizes.items())
        leaks.append(f"the size of a message depends on the values ({listed})")
    elif len(forms) > 1:
        leaks.append(
            "the header of a message, or the form of the arrays in it, depends on the values: they differ between "
            f"{' and '.join(list(forms.values())[:2])}"
        )
    return leaks


def _forms_of(reports: Reports) -> Iterator[Any]:
    """What a program that holds reports sees of their arrays besides what is in them."""
    for array in (reports.indptr, reports.dims, reports.codes):
        yield None if array is None else (array.dtype.str, array.strides)


def same_words_used(probe: Probe) -> list[str]:
    """The number of random words must not depend on the values: it takes time, which others can see."""
    if draws_by_reports(probe.build()):
        return words_follow_reports(probe)
    taken = {}
    for title, rows in probe.batches.items():
        words = CountedWords(SEED)
        reports_of(probe.build(), rows, words)
        taken[title] = words.taken
    if len(set(taken.values())) == 1:
        return []
    listed = ", ".join(f"{title}: {count}" for title, count in taken.items())
    return [
        Leak(
            f"how many random words are drawn depends on the values ({listed}), and so does the time that it takes",
            Rank.CHOICE,
        )
    ]


def words_follow_reports(probe: Probe) -> list[str]:
    """Where the number of words follows from the reported degree, it must be the same for all values with that degree."""
    mechanism = probe.build()
    if not isinstance(mechanism, LinkMechanism):
        return [Leak("what the number of random words follows from is known for links alone", Rank.CHOICE)]
    taken: dict[tuple[int, tuple[int, ...]], int] = {}
    for rows in probe.batches.values():
        for user in range(min(ALONE, len(rows))):
            words = CountedWords(SEED + user)
            degrees = mechanism.degrees(reports_of(mechanism, rows[user : user + 1], words))
            key = user, tuple(() if degrees is None else degrees.tolist())
            if taken.setdefault(key, words.taken) != words.taken:
                told = (
                    "how many random words are drawn depends on the values even where the reported degree is the same "
                    f"({taken[key]} and {words.taken}), and so does the time that it takes"
                )
                return [Leak(told, Rank.CHOICE)]
    return []


def same_dimensions(probe: Probe) -> list[str]:
    """Which dimensions are asked must depend on the words alone."""
    mechanism = probe.build()
    if not mechanism.shape.names_dimensions:
        return []
    chosen = {
        title: reports_of(mechanism, rows, SeededWords(SEED)).dims for title, rows in probe.batches.items()
    }
    (first, dims), *others = chosen.items()
    for title, other in others:
        if not same_dims(dims, other):
            return [
                Leak(
                    "which dimensions are reported depends on the values: with the same random words, "
                    f"{first} and {title} report different dimensions",
                    Rank.CHOICE,
                )
            ]
    return []


def outliers_like_ends(probe: Probe) -> list[str]:
    """A value outside the public range must be reported exactly as the nearest end of the range."""
    mechanism, public = probe.build(), probe.public
    rows = next(iter(probe.batches.values()))
    if mechanism.subject != "features":
        return []
    if public is None:
        return _not_like(mechanism, 3 * rows, rows, "rows three times as long as the longest valid ones")
    width, chance = public.high - public.low, np.random.default_rng(SEED)
    shape = values_of(mechanism, rows).shape
    for far in (1e-6 * width, 0.5 * width, 100 * width):
        outside = np.where(chance.random(shape) < 0.5, public.low - far, public.high + far)
        ends = np.clip(outside, public.low, public.high)
        title = f"values {far:g} outside the public range [{public.low:g}, {public.high:g}]"
        far_rows, end_rows = with_values(mechanism, rows, outside), with_values(mechanism, rows, ends)
        leaks = _not_like(mechanism, far_rows, end_rows, title)
        if leaks:
            return leaks
    return []


def _not_like(mechanism: Mechanism, outside: NDArray[Any], ends: NDArray[Any], title: str) -> list[str]:
    # Rows outside may also be refused, with an error that says so.
    if not accepts(mechanism, outside):
        return []
    words = SeededWords(SEED), SeededWords(SEED)
    if same_reports(reports_of(mechanism, outside, words[0]), reports_of(mechanism, ends, words[1])):
        return []
    return [
        Leak(
            f"an outlier shows: {title} are not reported like the ends, so they are not clipped before the noise",
            Rank.CHOICE,
        )
    ]


def depends_on_others(probe: Probe) -> list[str]:
    """A user's report must not change when other users' rows do."""
    mechanism = probe.build()
    rows, others = _inner_rows(probe, mechanism), probe.batches
    if draws_by_reports(mechanism):
        # Which words are whose follows from the degrees that others report: they keep these, and have other neighbours.
        rows = probe.batches["rows mixed from both"]
        others = {"as many links, to other users": rows[:, ::-1]}
    reference = reports_of(mechanism, rows, SeededWords(SEED))
    for title, other in others.items():
        for kept in (slice(0, None, 2), slice(0, len(rows) // 2)):
            changed = other.astype(rows.dtype)
            changed[kept] = rows[kept]
            reports = reports_of(probe.build(), changed, SeededWords(SEED))
            if not same_reports(_some(reference, kept), _some(reports, kept)):
                return [
                    Leak(
                        "a user's report depends on other users' data: with the same random words it changes when the others "
                        f"hold {title} (a range, mean or scale taken from the data does this)",
                        Rank.USERS,
                    )
                ]
    return []


def _inner_rows(probe: Probe, mechanism: Mechanism) -> NDArray[Any]:
    """Rows in the middle of the range, where there is one: other users then change what the data span."""
    first = next(iter(probe.batches.values()))
    if probe.public is None:
        return first
    spread = np.random.default_rng(SEED).uniform(-0.1, 0.1, values_of(mechanism, first).shape)
    inner = with_values(mechanism, first, probe.public.centre + spread * probe.public.half_width)
    return inner if accepts(mechanism, inner) else first


def _some(reports: Reports, users: slice) -> Reports:
    """The reports of some users."""
    chosen = np.zeros(reports.users, dtype=bool)
    chosen[users] = True
    kept = np.repeat(chosen, reports.lengths)
    pointers = np.concatenate([[0], np.cumsum(reports.lengths[chosen])])
    dims = None if reports.dims is None else reports.dims[kept]
    return Reports(reports.mechanism, pointers, dims, reports.codes[kept])


def _span(lengths: NDArray[np.int64]) -> str:
    return str(lengths[0]) if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"


def everything_answered(mechanism: Mechanism, public: PublicRange | None) -> list[str]:
    """Whatever a value is, it must be answered, in silence: who answers, and what is logged, tells nothing then."""
    sane = reports_of(mechanism, np.asarray(mechanism.extremes()[:1]), SeededWords(SEED))
    for title, private in invalid_inputs(mechanism, public).items():
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


def in_the_clear(probe: Probe) -> list[str]:
    """Whether some code of a report tells two rows apart with more certainty than is claimed."""
    mechanism = probe.build()
    if mechanism.shape.uneven:
        return []
    users = max(64, min(CLEAR_USERS, CLEAR_VALUES // max(mechanism.shape.row_length, mechanism.shape.length)))
    never: dict[int, tuple[str, int]] = {}
    for title, private in valid_inputs(mechanism, probe.public).items():
        drawn = [
            columns
            for look in range(CLEAR_LOOKS)
            if (columns := _columns(reports_of(mechanism, batch(private, users), SeededWords(SEED, look))))
            is not None
        ]
        if len(drawn) < CLEAR_LOOKS or drawn[0].shape != drawn[1].shape:
            return []
        codes = np.concatenate(drawn)
        for place in np.flatnonzero((codes == codes[0]).all(axis=0)).tolist():
            code = int(codes[0, place])
            other, before = never.setdefault(place, (title, code))
            if before != code and _more_than(mechanism.claim.epsilon, mechanism.claim.delta, users):
                return [
                    Leak(
                        f"it is sent in the clear: code {place} of a report is always {before} under {other}, and always "
                        f"{code} under {title}",
                        Rank.CLEAR,
                    )
                ]
    return []


def _columns(reports: Reports) -> NDArray[np.int64] | None:
    """The codes of all users, and the dimensions that they name, where all reports are of one length."""
    lengths = np.unique(reports.lengths)
    if len(lengths) != 1 or lengths[0] == 0:
        return None
    return reports.codes.astype(np.int64).reshape(reports.users, int(lengths[0]))


def _more_than(epsilon: float, delta: float, users: int) -> bool:
    """Whether a code that always comes under one row and never under another proves more than is claimed."""
    counts = np.array([[users], [0]])
    return best_bound(counts, lambda place: "", (0, 1), users, delta).epsilon > max(epsilon, math.log(2))


def charged_alike(mechanism: Mechanism, public: PublicRange | None) -> list[str]:
    """What is wrong with how a mechanism counts, charges and looks over private data."""
    valid = valid_inputs(mechanism, public)
    for title, private in {**valid, **invalid_inputs(mechanism, public)}.items():
        held = batch(private, USERS)
        for name in ("count", "costs", "altered"):
            result = _called(getattr(mechanism, name), held)
            if isinstance(result, Exception):
                return [_leak(f"{name} fails on {title} ({type(result).__name__}), which tells the value")]
            if name == "count" and result != USERS:
                return [_leak(f"count finds {result} users where there are {USERS}, with {title}")]
            if name == "costs" and (wrong := _wrong_costs(mechanism, private, result)):
                return [_leak(f"{wrong}, with {title}")]
    return _cheap_levels(mechanism)


def _called(call: Callable[[Any], Any], held: Any) -> Any:
    """What a call gives, or what it raises; a warning counts as an error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        try:
            return call(held)
        except Exception as error:  # noqa: BLE001 -- whatever is raised, the audit judges it
            return error


def _wrong_costs(mechanism: Mechanism, private: Any, costs: Any) -> str | None:
    budgets = mechanism.level_budgets
    if budgets is None:
        same = costs is None or (
            np.shape(costs) == (USERS,) and (np.asarray(costs) == mechanism.claim.epsilon).all()
        )
        return None if same else "costs differ from the claim although nobody chooses a level"
    if costs is None or np.shape(costs) != (USERS,):
        return "costs must be one number a user where users choose a level"
    level = level_of(private) if np.isfinite(np.asarray(private)[-1]) else 1
    due = budgets[min(max(level, 1), len(budgets)) - 1]
    return (
        None if (np.asarray(costs) >= due).all() else "users are charged less than the budget of their level"
    )


def _cheap_levels(mechanism: Mechanism) -> list[str]:
    """Whether every level is charged at least what its own reports give away, and the most relaxed one the claim."""
    budgets = mechanism.level_budgets
    if budgets is None:
        return []
    if max(budgets) < mechanism.claim.epsilon:
        return [_leak("no level is charged the epsilon that is claimed: level_budgets are too small")]
    if not isinstance(mechanism, PersonalMechanism):
        return []
    # The loss is recomputed by the package's own code, whatever a subclass says of itself.
    for level, budget in enumerate(budgets, start=1):
        if PersonalMechanism.pair_loss(mechanism, level, level).exceeds(budget):
            return [_leak(f"users of level {level} are charged {budget:g}, and their reports give away more")]
    return []


def _leak(told: str) -> Leak:
    return Leak(told, Rank.FORMAT)
