"""The mechanisms that come with the package, in the order in which they are listed. Importing this registers them."""

from __future__ import annotations

from graphveil.channels import (
    analytic_gaussian,
    condensed,
    duchi,
    gaussian,
    hybrid,
    laplace,
    latent,
    ome,
    onebit,
    piecewise,
    pm_sub,
    square_wave,
    three_output,
)
from graphveil.mechanisms.degree_links import build_blink, build_dprr
from graphveil.mechanisms.edgerr import build_edgerr, build_privhrg
from graphveil.mechanisms.features import build_featurerr
from graphveil.mechanisms.labels import build_esw, build_item, build_krr
from graphveil.mechanisms.lapgraph import build_lapgraph
from graphveil.mechanisms.links import build_link_rr
from graphveil.mechanisms.personal_builders import build_ppm, build_ppm_printed
from graphveil.mechanisms.privunit import build_privunit
from graphveil.mechanisms.registry import feature_family, register

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
