"""graphveil plot: a figure of one run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphveil.cli.console import one_bar, say
from graphveil.cli.one_run import OneRun
from graphveil.cli.options import with_options
from graphveil.errors import InputError
from graphveil.experiments.artefacts import check_predictions
from graphveil.experiments.run_figures import RUN_FIGURES
from graphveil.experiments.unit import RunUnit, learn_unit
from graphveil.files import FIGURES, check_output


@with_options
def plot(
    *,
    kind: Annotated[str, typer.Option(help=f"What to draw: {', '.join(RUN_FIGURES)}.")] = "confusion",
    out: Annotated[Path, typer.Option(help="The file to write: .svg, which follows dark mode, or .png.")],
    experiment: OneRun,
) -> None:
    """Draw one run: which classes are taken for which, scores of each class, users with truth and prediction, a map, training.

    The method runs as in the first run of `graphveil run`. confusion and classes count test users; graph shows up to 240 users who know each
    other, and who is taken for another; map brings what was learned of each user to two dimensions by t-SNE; training shows losses over epochs.

    Example: graphveil plot base --data town --epsilon 4 --kind graph --out town.svg
    """
    if kind not in RUN_FIGURES:
        raise InputError(f"kind must be one of {', '.join(RUN_FIGURES)}, got {kind!r}")
    check_output(out, FIGURES, "--out")
    check_predictions(experiment)
    with one_bar() as inside:
        learned = learn_unit(RunUnit(experiment), inside)
        inside(f"drawing {kind}", 1.0)
        RUN_FIGURES[kind](*learned).write(out)
    say(f"The figure is in {out}.")
