"""The registry: every mechanism by its name, and the way to build one.

A new one-value family becomes a feature mechanism by one line in ``FAMILIES``; anything else by `register`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from graphveil.channels import (
    KaryChannel,
    analytic_gaussian,
    condensed,
    duchi,
    esw,
    featurerr,
    gaussian,
    hybrid,
    kary,
    laplace,
    latent,
    ome,
    onebit,
    piecewise,
    pm_sub,
    square_wave,
    three_output,
)
from graphveil.channels.channel import Channel, FiniteChannel
from graphveil.channels.exact import MAX_EPSILON, Claim, Counts, check_epsilon
from graphveil.errors import InputError, UnknownNameError
from graphveil.mechanisms.asking import Asking
from graphveil.mechanisms.base import Mechanism, Subject, verified
from graphveil.mechanisms.features import FeatureMechanism
from graphveil.mechanisms.item import ItemMechanism, amplified
from graphveil.mechanisms.labels import LabelMechanism, LevelMechanism, indicator_decoding
from graphveil.mechanisms.links import LinkMechanism
from graphveil.mechanisms.ppm import PersonalMechanism, Way
from graphveil.mechanisms.privunit import PrivUnitMechanism, privunit
from graphveil.mechanisms.rows import PublicBall, PublicRange

# How many dimensions are asked for at a budget ε: max(1, min(d, ⌊ε·rate⌋)).
MULTIBIT_RATE = 1 / 2.18  # LPGNN
PERSONAL_RATE = 1 / 2.2  # PPGNN
SAMPLED_RATE = 2 / 5  # Wang et al. 2019 for PM and HM; TOGL for PM and SW
DEFAULT_DELTA = 1e-5

Builder = Callable[..., Mechanism]


@dataclass(frozen=True)
class Entry:
    """A registered mechanism: how to build it and what it is for.

    One that is not ``sound`` is there to be compared with: it is known not to keep its claim, and tests see to it that
    an audit says so.
    """

    name: str
    subject: Subject
    summary: str
    build: Builder
    sound: bool = True


_entries: dict[str, Entry] = {}


def register(
    name: str, *, subject: Subject = "features", summary: str = "", sound: bool = True
) -> Callable[[Builder], Builder]:
    """Register a function that builds a mechanism: feature mechanisms take at least epsilon, dims and range,
    labels epsilon and classes, levels epsilon and levels, links epsilon and dims, the number of users.

    A registered mechanism can be named in a plan and audited, and `check_mechanism` tests it.
    """

    def add(build: Builder) -> Builder:
        if name in _entries:
            raise InputError(f"a mechanism named {name!r} is registered already: take another name")
        told = summary or (inspect.getdoc(build) or "").split("\n")[0]
        _entries[name] = Entry(name, subject, told, build, sound)
        return build

    return add


def unregister(name: str) -> None:
    """Forget a mechanism."""
    entry(name)
    del _entries[name]


def entry(name: str) -> Entry:
    """The registered mechanism of that name."""
    if name not in _entries:
        raise UnknownNameError(f"no mechanism is named {name!r}: choose one of {', '.join(names())}")
    return _entries[name]


def names(subject: Subject | None = None) -> list[str]:
    """The names of all registered mechanisms, or of those for features, label, level or links."""
    return [name for name, found in _entries.items() if subject in (None, found.subject)]


def mechanism(name: str, *, epsilon: float, **settings: Any) -> Mechanism:
    """Build a mechanism by name.

    Features need ``dims`` and a public ``range``; ``sampled`` sets m, ``binary=True`` says that values are only ever the
    two ends of the range. Labels need ``classes``, levels ``levels``, links ``dims``: the number of users.

    >>> mechanism("multibit", epsilon=1.0, dims=1433, range=(0, 1))
    FeatureMechanism(multibit, epsilon=1, 1 of 1433 values, Channel(onebit, epsilon=1, 2 -> 2) each)
    """
    found = entry(name)
    check_budget(epsilon, settings.get("delta"))
    settings = {key: value for key, value in settings.items() if value is not None}
    accepted = inspect.signature(found.build).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values()):
        for key in settings:
            if key not in accepted:
                choices = ", ".join(option for option in accepted if option != "epsilon")
                raise InputError(f"{name} has no setting {key!r}: it takes {choices}")
    for key, parameter in accepted.items():
        named = parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        if named and parameter.default is parameter.empty and key != "epsilon" and key not in settings:
            raise InputError(f"{name} needs {key}: {_NEEDED.get(key, 'give it')}")
    return found.build(epsilon=float(epsilon), **settings)


_NEEDED = {
    "dims": "the number of features of a row; where links are asked, of users",
    "range": "the public range (LOW, HIGH) that features lie in; it is never read off the data",
    "classes": "the number of different labels",
    "levels": "the number of privacy levels",
    "length": "the public number of items that a row may hold at most",
}


def check_budget(epsilon: Any, delta: Any = None) -> None:
    """Refuse an ε that is not positive and finite, and a δ outside [0, 1)."""
    number = isinstance(epsilon, (int, float, np.integer, np.floating)) and not isinstance(epsilon, bool)
    if not number or not math.isfinite(epsilon) or epsilon <= 0:
        raise InputError(f"epsilon must be a positive finite number, got {epsilon!r}")
    if delta is not None:
        number = isinstance(delta, (int, float, np.integer, np.floating)) and not isinstance(delta, bool)
        if not number or not 0 <= delta < 1:
            raise InputError(f"delta must be a number in [0, 1), got {delta!r}")


def check_dims(dims: Any, sampled: Any = None) -> None:
    """Refuse a number of dimensions below 1, and an m outside 1..d."""
    if isinstance(dims, bool) or not isinstance(dims, (int, np.integer)) or dims < 1:
        raise InputError(f"dims must be an integer of at least 1, got {dims!r}")
    if sampled is not None and (
        isinstance(sampled, bool) or not isinstance(sampled, (int, np.integer)) or not 1 <= sampled <= dims
    ):
        raise InputError(
            f"sampled must be an integer from 1 to {dims}, the number of dimensions, got {sampled!r}"
        )


def sampled_count(epsilon: float, dims: int, rate: float | None) -> int:
    """m = max(1, min(d, ⌊ε·rate⌋)); all d without a rate."""
    # A product that rounding has put just below an integer counts as that integer: 7·2.18 asks for 7, not 6.
    return dims if rate is None else max(1, min(dims, math.floor(epsilon * rate * (1 + 2.0**-40))))


def feature_family(
    name: str,
    family: Callable[..., FiniteChannel],
    summary: str,
    *,
    rate: float | None = None,
    rescaled: bool = True,
    grid: bool = True,
    with_delta: bool = False,
    fixed: dict[str, Any] | None = None,
) -> None:
    """Register a one-value family as a feature mechanism.

    ``rate`` sets m (None: all d values are answered); ``rescaled`` multiplies estimates by d/m; ``grid`` says that the
    family takes a number of input points; ``with_delta`` that it takes a δ; ``fixed`` are options of the family. A plan may
    name a ``pool`` of dimensions and how many answers are ``from_pool`` (`Asking`).
    """

    def build(
        epsilon: float,
        dims: int,
        range: Any,
        sampled: int | None = None,
        delta: float | None = None,
        binary: bool = False,
        pool: Any = None,
        from_pool: float | None = None,
        **options: Any,
    ) -> FeatureMechanism:
        check_dims(dims, sampled)
        count = int(sampled) if sampled is not None else sampled_count(epsilon, int(dims), rate)
        asking = Asking.of(int(dims), count, pool, from_pool)
        settings = {**(fixed or {}), **options}
        if delta and not with_delta:
            raise InputError(f"{name} is private at delta 0 and takes no delta, got {delta!r}: leave it out")
        if grid and binary:
            settings["points"] = 2
        if with_delta:
            delta = DEFAULT_DELTA if delta is None else delta
            # Rounded down, so that the shares never add up to more than the whole.
            settings["delta"] = math.nextafter(delta / count, 0.0)
        channel = one_value(name, family, epsilon / count, settings)
        return FeatureMechanism(
            name,
            Claim(epsilon, delta or 0.0),
            PublicRange.of(range),
            int(dims),
            count,
            (channel,),
            dims / count if rescaled else 1.0,
            unbiased=rescaled and not settings.get("raw", False) and asking.everything,
            binary=binary and channel.input_count == 2,
            favoured=None if asking.even else asking,
        )

    register(name, summary=summary)(build)


def one_value(
    name: str, family: Callable[..., FiniteChannel], epsilon: float, settings: dict[str, Any]
) -> FiniteChannel:
    """The channel for one value, or an error that says which setting the family does not have."""
    accepted = inspect.signature(inspect.unwrap(family)).parameters
    for key in settings:
        if key not in accepted:
            choices = ", ".join(option for option in accepted if option != "epsilon") or "none of its own"
            raise InputError(f"{name} has no setting {key!r}: besides the common ones it takes {choices}")
    return family(epsilon, **settings)


# Mechanisms that answer all d values at ε/d each.
feature_family("onebit", onebit, "one bit of every value", grid=False)
feature_family("laplace", laplace, "Laplace noise on every value")
feature_family("gaussian", gaussian, "Gaussian noise on every value, classical calibration", with_delta=True)
feature_family(
    "analytic-gaussian",
    analytic_gaussian,
    "Gaussian noise on every value, exact calibration",
    with_delta=True,
)
# Mechanisms that sample m of d values and answer those at ε/m each.
feature_family(
    "multibit", onebit, "one bit of m sampled values (LPGNN, PPGNN's MLR)", rate=MULTIBIT_RATE, grid=False
)
feature_family("piecewise", piecewise, "piecewise mechanism on m sampled values", rate=SAMPLED_RATE)
feature_family(
    "square-wave", square_wave, "square wave on m sampled values, debiased (TOGL)", rate=SAMPLED_RATE
)
feature_family(
    "hds",
    square_wave,
    "square wave on m sampled values, as it is (LDP-GE): biased towards the middle by design",
    rate=SAMPLED_RATE,
    rescaled=False,
    fixed={"raw": True},
)
feature_family("duchi", duchi, "Duchi et al.'s one bit on m sampled values", rate=SAMPLED_RATE, grid=False)
feature_family("hybrid", hybrid, "piecewise or one bit on m sampled values", rate=SAMPLED_RATE)
feature_family(
    "three-output", three_output, "three outputs on m sampled values", rate=SAMPLED_RATE, grid=False
)
feature_family("pm-sub", pm_sub, "PM-SUB on m sampled values", rate=SAMPLED_RATE)
feature_family(
    "condensed", condensed, "metric response on m sampled values, ε over the range", rate=SAMPLED_RATE
)
feature_family("latent", latent, "every value as a string of bits, LATENT corrected", grid=False)
feature_family("ome", ome, "every value as a string of bits, OME corrected", grid=False)


@register(
    "featurerr", summary="graded response on every value, budgets by importance and sensitivity (HeteroRR)"
)
def build_featurerr(
    epsilon: float, dims: int, range: Any, shares: Any = None, bins: int = 10, debiased: bool = False
) -> FeatureMechanism:
    """FEATURERR: value i answered at θ_i·ε by a graded response over k bins.

    ``shares`` θ (public, see `budget_shares`) default to 1/d each; a share of 0 gets a blind answer. As printed the bins
    decode to their upper edges and the estimate is biased; ``debiased`` divides the response out.
    """
    check_dims(dims)
    weights = np.full(dims, 1 / dims) if shares is None else np.asarray(shares, dtype=np.float64)
    if (
        weights.shape != (dims,)
        or not np.isfinite(weights).all()
        or (weights < 0).any()
        or weights.sum() <= 0
    ):
        raise InputError(f"shares must be {dims} numbers of at least 0 that are not all 0")
    weights = weights / weights.sum()
    distinct = {
        weight: featurerr(epsilon * weight if weight else epsilon / dims, bins, raw=not debiased)
        for weight in set(weights.tolist())
    }
    if 0.0 in distinct:
        distinct[0.0] = distinct[0.0].blind()
    channels = tuple(distinct[weight] for weight in weights.tolist())
    return FeatureMechanism(
        "featurerr",
        Claim(epsilon),
        PublicRange.of(range),
        int(dims),
        int(dims),
        channels if len(distinct) > 1 else channels[:1],
        1.0,
        unbiased=debiased and 0.0 not in distinct,
        binned=not debiased,
    )


@register("item", summary="one item of a sparse binary row, by k-ary response")
def build_item(epsilon: float, dims: int, length: int, range: Any = (0, 1)) -> ItemMechanism:
    """One item of a sparse binary row of at most ``length`` ones."""
    check_dims(dims)
    if PublicRange.of(range) != PublicRange(0.0, 1.0):
        raise InputError(f"range must be (0, 1) for item, whose rows are binary, got {range!r}")
    if isinstance(length, bool) or not isinstance(length, (int, np.integer)) or not 1 <= length <= dims:
        raise InputError(f"length must be an integer from 1 to {dims}, the number of items, got {length!r}")
    response = amplified(check_epsilon(epsilon), int(length))
    if response > MAX_EPSILON:
        most = math.log1p(math.expm1(MAX_EPSILON) / length)
        raise InputError(
            f"epsilon must be at most {most:.4g} for item with a length of {length}, got {epsilon:g}"
        )
    channel = kary(response, dims + length)
    assert isinstance(channel, KaryChannel)
    entry_value, offset = indicator_decoding(channel)
    return verified(
        ItemMechanism(
            "item", Claim(epsilon), int(dims), int(length), channel, length * entry_value, length * offset
        )
    )


@register("privunit", summary="a whole row of a public ball as one noisy direction, all values at once")
def build_privunit(
    epsilon: float, dims: int, range: Any = None, radius: float | None = None
) -> PrivUnitMechanism:
    """PrivUnitG for rows in the public ball of that radius around 0, or else in the ball around the range.

    A range alone gives the ball around its centre that holds all rows within it; a radius says more, and goes before.
    """
    check_dims(dims)
    public = None if range is None else PublicRange.of(range)
    if radius is not None:
        return privunit(epsilon, int(dims), PublicBall(radius))
    if public is None:
        raise InputError(
            "privunit needs radius or range: the public radius of a ball around 0 that rows lie in, or the public range "
            "(LOW, HIGH) of their values"
        )
    return privunit(epsilon, int(dims), PublicBall.around(public, int(dims)))


# What can answer a value inside a personal mechanism, and whether it takes a number of input points.
INSIDE: dict[str, tuple[Callable[..., FiniteChannel], bool]] = {
    "onebit": (onebit, False),
    "duchi": (duchi, False),
    "three-output": (three_output, False),
    "laplace": (laplace, True),
    "piecewise": (piecewise, True),
    "square-wave": (square_wave, True),
    "hybrid": (hybrid, True),
    "pm-sub": (pm_sub, True),
    "condensed": (condensed, True),
}
# Input points inside a personal mechanism: the same for all budgets.
INSIDE_POINTS = 65


def takes_levels(name: str) -> bool:
    """Whether users of this feature mechanism choose a privacy level."""
    found = entry(name)
    return found.subject == "features" and "budgets" in inspect.signature(found.build).parameters


def level_budgets(epsilon: float, levels: Any, budgets: Any) -> tuple[float, ...]:
    """ε_1 < … < ε_f: as given, or ε·2^(level-1) for so many levels (4 unless told otherwise)."""
    if budgets is None:
        count = 4 if levels is None else levels
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 2 <= count <= 64:
            raise InputError(f"levels must be an integer from 2 to 64, got {levels!r}")
        return tuple(epsilon * 2.0**level for level in range(count))
    try:
        given = tuple(float(budget) for budget in budgets)
    except (TypeError, ValueError):
        raise InputError(f"budgets must be a list of numbers, one a level, got {budgets!r}") from None
    rising = all(one < other for one, other in pairwise(given))
    if len(given) < 2 or not rising or not all(0 < budget < math.inf for budget in given):
        raise InputError(f"budgets must be at least two positive finite numbers that rise, got {budgets!r}")
    if given[0] != epsilon:
        raise InputError(
            f"budgets must start with epsilon, the strictest level's budget: got {given[0]:g} and epsilon {epsilon:g}"
        )
    if levels is not None and levels != len(given):
        raise InputError(f"levels must be the number of budgets, {len(given)}, or left out, got {levels!r}")
    return given


def inside(inner: Any, binary: bool, points: int | None) -> Callable[[float], FiniteChannel]:
    """The family that answers one value inside a personal mechanism, with the same input points for all budgets."""
    if inner not in INSIDE:
        raise InputError(f"inner must be one of {', '.join(INSIDE)}, got {inner!r}")
    family, grid = INSIDE[inner]
    if not grid:
        if points is not None:
            raise InputError(f"{inner} has no setting 'points': leave it out")
        return family
    return lambda epsilon: family(epsilon, points=2 if binary else points or INSIDE_POINTS)


def _check_personal(dims: Any, gamma: Any, sampled: Any) -> None:
    check_dims(dims, sampled)
    number = isinstance(gamma, (int, float, np.integer, np.floating)) and not isinstance(gamma, bool)
    if not number or not 0 < gamma < 1:
        raise InputError(f"gamma must be a number strictly between 0 and 1, got {gamma!r}")


def _named_more_often(
    dims: int, ways: tuple[tuple[Way, ...], ...], pool: Any, from_pool: float | None
) -> Asking | None:
    """What a personal mechanism asks where a plan names a pool."""
    asking = Asking.of(dims, max(way.count for each in ways for way in each), pool, from_pool)
    return None if asking.even else asking


@register(
    "ppm", summary="a private privacy level and some sampled values at its budget (PPGNN's PPM, sealed)"
)
def build_ppm(
    epsilon: float,
    dims: int,
    range: Any,
    levels: int | None = None,
    budgets: Any = None,
    gamma: float = 0.1,
    inner: str = "onebit",
    sampled: int | None = None,
    binary: bool = False,
    points: int | None = None,
    shares: Any = None,
    pool: Any = None,
    from_pool: float | None = None,
) -> PersonalMechanism:
    """PPM where nothing of a report depends on the level but probabilities.

    ε is the strictest level's budget. The level is answered at γε by everybody, values with what each level has left, by
    signs of the family ``inner``. ``sampled`` sets m' for all levels. ``shares`` are public shares of the levels, where
    these are known.
    """
    _check_personal(dims, gamma, sampled)
    all_budgets = level_budgets(epsilon, levels, budgets)
    count, family = len(all_budgets), inside(inner, binary, points)
    level_budget = gamma * epsilon
    level_channel = esw(level_budget, count)
    assert isinstance(level_channel, Channel)
    named = np.clip(level_channel.outputs, 1, count).astype(int)
    asked = [sampled or sampled_count(all_budgets[level - 1], int(dims), PERSONAL_RATE) for level in named]
    # Rounded down, so that the level's and the values' budgets never add up to more than the whole.
    left = [math.nextafter(budget - level_budget, 0.0) for budget in all_budgets]
    ways = tuple(
        tuple(Way(size, family(min(MAX_EPSILON, budget / size))) for size in asked) for budget in left
    )
    public, claim = PublicRange.of(range), Claim(all_budgets[-1])
    kept = binary and ways[0][0].channel.input_count == 2
    return verified(
        PersonalMechanism(
            "ppm",
            claim,
            public,
            int(dims),
            all_budgets,
            level_channel,
            ways,
            binary=kept,
            shares=shares,
            favoured=_named_more_often(int(dims), ways, pool, from_pool),
        )
    )


@register(
    "ppm-printed",
    summary="PPGNN's PPM as printed, to compare with: it does not protect the level",
    sound=False,
)
def build_ppm_printed(
    epsilon: float,
    dims: int,
    range: Any,
    levels: int | None = None,
    budgets: Any = None,
    gamma: float = 0.1,
    inner: str = "onebit",
    sampled: int | None = None,
    binary: bool = False,
    points: int | None = None,
    pool: Any = None,
    from_pool: float | None = None,
) -> PersonalMechanism:
    """PPM as printed: level, number of values and magnitudes all at the user's own budget, so a report reveals the level.

    The level is answered by ESW at γε_τ, m = max(1, min(d, ⌊(1-γ)ε_τ/2.2⌋)) values by the family ``inner`` at
    (1-γ)ε_τ/m, sent as magnitudes. Values are protected at each level's budget; the level is not.
    """
    _check_personal(dims, gamma, sampled)
    all_budgets = level_budgets(epsilon, levels, budgets)
    count, family = len(all_budgets), inside(inner, binary, points)
    waves = [esw(gamma * budget, count) for budget in all_budgets]
    widest = waves[0].outputs
    table: Counts = np.zeros((count, len(widest)), dtype=np.int64)
    ways, first = [], 0
    for level, (wave, budget) in enumerate(zip(waves, all_budgets, strict=True)):
        start = int(wave.outputs[0] - widest[0])
        table[level, start : start + wave.output_count] = wave.row(level)
        left = math.nextafter(budget - gamma * budget, 0.0)
        size = sampled or sampled_count(left, int(dims), PERSONAL_RATE)
        channel = family(left / size)
        ways.append((Way(size, channel, first),) * len(widest))
        first += channel.output_count
    own = Channel(
        "esw at each own budget", table, np.arange(1.0, count + 1), widest, Claim(gamma * all_budgets[-1])
    )
    favoured = _named_more_often(int(dims), tuple(ways), pool, from_pool)
    return PersonalMechanism(
        "ppm-printed",
        Claim(all_budgets[-1]),
        PublicRange.of(range),
        int(dims),
        all_budgets,
        own,
        tuple(ways),
        unbiased=favoured is None or favoured.everything,
        binary=binary and ways[0][0].channel.input_count == 2,
        favoured=favoured,
    )


@register("krr", subject="label", summary="a label by k-ary randomized response")
def build_krr(epsilon: float, classes: int) -> LabelMechanism:
    """A label by k-ary randomized response."""
    channel = kary(epsilon, classes)
    assert isinstance(channel, KaryChannel)
    entry_value, offset = indicator_decoding(channel)
    return LabelMechanism("krr", Claim(epsilon), channel, "label", entry=entry_value, offset=offset)


@register("esw", subject="level", summary="a privacy level by the extended square wave (PPGNN)")
def build_esw(epsilon: float, levels: int) -> LevelMechanism:
    """A level 1..f by the extended square wave."""
    return LevelMechanism("esw", Claim(epsilon), esw(epsilon, levels), "level", first=1, unbiased=False)


@register(
    "link-rr", subject="links", summary="a list of neighbours by randomized response, each pair answered once"
)
def build_link_rr(epsilon: float, dims: int) -> LinkMechanism:
    """A list of neighbours among ``dims`` users, every pair answered by the user with the larger number."""
    check_dims(dims)
    channel = kary(epsilon, 2)
    assert isinstance(channel, KaryChannel)
    return LinkMechanism("link-rr", Claim(epsilon), int(dims), channel)
