"""The mechanisms that come with the package, in the order in which they are listed. Importing this registers them."""

from __future__ import annotations

import math
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
from graphveil.channels.exact import MAX_EPSILON, Claim, check_epsilon
from graphveil.channels.graded import MAX_BINS
from graphveil.checks import check_shares, check_whole
from graphveil.errors import InputError
from graphveil.mechanisms.base import verified
from graphveil.mechanisms.edgerr_builders import build_edgerr, build_privhrg
from graphveil.mechanisms.features import FeatureMechanism
from graphveil.mechanisms.item import ItemMechanism, amplified
from graphveil.mechanisms.labels import LabelMechanism, LevelMechanism, indicator_decoding
from graphveil.mechanisms.lapgraph import build_lapgraph
from graphveil.mechanisms.limits import check_tables
from graphveil.mechanisms.link_builders import build_blink, build_dprr, build_link_rr
from graphveil.mechanisms.personal_builders import build_ppm, build_ppm_printed
from graphveil.mechanisms.privunit import PrivUnitMechanism, Sketch, privunit
from graphveil.mechanisms.registry import check_dims, feature_family, register
from graphveil.mechanisms.rows import PublicBall, PublicRange


def build_featurerr(
    epsilon: float, dims: int, range: Any, shares: Any = None, bins: int = 10, debiased: bool = False
) -> FeatureMechanism:
    """FEATURERR: value i answered at θ_i·ε by a graded response over k bins.

    ``shares`` θ (public, see `budget_shares`) default to 1/d each; a share of 0 gets a blind answer. As printed the bins
    decode to their upper edges and the estimate is biased; ``debiased`` divides the response out.
    """
    check_dims(dims)
    weights = np.full(dims, 1 / dims) if shares is None else check_shares(shares, "shares", int(dims))
    size, different = check_whole(bins, "bins", least=2, most=MAX_BINS), set(weights.tolist())
    check_tables(
        "featurerr", len(different), size, size, "round the shares to fewer values, or take fewer bins"
    )
    distinct = {
        weight: featurerr(epsilon * weight if weight else epsilon / dims, size, raw=not debiased)
        for weight in different
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


def build_item(epsilon: float, dims: int, length: int, range: Any = (0, 1)) -> ItemMechanism:
    """One item of a sparse binary row of at most ``length`` ones."""
    check_dims(dims)
    if PublicRange.of(range) != PublicRange(0.0, 1.0):
        raise InputError(f"--range must be (0, 1) for item, whose rows are binary, got {range!r}")
    check_whole(length, "length", least=1, most=int(dims), why="the number of items")
    response = amplified(check_epsilon(epsilon), int(length))
    if response > MAX_EPSILON:
        most = math.log1p(math.expm1(MAX_EPSILON) / length)
        raise InputError(
            f"--epsilon must be at most {most:.4g} for item with a length of {length}, got {epsilon:g}"
        )
    channel = kary(response, dims + length)
    assert isinstance(channel, KaryChannel)
    entry_value, offset = indicator_decoding(channel)
    return verified(
        ItemMechanism(
            "item", Claim(epsilon), int(dims), int(length), channel, length * entry_value, length * offset
        )
    )


def build_privunit(
    epsilon: float,
    dims: int,
    range: Any = None,
    radius: float | None = None,
    inputs: int | None = None,
    hash_seed: int | None = None,
    centre: float | None = None,
) -> PrivUnitMechanism:
    """PrivUnitG for rows in the public ball of that radius around 0, or else in the ball around the range.

    A range alone gives the ball around its centre that holds all rows within it; a radius says more, and goes before. With
    ``inputs``, rows have so many values, of which a sketch of ``dims`` numbers is reported: see `Sketch`.
    """
    check_dims(dims)
    public = None if range is None else PublicRange.of(range)
    if inputs is not None:
        return _sketched(epsilon, int(dims), public, radius, (inputs, hash_seed, centre))
    if hash_seed is not None or centre is not None:
        raise InputError("hash_seed and centre say how rows are sketched: give inputs too, or leave them out")
    if radius is not None:
        return privunit(
            epsilon, int(dims), PublicBall(float(radius) if isinstance(radius, np.floating) else radius)
        )
    if public is None:
        raise InputError(
            "privunit needs radius or range: the public radius of a ball around 0 that rows lie in, or the public range "
            "(LOW, HIGH) of their values"
        )
    return privunit(epsilon, int(dims), PublicBall.around(public, int(dims)))


def _sketched(
    epsilon: float, dims: int, public: PublicRange | None, radius: Any, told: tuple[Any, Any, Any]
) -> PrivUnitMechanism:
    """PrivUnitG for sketches, which lie on the unit sphere."""
    if public is None or radius is not None:
        raise InputError(
            "a sketch needs the public range of the values, and its radius is 1: leave radius out"
        )
    inputs, seed, centre = told
    around = 0.0 if public.low <= 0 <= public.high else public.low
    sketch = Sketch(inputs, dims, 0 if seed is None else seed, public, around if centre is None else centre)
    return privunit(epsilon, dims, PublicBall(1.0), sketch)


def build_krr(epsilon: float, classes: int) -> LabelMechanism:
    """A label by k-ary randomized response."""
    channel = kary(epsilon, classes)
    assert isinstance(channel, KaryChannel)
    entry_value, offset = indicator_decoding(channel)
    return LabelMechanism("krr", Claim(epsilon), channel, "label", entry=entry_value, offset=offset)


def build_esw(epsilon: float, levels: int) -> LevelMechanism:
    """A level 1..f by the extended square wave."""
    return LevelMechanism("esw", Claim(epsilon), esw(epsilon, levels), "level", first=1, unbiased=False)


# How many dimensions are asked for at a budget ε: max(1, min(d, ⌊ε·rate⌋)).
MULTIBIT_RATE = 1 / 2.18  # LPGNN
SAMPLED_RATE = 2 / 5  # Wang et al. 2019 for PM and HM; TOGL for PM and SW

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
# Mechanisms of another shape.
register(
    "featurerr", summary="graded response on every value, budgets by importance and sensitivity (HeteroRR)"
)(build_featurerr)
register("item", summary="one item of a sparse binary row, by k-ary response")(build_item)
register("privunit", summary="a whole row of a public ball as one noisy direction, all values at once")(
    build_privunit
)
register(
    "ppm", summary="a private privacy level and some sampled values at its budget (PPGNN's PPM, sealed)"
)(build_ppm)
register(
    "ppm-printed",
    summary="PPGNN's PPM as printed, to compare with: it does not protect the level",
    sound=False,
)(build_ppm_printed)
# Mechanisms for labels, levels and links.
register("krr", subject="label", summary="a label by k-ary randomized response")(build_krr)
register("esw", subject="level", summary="a privacy level by the extended square wave (PPGNN)")(build_esw)
register(
    "link-rr", subject="links", summary="a list of neighbours by randomized response, each pair answered once"
)(build_link_rr)
register(
    "blink", subject="links", summary="a list of neighbours by randomized response and a noisy degree (BLINK)"
)(build_blink)
register(
    "dprr",
    subject="links",
    summary="as many neighbours as a noisy number says, sampled after randomized response (DPRR)",
)(build_dprr)
# Mechanisms for whoever is trusted with all links.
register(
    "lapgraph",
    subject="links",
    summary="a noisy graph that a trusted curator publishes: its size, and that many of its likeliest pairs",
    trust="curator",
)(build_lapgraph)
register(
    "privhrg",
    subject="links",
    summary="a graph that a trusted curator draws anew from a private dendrogram of its users (privHRG)",
    trust="curator",
)(build_privhrg)
register(
    "edgerr",
    subject="links",
    summary="as privhrg, where some links are public and stay, and help to find the dendrogram (HeteroRR's EDGERR)",
    trust="curator",
)(build_edgerr)
