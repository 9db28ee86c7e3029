"""graphveil attributes: which attributes matter for a task, as private reports tell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from graphveil.cli.options import AsJson, Options, parse_settings, with_options
from graphveil.cli.studies import show_analysis
from graphveil.errors import InputError
from graphveil.experiments.attribute_study import check_ranking, compare_rankings
from graphveil.experiments.experiment import DATA_PREFIX, MECHANISM_PREFIX, Experiment
from graphveil.files import FIGURES, PAGES, check_output
from graphveil.methods.terms import option

METHOD = "togl"


@with_options
def attributes(
    *,
    experiment: Annotated[
        Experiment,
        Options(
            only=(
                "data",
                "task",
                "runs",
                "seed",
                "data_options",
                "epsilon",
                "mechanism",
                "label_epsilon",
                "machine",
            ),
            fixed={"method": METHOD},
            default={"epsilon": ..., "runs": 5},
            help={
                "epsilon": "The budget of the round that ranks: all of it. `graphveil run togl` gives round 1 half of its budget.",
                "mechanism": "A mechanism that asks for some of the values; piecewise by default.",
            },
        ),
    ],
    analysis: str | None = option(None, "fda, sma, mutual-information, chi-square or pca; fda by default."),
    hops: int | None = option(
        None, "K, hops of averaging before the analysis; by default 3, and 1 for the task link."
    ),
    top: int = option(5, "How many attributes count as the best."),
    setting: list[str] | None = option(
        None, "data.KEY=VALUE or mechanism.KEY=VALUE, for the loader or the mechanism.", "--set"
    ),
    out: Path | None = option(
        None, "Draw the best attributes: .svg or .png, or .html for a page with the numbers."
    ),
    as_json: AsJson = False,
) -> None:
    """Rank attributes by what they say for the task, from the reports of togl's first round, beside its control.

    Only that round is asked. The ranking is compared over runs, with blind reports, with the ranking that raw features would
    give, and with the degree. The last two look at the simulated users' own values, which no server has; the ranking does not.

    Example: graphveil attributes --data town --epsilon 4 --top 8 --out town.png
    """
    given = {"analysis": analysis, "analysis_hops": hops}
    chosen = {key: value for key, value in given.items() if value is not None}
    spec = experiment.having(settings={**chosen, **outer_settings(setting or [])})
    check_ranking(spec, top)
    if spec.task == "link" and analysis not in (None, "fda"):
        raise InputError("attributes are scored by fda where links are predicted: leave --analysis out")
    file = None if out is None else check_output(out, (*FIGURES, *PAGES), "--out")
    show_analysis(
        lambda progress: compare_rankings(spec, top=top, progress=progress), as_json, file, drawn=True
    )


def outer_settings(pairs: list[str]) -> dict[str, Any]:
    """Options of the loader and of the mechanism.

    >>> outer_settings(["data.users=400"])
    {'data.users': 400}
    """
    settings = parse_settings(pairs)
    for key in settings:
        if not key.startswith((DATA_PREFIX, MECHANISM_PREFIX)):
            raise InputError(
                f"--set takes data.KEY and mechanism.KEY here, such as data.users=400, got {key!r}"
            )
    return settings
