"""A mechanism seen from outside: what else than the random answers of a report depends on private data, costs included? Is its control blind?"""

from __future__ import annotations

import math
import warnings
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from graphveil.audit.candidate import (
    Candidate,
    draws_by_reports,
    has_levels,
    is_blind,
    is_curated,
    values_of,
    with_values,
)
from graphveil.audit.enumeration import JointDistribution
from graphveil.audit.findings import (
    BrokenError,
    Leak,
    LeakError,
    Rank,
    Step,
    Title,
    check_alike,
    leaks_of,
    raise_first,
    rank_of,
)
from graphveil.audit.independence import check_repeated, check_users
from graphveil.audit.lower_bound import best_bound
from graphveil.audit.reports import (
    SEED,
    CountedBits,
    Probe,
    Version,
    accepts,
    batch,
    placed_answers,
    reports_of,
    same_reports,
)
from graphveil.channels.sampling import SeededBits, code_type
from graphveil.errors import InputError
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.personal import PersonalMechanism
from graphveil.mechanisms.registry import is_own
from graphveil.mechanisms.reports import HEADER

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
# A mechanism that fails in the middle of a check is a finding too.
_guarded = partial(leaks_of, kind=BrokenError)


def behaviour_step(candidate: Candidate, joint: JointDistribution | None) -> Step:
    """Run all the checks."""
    probe = Probe.of(candidate)
    leaks = _guarded(format_leaks, probe)
    well_formed = not leaks
    if changed := _guarded(check_unchanged, probe):
        seen = "two equal calls differ, so that no other two calls can be compared"
        return Step(Title.BEHAVIOUR, seen, _ranked(leaks + changed))
    # A curator sees everything anyway, and how long it takes is said not to be covered.
    curated = is_curated(probe.build())
    uneven = [] if curated else _guarded(check_words_used, probe)
    # The others compare two calls word by word, which says nothing if they use different numbers of words.
    for check in () if uneven or curated else (check_dimensions, check_outliers, check_others):
        leaks += _guarded(check, probe)
    leaks += uneven
    independence = (
        partial(check_repeated, candidate.build()) if joint is None else partial(check_users, joint)
    )
    dependent = _guarded(independence)
    # Where everybody's noise is the same, a report looks as if it had none.
    leaks += dependent
    if not any(rank_of(leak) is Rank.USERS for leak in dependent):
        leaks += _guarded(check_in_the_clear, probe)
    for last in (check_answered, check_charges, check_refusals):
        if well_formed or last is not check_answered:
            leaks += _guarded(last, Version(candidate.build(), probe.public))
    used = "words used (by the reported degree)" if draws_by_reports(probe.build()) else "words used"
    seen = f"length, type, {used}, dimensions, clipping, NaN and infinity, other users, repeated calls, independence, charges"
    if curated:
        seen = "type, NaN and infinity, repeated calls, independence, charges"
    return Step(Title.BEHAVIOUR, seen, _ranked(leaks))


def check_briefly(probe: Probe) -> None:
    """Raise the first of the same findings, for one more size of a mechanism."""
    raise_first(format_leaks(probe))
    check_unchanged(probe)
    if probe.build().trust != "curator":
        for check in (check_words_used, check_dimensions, check_outliers, check_others):
            check(probe)


def _ranked(leaks: list[str]) -> tuple[str, ...]:
    """Each finding once, the nearest to the root of a fault first."""
    return tuple(sorted(dict.fromkeys(leaks), key=rank_of))


def check_unchanged(probe: Probe) -> None:
    """Check that calling a mechanism does not change it, and that the same words give the same reports."""
    mechanism = probe.build()
    before = (mechanism.fingerprint, mechanism.claim, mechanism.epsilon)
    rows = next(reversed(probe.batches.values()))
    same = same_reports(*(reports_of(mechanism, rows, SeededBits(SEED)) for _ in range(2)))
    after = (mechanism.fingerprint, mechanism.claim, mechanism.epsilon)
    if before != after:
        one, other = (f"{exact:.6g} (claimed {claim.epsilon:g})" for _, claim, exact in (before, after))
        detail = f"a call changes the mechanism: its exact epsilon was {one} before some calls, and {other} after them"
        raise LeakError(detail, Rank.STATE)
    # Another order the second time: what every so many calls do comes at other words then.
    seeds = range(SEED, SEED + CALLS)
    first = [reports_of(mechanism, rows, SeededBits(seed)) for seed in seeds]
    second = [reports_of(mechanism, rows, SeededBits(seed)) for seed in reversed(seeds)]
    if not same or not all(map(same_reports, first, reversed(second))):
        detail = (
            "either a call changes the mechanism, or it draws randomness of its own, which cannot be checked"
        )
        raise LeakError(
            f"two calls with the same rows and the same words give different reports: {detail}", Rank.STATE
        )


def format_leaks(probe: Probe) -> list[str]:
    """Return where length, type, size and settings of reports are not those that the mechanism declares, for all rows.

    Where reports are ``uneven`` their length is part of the answer, which other steps look at.
    """
    mechanism = probe.build()
    shape, kind = mechanism.shape, code_type(mechanism.shape.alphabet)
    leaks: list[str] = []
    wrong: dict[str, list[int]] = {}
    resettled: list[str] = []
    sizes, forms = {}, {}
    for title, rows in probe.batches.items():
        reports = reports_of(mechanism, rows, SeededBits(SEED))
        seen = np.unique(reports.lengths).tolist()
        if not shape.uneven and seen != [shape.length]:
            wrong[title] = seen
            continue
        if reports.codes.dtype != kind:
            leaks.append(
                f"the type of the codes is not the declared {kind}: {title} give {reports.codes.dtype}"
            )
        elif reports.codes.size and (largest := int(reports.codes.max())) >= shape.alphabet:
            detail = f"{title} give code {largest}, the alphabet ends at {shape.alphabet - 1}"
            leaks.append(f"codes leave the alphabet: {detail}")
        resettled += [title] if reports.mechanism.fingerprint != mechanism.fingerprint else []
        if not shape.uneven:
            message = reports.to_bytes()
            # What a program that holds reports sees of their arrays besides what is in them.
            arrays = (reports.indptr, reports.dims, reports.codes)
            form = [None if array is None else (array.dtype.str, array.strides) for array in arrays]
            sizes[title], forms[title] = len(message), (message[: HEADER.size], form)
    if wrong:
        # The same wrong length for everybody tells nothing by itself.
        first = next(iter(wrong.values()))
        alike = len(first) == 1 and list(wrong.values()) == [first] * len(probe.batches)
        what = "is not the declared one" if alike else "depends on the values"
        listed = ", ".join(f"{title} give {seen[0]} to {seen[-1]}" for title, seen in wrong.items())
        detail = f"the length of a report {what}: every report must hold {shape.length} codes, {listed}"
        leaks.append(Leak(detail, Rank.FORMAT if alike else Rank.CHOICE))
    if resettled:
        detail = "the settings that reports are decoded with depend on the values, as a scale or a range may"
        leaks.append(f"{detail} ({', '.join(resettled)})")
    header = "the header of a message, or the form of the arrays in it, depends on the values"
    return leaks + (
        leaks_of(check_alike, sizes, "the size of a message depends on the values", Rank.FORMAT)
        or leaks_of(check_alike, forms, header, Rank.FORMAT)
    )


def check_words_used(probe: Probe) -> None:
    """Check that the number of random words does not depend on the values: others can see the time it takes."""
    mechanism = probe.build()
    if draws_by_reports(mechanism):
        check_words_follow_reports(mechanism, probe)
        return
    taken = {}
    for title, rows in probe.batches.items():
        random_bits = CountedBits(SEED)
        reports_of(probe.build(), rows, random_bits)
        taken[title] = random_bits.taken
    detail = "how many random words are drawn depends on the values, and so does the time that it takes"
    check_alike(taken, detail, Rank.CHOICE)


def check_words_follow_reports(mechanism: Mechanism, probe: Probe) -> None:
    """Check that users who report the same degree take the same number of random words."""
    detail = (
        "how many random words are drawn depends on the values even where the reported degree is the same"
    )
    taken: dict[tuple[int, bytes], dict[str, int]] = {}
    for title, rows in probe.batches.items():
        for user in range(min(ALONE, len(rows))):
            random_bits = CountedBits(SEED + user)
            _, places, codes = placed_answers(reports_of(mechanism, rows[user : user + 1], random_bits))
            degrees = codes[places == mechanism.shape.dimensions]
            taken.setdefault((user, degrees.tobytes()), {})[title] = random_bits.taken
    for alike in taken.values():
        check_alike(alike, detail, Rank.CHOICE)


def check_dimensions(probe: Probe) -> None:
    """Check that the reported dimensions depend on the random words alone."""
    mechanism, chosen = probe.build(), {}
    for title, rows in probe.batches.items() if mechanism.shape.names_dimensions else ():
        dims = reports_of(mechanism, rows, SeededBits(SEED)).dims
        chosen[title] = None if dims is None else dims.tolist()
    detail = "which dimensions are reported depends on the values, with the same random words"
    check_alike(chosen, detail, Rank.CHOICE)


def check_outliers(probe: Probe) -> None:
    """Check that a value outside the public range is reported exactly as the nearest end of the range."""
    mechanism, public, rows = probe.build(), probe.public, probe.first
    if mechanism.subject != "features":
        return
    pairs = [(3 * rows, rows, "rows three times as long as the longest valid ones")]
    if public is not None:
        width, chance, pairs = public.high - public.low, np.random.default_rng(SEED), []
        for far in (1e-6 * width, 0.5 * width, 100 * width):
            low_side = chance.random(values_of(mechanism, rows).shape) < 0.5
            outside = np.where(low_side, public.low - far, public.high + far)
            held = [
                with_values(mechanism, rows, values)
                for values in (outside, np.clip(outside, public.low, public.high))
            ]
            pairs.append(
                (*held, f"values {far:g} outside the public range [{public.low:g}, {public.high:g}]")
            )
    for outside, ends, title in pairs:
        # Rows outside may also be refused, with an error that says so.
        if not accepts(mechanism, outside):
            continue
        if not same_reports(*(reports_of(mechanism, held, SeededBits(SEED)) for held in (outside, ends))):
            detail = f"an outlier shows: {title} are not reported like the ends, so they are not clipped before the noise"
            raise LeakError(detail, Rank.CHOICE)


def check_others(probe: Probe) -> None:
    """Check that a user's report does not change when other users' rows do."""
    mechanism, public = probe.build(), probe.public
    rows, others = probe.first, probe.batches
    if public is not None:
        # In the middle of the range, so that other users change what the data span.
        spread = np.random.default_rng(SEED).uniform(-0.1, 0.1, values_of(mechanism, rows).shape)
        inner = with_values(mechanism, rows, public.centre + spread * public.half_width)
        rows = inner if accepts(mechanism, inner) else rows
    if draws_by_reports(mechanism):
        # Which words are whose follows from the degrees that others report: they keep these, and have other neighbours.
        rows = probe.batches["rows mixed from both"]
        others = {"as many links, to other users": rows[:, ::-1]}
    reference = reports_of(mechanism, rows, SeededBits(SEED))
    for title, other in others.items():
        for kept in (np.arange(0, len(rows), 2), np.arange(len(rows) // 2)):
            changed = other.astype(rows.dtype)
            changed[kept] = rows[kept]
            reports = reports_of(probe.build(), changed, SeededBits(SEED))
            if not same_reports(reference.rows(kept), reports.rows(kept)):
                detail = f"with the same random words it changes when they hold {title} (as by a range taken from the data)"
                raise LeakError(f"a user's report depends on other users' data: {detail}", Rank.USERS)


def check_answered(version: Version) -> None:
    """Check that every value is answered without a warning or a log entry.

    Then neither the fact that a user answers nor anything in a log tells about the value.
    """
    mechanism = version.mechanism
    sane = reports_of(mechanism, np.asarray(mechanism.extremes()[:1]), SeededBits(SEED))
    for title, private in version.invalid.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                reports = mechanism.randomize(batch(private, 2), SeededBits(SEED))
                reports.check()
            except Warning as warning:
                detail = f"a warning ({type(warning).__name__}) tells of {title}: whatever a value is, nothing may be said of it"
                raise LeakError(detail, Rank.VALUE) from None
            except Exception as error:  # noqa: BLE001
                detail = f"{title} are not answered ({type(error).__name__}): whether somebody answers then tells a value"
                raise LeakError(detail, Rank.VALUE) from None
        if reports.users != 2 or reports.codes.dtype != sane.codes.dtype:
            raise LeakError(f"{title} are answered in another form than other rows", Rank.VALUE)


def check_refusals(version: Version) -> None:
    """Check that rows of a wrong shape are refused, if at all, with the same error for all values."""
    mechanism = version.mechanism
    if mechanism.subject in ("label", "level"):
        return
    errors: dict[tuple[str, str], dict[str, str]] = {}
    for title, private in version.valid.items():
        rows = np.asarray(private, dtype=np.float64)[None]
        shapes = {"too long": np.column_stack([rows, rows]), "of a dimension too many": rows[None]}
        for (shape, wrong), call in product(shapes.items(), (mechanism.randomize, mechanism.count)):
            try:
                call(wrong)
            except Exception as error:  # noqa: BLE001 -- whatever is raised is compared
                detail = f"{type(error).__name__}: {error}"
            else:
                detail = "accepted"
            errors.setdefault((shape, call.__name__), {})[title] = detail
    for (shape, name), seen in errors.items():
        detail = f"whether and how rows that are {shape} are refused by {name} depends on their values"
        check_alike(seen, detail, Rank.FORMAT)


def check_in_the_clear(probe: Probe) -> None:
    """Check that no code of a report tells two rows apart with more certainty than is claimed."""
    mechanism = probe.build()
    if mechanism.shape.uneven:
        return
    users = max(64, min(CLEAR_USERS, CLEAR_VALUES // max(mechanism.shape.row_length, mechanism.shape.length)))
    # A code that always comes under one row and never under another proves so much.
    always = best_bound(np.array([[users], [0]]), str, (0, 1), users, mechanism.claim.delta).epsilon
    never: dict[int, tuple[str, int]] = {}
    for title, private in Version(mechanism, probe.public).valid.items():
        looks = [
            reports_of(mechanism, batch(private, users), SeededBits(SEED, look))
            for look in range(CLEAR_LOOKS)
        ]
        lengths = np.unique(np.concatenate([reports.lengths for reports in looks]))
        if len(lengths) != 1 or lengths[0] == 0:
            return
        codes = np.concatenate([reports.codes.astype(np.int64).reshape(users, -1) for reports in looks])
        for place in np.flatnonzero((codes == codes[0]).all(axis=0)).tolist():
            code = int(codes[0, place])
            other, before = never.setdefault(place, (title, code))
            if before != code and always > max(mechanism.claim.epsilon, math.log(2)):
                detail = f"code {place} of a report is always {before} under {other}, and always {code} under {title}"
                raise LeakError(f"it is sent in the clear: {detail}", Rank.CLEAR)


def check_charges(version: Version) -> None:
    """Counting, charging and looking over private data must not depend on a value, and must charge what reports give away."""
    mechanism = version.mechanism
    budgets = mechanism.budgets if has_levels(mechanism) else (mechanism.claim.epsilon,)
    if mechanism.budgets and budgets != mechanism.budgets:
        detail = "it names budgets of levels, and its users hold none: what they are charged is not the claim"
        raise LeakError(detail, Rank.FORMAT)
    calls = mechanism.count, mechanism.altered, mechanism.costs
    for (title, private), call in product({**version.valid, **version.invalid}.items(), calls):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            try:
                result = call(batch(private, USERS))
            except Exception as error:  # noqa: BLE001
                detail = f"{call.__name__} fails on {title} ({type(error).__name__}), which tells the value"
                raise LeakError(detail, Rank.FORMAT) from None
        wrong = None
        if call == mechanism.count and result != USERS:
            wrong = f"count finds {result} users where there are {USERS}"
        elif call == mechanism.costs:
            wrong = _wrong_costs(budgets, private, result)
        if wrong is not None:
            raise LeakError(f"{wrong}, with {title}", Rank.FORMAT)
    if not has_levels(mechanism):
        return
    if max(budgets) < mechanism.claim.epsilon:
        detail = "no level is charged the epsilon that is claimed: the budgets are too small"
        raise LeakError(detail, Rank.FORMAT)
    # The loss is recomputed by the package's own code, whatever a subclass says of itself.
    for level, budget in enumerate(budgets, start=1):
        if PersonalMechanism.pair_loss(mechanism, level, level).exceeds(budget):
            detail = f"users of level {level} are charged {budget:g}, and their reports give away more"
            raise LeakError(detail, Rank.FORMAT)


def _wrong_costs(budgets: tuple[float, ...], private: Any, costs: Any) -> str | None:
    if np.shape(costs) != (USERS,):
        return "costs must be one number a user"
    level = np.clip(np.nan_to_num(np.ravel(private)[-1], nan=1.0), 1, len(budgets))
    due = budgets[int(level) - 1]
    if (np.asarray(costs) < due).any():
        return "users are charged less than the budget of their level"
    return None if (np.asarray(costs) == due).all() else "costs differ from the budget of the level"


# Users of one look at a control.
BLIND_USERS, BLIND_SEED = 64, 21


def control_step(version: Version) -> Step:
    """Check that the control of a mechanism carries no information."""
    try:
        control = version.mechanism.blind()
    except (NotImplementedError, InputError):
        gap = "Its control: it has none (`blind` refuses), so nothing shows what a budget buys with it."
        return Step(Title.CONTROL, "left out: it has no control", skipped=True, gaps=(gap,))
    leaks = [*sighted_tables(control), *sighted_reports(Version(control, version.public))]
    seen = "with the same random words it gives the same reports for all values"
    if version.mechanism.finite:
        seen = f"exact epsilon 0 by its tables, and {seen}"
    detail = [Leak(f"its control is not blind: {leak}", Rank.CONTROL) for leak in leaks]
    return Step(Title.CONTROL, seen, tuple(detail))


def sighted_tables(control: Mechanism) -> list[str]:
    """The channels of a control whose rows differ, in sentences."""
    if control.claim.epsilon != 0:
        return [f"it claims epsilon {control.claim.epsilon:g}, and not 0"]
    if is_own(control) or control.trust == "curator":
        blind = control.loss.terms == ()
        return [] if blind else [f"it has an exact epsilon of {control.epsilon:.6g}, and not 0"]
    for answer in control.answers:
        # Where users hold a level, it is answered as usual.
        if not is_blind(answer.channel) and answer.channel is not getattr(control, "level_channel", None):
            return [f"{answer.channel.name} has an exact epsilon of {answer.channel.epsilon:.6g}, and not 0"]
    return []


def sighted_reports(version: Version) -> list[str]:
    """Return findings where a control answers values differently with the same random words."""
    control, inputs = version.mechanism, {**version.valid, **version.invalid}
    first: Any = None
    for title, private in inputs.items():
        rows = batch(private, BLIND_USERS)
        if has_levels(control):
            # The same users with other values: a level is answered as usual.
            rows = with_values(control, batch(next(iter(inputs.values())), BLIND_USERS), rows[:, :-1])
        reports = reports_of(control, rows, SeededBits(BLIND_SEED))
        first = first or (title, reports)
        if not same_reports(first[1], reports):
            leak = f"with the same random words it answers {first[0]} and {title} differently"
            return [f"{leak}, so values reach its reports by a channel that is not blind, or past it"]
    return []
