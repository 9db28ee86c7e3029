"""A ranking of attributes as a page: whether it says anything, the figure, and a table; the terminal prints the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphveil.experiments.attributes.comparison import Comparison
from graphveil.experiments.attributes.figure import attribute_drawing
from graphveil.experiments.runs.format import NONE, budget, counted, percent, rounded
from graphveil.experiments.runs.privacy_record import Privacy
from graphveil.experiments.show.page import Section, page
from graphveil.experiments.table import Table
from graphveil.version import __version__

# So many attributes are in the table, where not more are asked for.
PRINTED = 10
LOOKED_AT = "what is without privacy, and correlation with degree, look at the simulated users' own values, which no server has"


def attribute_page(comparison: Comparison) -> str:
    """The whole page."""
    fields, spec = comparison.to_dict(), comparison.spec
    head = ranking_head(fields)
    table = Table(head, tuple(ranking_rows(comparison)), frozenset(head) - {"attribute"})
    results = Section("The best attributes", svg=attribute_drawing(comparison).svg(), table=table)
    trusted = Section("How far it can be trusted", tuple(map(_sentence, (*trust_lines(fields), LOOKED_AT))))
    cost = Section("What it cost", (Privacy.model_validate(fields["privacy"]).sentence,))
    title = f"Attributes of {Path(spec.data).stem} at {budget(spec.budgets.epsilon)}"
    footer = f"graphveil {__version__}, seed {spec.seed}, {counted(spec.runs, 'run')}."
    return page(title, _sentence(fields["verdict"]), (results, trusted, cost), footer)


def ranking_head(fields: dict[str, Any]) -> tuple[str, ...]:
    """The columns of the table."""
    top = fields["top"]
    return (
        "rank",
        "attribute",
        "score",
        "over one that says nothing",
        f"in the top {top}",
        "correlation with degree",
    )


def ranking_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """The best attributes, and the one that blind reports put first."""
    fields = comparison.to_dict()
    # What is listed starts with the first attributes of the ranking, without gaps.
    best = fields["attributes"][: max(PRINTED, fields["top"])]
    rows = [
        (str(place), comparison.name(each["attribute"]), *_numbers(each, fields["runs"]))
        for place, each in enumerate(best, 1)
    ]
    return [*rows, ("", "control's best", *_numbers(fields["control_best"], fields["runs"]))]


def trust_lines(fields: dict[str, Any]) -> list[str]:
    """Stability, agreement and fairness in words."""
    top, stability, agreement = fields["top"], fields["stability"], fields["agreement"]
    fairness = fields["fairness"]
    stable = "one run has no stability to measure"
    if stability["jaccard"] is not None:
        beside = f"control {stability['control']:.2f}, chance {rounded(stability['chance'], 2)}"
        beside += f", without privacy {stability['without_privacy']:.2f}"
        stable = f"Jaccard {stability['jaccard']:.2f} of the top {top} over pairs of runs, {beside}"
    share, control, chance = (percent(agreement[key], ".3g") for key in ("share", "control", "chance"))
    return [
        f"stability: {stable}",
        f"agreement with the ranking without privacy: {share} of the top {top}, control {control}, chance {chance}",
        f"fairness: mean |correlation| with degree {fairness['top']:.3f} in the top {top}, {fairness['all']:.3f} in all",
    ]


def _numbers(about: dict[str, Any], runs: int) -> tuple[str, str, str, str]:
    return (
        rounded(about["score"]),
        NONE if about["relative"] is None else f"{about['relative']:.2f}",
        f"{about['times_in_top']} of {runs}",
        f"{about['degree_correlation']:+.3f}",
    )


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."
