"""heterorr: a budget divided over attributes, by how much they matter and how sensitive they are."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graphveil import denoise, learn, linear
from graphveil.channels.exact import MAX_EPSILON, MIN_EPSILON
from graphveil.channels.graded import MAX_BINS
from graphveil.checks import check_whole
from graphveil.errors import InputError
from graphveil.files import read_text
from graphveil.mechanisms import Reports
from graphveil.mechanisms.edgerr import TREE_SHARE
from graphveil.mechanisms.features import budget_shares
from graphveil.methods.job import Job, Questions, feature_plan, questions_of, with_options
from graphveil.methods.method import AUTO, TRAINING_GRID, Capabilities, Grid, Method, train_backbone
from graphveil.methods.private_links import LinkUse
from graphveil.methods.scoring import LINK_SCORING, ScoringSettings, attribute_scores, null_scores
from graphveil.methods.tasks import Outcome

if TYPE_CHECKING:
    from graphveil.learn.topology import Topology


def read_attribute_numbers(file: str | Path, count: int, what: str) -> NDArray[np.float64]:
    """Read numbers from a file, one a line: finite and at least 0.

    A CSV file of one column is such a file. The file is public, and so is what an error shows of it. Empty
    lines at the end do not count.

    Parameters
    ----------
    count
        The number of numbers that the file must have.
    what
        What the numbers are, for errors.
    """
    expected = f"{what} is a file of {count} numbers of at least 0, one a line in the order of the attributes"
    numbers = []
    for place, line in enumerate(read_text(Path(file), expected).rstrip().splitlines(), start=1):
        try:
            numbers.append(float(line))
        except ValueError:
            numbers.append(math.nan)
        if not 0 <= numbers[-1] < math.inf:
            raise InputError(f"{file}, line {place} is {line.strip()[:40]!r}: {expected}")
    if len(numbers) != count:
        raise InputError(f"{file} has {len(numbers)} lines: {expected}")
    return np.array(numbers)


Numbers = NDArray[np.float64]
# How many different shares there are at most: each has a table of its own, which clients build and verify.
LEVELS = 32


def attribute_shares(importance: Numbers, sensitivity: Numbers, gamma: float) -> Numbers:
    """Return θ of all attributes: a part γ of the budget by importance, the rest by sensitivity.

    The d numbers add up to 1. α is divided by its sum, and β so that the β_min + β_max - β_i add up to 1:
    whatever the units of both, γ is then the part of the budget that follows importance. Where all numbers of
    one of them are 0, it says nothing and counts as flat.

    Parameters
    ----------
    importance, sensitivity
        α and β: (d,) float64 each.
    gamma
        γ, in 0..1.

    >>> attribute_shares(np.array([3.0, 1.0]), np.array([1.0, 1.0]), 0.5).tolist()
    [0.625, 0.375]
    """
    alpha = importance if importance.any() else np.ones(len(importance))
    beta = sensitivity if sensitivity.any() else np.ones(len(sensitivity))
    # Divided by the largest first: sums of large numbers could overflow.
    alpha, beta = alpha / alpha.max(), beta / beta.max()
    reversed_sum = float((beta.min() + beta.max() - beta).sum())
    return budget_shares((alpha / alpha.sum()).tolist(), (beta / reversed_sum).tolist(), gamma)


def largest_shares(shares: Numbers, count: int) -> Numbers:
    """The shares of so many attributes with the largest ones, and of all that have as much as the last of them; 0 for others.

    They add up to 1 again. Attributes that nothing tells apart stand or fall together: to choose among them by their numbers
    would be to ask at random.

    >>> largest_shares(np.array([0.5, 0.2, 0.2, 0.1]), 2).round(2).tolist()
    [0.56, 0.22, 0.22, 0.0]
    """
    least = np.sort(shares)[-min(count, len(shares))]
    kept = np.where(shares >= least, shares, 0.0)
    divided: Numbers = kept / kept.sum()
    return divided


def served_shares(shares: Numbers, epsilon: float) -> Numbers:
    """Shares of a budget that each attribute can be answered with, as near to the given ones as they can be.

    A response is built for a value's budget between `MIN_EPSILON` and `MAX_EPSILON`. What is below counts as nothing. Where one
    is above, all shares are drawn towards even ones until none is; even shares must be within these bounds themselves.

    >>> served_shares(np.array([0.9, 0.1]), 25.0).round(2).tolist()
    [0.8, 0.2]
    """
    large = np.where(shares * epsilon >= MIN_EPSILON, shares, 0.0)
    told: Numbers = large / large.sum()
    even, highest = 1 / len(told), float(told.max())
    # A little less, so that no rounding on the way leads above.
    most = MAX_EPSILON / epsilon * (1 - 1e-9)
    if highest <= most:
        return told
    kept = max(0.0, (most - even) / (highest - even)) if highest > even else 0.0
    drawn: Numbers = kept * told + (1 - kept) * even
    return drawn


def rounded_shares(shares: Numbers, levels: int = LEVELS) -> Numbers:
    """Round shares to at most so many different values besides 0: neighbours in size get their mean.

    Sizes are cut into even steps of their logarithm. Means add up to what they are means of, so that no budget is lost.

    >>> rounded_shares(np.array([0.5, 0.0, 0.26, 0.24]), 2).tolist()
    [0.5, 0.0, 0.25, 0.25]
    """
    rounded = np.zeros(len(shares))
    places = np.flatnonzero(shares)
    logs = np.log(shares[places])
    width = float(logs.max() - logs.min())
    steps = np.zeros(len(places), dtype=np.int64)
    if width > 0:
        steps = np.minimum(((logs - logs.min()) / width * levels).astype(np.int64), levels - 1)
    for step in np.unique(steps):
        group = places[steps == step]
        rounded[group] = shares[group].mean()
    return rounded


MECHANISM = "featurerr"
# What the round before asks with: for some of the values, since all of them at once would have next to no budget each.
ROUND_MECHANISM = "piecewise"
FLAT, ROUND = "flat", "round"
Which = Literal["importance", "sensitivity"]
# What these settings may be besides the name of a file.
WORDS: dict[Which, tuple[str, ...]] = {"importance": (FLAT, ROUND), "sensitivity": (FLAT,)}
# bins=auto: as many as there are different values where these are binary, else what the document's error figure has.
BINARY_BINS, USUAL_BINS = 2, 10


class HeterorrSettings(ScoringSettings):
    """Training, the scale of the input, how attributes are scored, and how the budget is divided over them."""

    gamma: float = Field(
        0.5,
        ge=0,
        le=1,
        description="γ, the part of the budget that follows importance; the rest follows sensitivity",
    )
    importance: str = Field(
        ROUND,
        min_length=1,
        description="how much attributes matter: flat, round (a private round before finds out), or a public file of d numbers",
    )
    importance_share: float = Field(
        0.5, gt=0, lt=1, description="share of the budget for the round that finds out what matters"
    )
    sensitivity: str = Field(
        FLAT,
        min_length=1,
        description="how sensitive attributes are: flat, or a public file of d numbers, the operator's",
    )
    keep: Annotated[int, Field(ge=1)] | Literal["all", "auto"] = Field(
        "auto",
        description="how many attributes share the budget, those with the most: T, all as printed, or auto (one a class)",
    )
    bins: Annotated[int, Field(ge=2, le=MAX_BINS)] | Literal["auto"] = Field(
        "auto", description="k, bins of the range, or auto: 2 where values are binary, else 10"
    )
    decoding: Literal["printed", "debiased"] = Field(
        "debiased",
        description="bins decode to their upper edges as printed, which is biased, or the response is divided out",
    )
    learn_from: Literal["both", "second"] = Field(
        "both",
        description="where debiased: learn from the reports of both rounds, or of the second alone as printed",
    )
    hops: int = Field(
        4, ge=0, description="K, hops of KProp on the reports that are learned from; 0: none, as printed"
    )
    private_edges: Annotated[float, Field(strict=True)] | str = Field(
        1.0,
        description="where links are private: ρ, about the share that is, or a file of pairs; the others are public",
    )
    tree_share: float = Field(
        TREE_SHARE,
        ge=0,
        lt=1,
        description="where links are private: the share of their budget for the dendrogram",
    )

    def file_of(self, which: Which) -> Path | None:
        """The file that a setting names; None where it is one of the words that it may be."""
        source: str = getattr(self, which)
        if source in WORDS[which]:
            return None
        if not Path(source).is_file():
            words = ", ".join(WORDS[which])
            raise InputError(f"{which} must be {words} or a file of one number an attribute, got {source!r}")
        return Path(source)

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(file for file in map(self.file_of, WORDS) if file is not None)


class Heterorr(Method):
    """Heterogeneous randomized response (HeteroRR): FEATURERR for features, EDGERR for private links, into a GNN.

    Attribute i is answered at θ_i·ε, θ_i = γα_i + (1-γ)(β_min+β_max-β_i), normalised. Importance α and sensitivity β are public:
    a file, or for α a private round before (the analysis of togl, by piecewise, with its part of the budget). α must never be
    computed from raw private features; β is the operator's, since a user's own would make budgets personal, and tell. Each is
    divided by its sum (β after it was turned round), so that γ is the part of the budget that follows importance. Shares are
    rounded to at most 32 different ones, by means of those next to each other.

    With d attributes each has about ε/d, which says next to nothing, so ``keep`` lets the T attributes with the largest shares
    have all of it; the others have the share 0, are answered blind, and are no columns of the input. ``auto`` is one a class; those
    that nothing tells apart are kept or left out together. Debiased columns count by their precision, and reports of the round
    before, which are paid for, are added to them. As printed: --set keep=all --set decoding=printed --set hops=0, with importance in a
    file.

    Where links have a budget, a share ``private_edges`` of them is private and the others are public, and a trusted curator publishes the
    private ones anew (EDGERR, see `graphveil.mechanisms.edgerr`).

    FEATURERR is the only mechanism that divides a budget so; others are refused. Everybody answers all d values, n x d in all.

    Defaults were chosen on validation users of cora (ε of 1, 4 and 10) and of a town (ε = 4), seeds from 100 on, out of about
    thirty settings: that reports of both rounds are learned from matters most, then ``keep``.
    """

    name = "heterorr"
    summary = "a budget divided over attributes by importance and sensitivity (FEATURERR), some links private (EDGERR)"
    mechanism = MECHANISM
    links = LinkUse("edgerr", settings=("private_edges", "tree_share"))
    settings = HeterorrSettings
    # FEATURERR answers every value, even where most answers are blind.
    can = Capabilities(
        norms=True,
        several_labels=True,
        dense=True,
        why_not={
            "new_users": "reads those attributes that reports single out, which may be others when more people report"
        },
    )
    task_settings = LINK_SCORING
    # The document prints no grid: these are ours.
    grid: ClassVar[Grid] = TRAINING_GRID | {
        "analysis": ("fda", "sma"),
        "gamma": (0.0, 0.25, 0.5, 0.75, 1.0),
        "keep": ("auto", "all"),
        "importance_share": (0.3, 0.5, 0.7),
        "hops": (0, 3, 4, 8),
    }

    def questions(self, job: Job) -> Questions:
        """Ask a round that finds what matters, where there is one, and FEATURERR with the rest; its shares cost nothing."""
        settings, budget = job.settings, job.epsilon
        if job.budgets.mechanism != MECHANISM:
            raise InputError(f"heterorr works with {MECHANISM} alone: leave --mechanism out, or take base")
        if job.mechanism_options:
            given = ", ".join(f"mechanism.{key}" for key in job.mechanism_options)
            raise InputError(f"heterorr sets {MECHANISM} itself, by bins and decoding: leave out {given}")
        usual = BINARY_BINS if job.graph.binary else USUAL_BINS
        bins = usual if settings.bins == AUTO else settings.bins
        options = {"bins": bins, "debiased": settings.decoding == "debiased"}
        if settings.importance != ROUND:
            return questions_of(job, feature_plan(job, options=options))
        first = settings.importance_share * budget
        before = replace(job, budgets=replace(job.budgets, mechanism=ROUND_MECHANISM))
        last = feature_plan(job, budget - first, round=2, options=options)
        return questions_of(job, feature_plan(before, first), last)

    def check(self, job: Job) -> None:
        """Refuse a matrix that is too large, more attributes than there are, and files that do not fit."""
        graph, keep = job.graph, job.settings.keep
        shape = (graph.node_count, graph.feature_count)
        what = f"{MECHANISM} asks for every value, so what users report"
        learn.refuse_above(job.max_memory, shape, what, "take a method that asks for some of them, like togl")
        if isinstance(keep, int):
            check_whole(keep, "keep", least=1, most=graph.feature_count, why="the number of attributes")
        _public_numbers(job, "importance")
        _public_numbers(job, "sensitivity")

    def learn(self, job: Job) -> Outcome:
        settings: HeterorrSettings = job.settings
        topology = learn.Topology(job.graph, job.device)
        *before, last = job.questions.features
        first = [job.ask(plan, doing="first round") for plan in before]
        with job.stage("denoise"):
            shares = divided_budget(job, topology, first, last.claim.epsilon)
        reports = job.ask(with_options(last, shares=shares.tolist()))
        with job.stage("denoise"):
            inputs = _input(job, first, reports, np.flatnonzero(shares))
            hops = denoise.KProp(settings.hops).operator(topology.unlooped)
        return train_backbone(job, linear.Composition(hops, inputs) if settings.hops else inputs, topology)


def divided_budget(job: Job, topology: Topology, first: list[Reports], epsilon: float) -> Numbers:
    """Return the share of ε that every attribute gets, from what is public and from the round before, if there was one.

    By the reports of a round attributes matter as far as their scores are above those of ones that say nothing.

    Parameters
    ----------
    first
        The reports of the round before, or nothing.
    epsilon
        The budget ε that is divided.
    """
    settings: HeterorrSettings = job.settings
    if first:
        job.say("scoring attributes", 0.0)
        scores = attribute_scores(job, topology, first[0].estimate())
        importance = learn.signal(scores, null_scores(job, topology, first[0]))
    else:
        importance = _public_numbers(job, "importance")
    shares = attribute_shares(importance, _public_numbers(job, "sensitivity"), settings.gamma)
    if settings.keep != "all":
        shares = largest_shares(shares, job.graph.class_count if settings.keep == AUTO else settings.keep)
    return rounded_shares(served_shares(shares, epsilon))


def _public_numbers(job: Job, which: Which) -> Numbers:
    """Importance or sensitivity of all attributes, from a file or flat."""
    file, attributes = job.settings.file_of(which), job.graph.feature_count
    return np.ones(attributes) if file is None else read_attribute_numbers(file, attributes, which)


def _input(job: Job, first: list[Reports], reports: Reports, kept: NDArray[np.int64]) -> linear.Input:
    """Return the input of training: answers about attributes that had a share.

    Those of the round before are added where they can be.
    """
    settings, device = job.settings, job.device
    debiased = settings.decoding == "debiased"
    if first and debiased and settings.learn_from == "both":
        return learn.joined_input(first[0], reports, kept, settings.share, device)
    return learn.divided_input(
        reports, kept, settings.share, by_precision=debiased, device=device, max_memory=job.max_memory
    )
