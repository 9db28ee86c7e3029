"""graphveil mechanisms: what a report can be made with."""

from __future__ import annotations

from pathlib import Path

from graphveil.checks import check_number
from graphveil.cli.console import print_result, say, warn
from graphveil.cli.options import AsJson, with_options
from graphveil.errors import InputError
from graphveil.experiments.mechanism_figure import EPSILON, mechanism_drawing
from graphveil.experiments.table import Table
from graphveil.files import FIGURES, check_output
from graphveil.mechanisms.registry import all_names, load_entry
from graphveil.methods.terms import option


@with_options
def mechanisms(
    *,
    name: str | None = option(
        None, "One mechanism, by its name or as FILE.py:NAME; without it, all.", positional=True
    ),
    plot: Path | None = option(
        None, "Draw what one answer can be, for a few inputs: a file that ends in .svg or .png."
    ),
    epsilon: float | None = option(None, "The budget to draw it at, 1 if none is given."),
    as_json: AsJson = False,
) -> None:
    """List the mechanisms: their names, what they report, whom one has to trust, and how.

    Trust is local where users add the noise themselves; a curator sees everything in the clear and adds it for them.

    Example: graphveil mechanisms

    Example: graphveil mechanisms piecewise --plot piecewise.svg --epsilon 2
    """
    if plot is not None:
        draw(name, plot, EPSILON if epsilon is None else epsilon)
        return
    if epsilon is not None:
        raise InputError("--epsilon is the budget to draw a mechanism at: give --plot FILE.svg too")
    entries = [load_entry(each) for each in (all_names(warn) if name is None else [name])]
    names = ("name", "subject", "trust", "summary")
    listed = [{name: getattr(entry, name) for name in names} for entry in entries]
    table = Table(("mechanism", "reports", "trust", "how"), (tuple(each.values()) for each in listed))
    print_result({"mechanisms": listed}, as_json, table, wrapped=True)


def draw(name: str | None, file: Path, epsilon: float) -> None:
    """Draw one mechanism."""
    if name is None:
        raise InputError(
            "--plot draws one mechanism: name it, as in `graphveil mechanisms krr --plot krr.svg`"
        )
    check_number(epsilon, "--epsilon", above=0)
    check_output(file, FIGURES, "--plot")
    mechanism_drawing(name, epsilon).write(file)
    say(f"The figure is in {file}.")
