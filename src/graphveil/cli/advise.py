"""graphveil advise: what a choice costs, before anybody is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphveil.checks import check_number
from graphveil.cli.console import first_sentences, print_result
from graphveil.cli.options import AsJson, Options, parse_numbers, with_options
from graphveil.cli.studies import show_analysis
from graphveil.experiments.advice import advise_budget, advise_levels
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.poisoning import advise_poisoning
from graphveil.experiments.table import Table
from graphveil.files import PAGES, check_output
from graphveil.methods.terms import option


@with_options
def poisoning_command(
    *,
    experiment: Annotated[
        Experiment,
        Options(
            only=("method", "data", "runs", "seed", "settings", "data_options", "epsilon", "mechanism"),
            default={"method": "base", "epsilon": ...},
            help={"runs": "How many runs.", "seed": "The seed of the first run."},
        ),
    ],
    share: str = option("0.01,0.05,0.1", "Shares of malicious users, with commas between them."),
    target: int | None = option(None, "The class that they want others taken for; the rarest by default."),
    as_json: AsJson = False,
) -> None:
    """Show how far a share of malicious users can move an estimate (exact) and a prediction (measured).

    What one report adds to an estimate is bounded by its alphabet: a server refuses everything else. Malicious users collude: all send what speaks
    most for a target class. The table says how well the method does with them, and how many honest test users are taken for that class;
    beside it, if as many people sent reports that say nothing, and if the liars were those who weigh most among their neighbours.

    Example: graphveil advise poisoning --data town --epsilon 2

    Example: graphveil advise poisoning veil --data town --epsilon 2 --share 0.05,0.2
    """
    shares = parse_numbers("share", share) or ()
    show_analysis(lambda progress: advise_poisoning(experiment, shares, target, progress), as_json)


advise_app = typer.Typer()


@advise_app.callback(invoke_without_command=True)
def _advise(context: typer.Context, as_json: AsJson = False) -> None:
    """What a choice costs, before anybody is asked. Without a word: list what there is advice on.

    Example: graphveil advise budget --data town --epsilon 1,2,4
    """
    if context.invoked_subcommand is not None:
        return
    advice = first_sentences(context)
    print_result({"advice": advice}, as_json, Table(("advise", "what it says"), advice.items()))


@advise_app.command("levels")
@with_options
def levels_command(
    *,
    experiment: Annotated[
        Experiment,
        Options(
            only=("data", "data_options", "epsilon", "mechanism", "levels"),
            fixed={"method": "ppgnn"},
            default={"epsilon": ..., "mechanism": "ppm"},
            help={"epsilon": "The strictest level's budget.", "mechanism": "ppm or ppm-printed."},
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Show what each privacy level costs on a graph: the error of an estimate, with and without the strictest users.

    Nobody is asked and no feature is read: everything follows from the graph and from public numbers.

    Example: graphveil advise levels --data town --epsilon 0.5 --levels 4
    """
    show_analysis(lambda _: advise_levels(experiment), as_json)


@advise_app.command("budget")
@with_options
def budget_command(
    *,
    experiment: Annotated[
        Experiment,
        Options(
            only=("data", "seed", "settings", "data_options", "volunteers"),
            fixed={"method": "veil"},
            help={"seed": "The seed of the split, and of who volunteers."},
        ),
    ],
    epsilon: str = option("1,2,4,8", "Budgets to look at, with commas between them."),
    as_json: AsJson = False,
    out: Path | None = option(None, "Also write a page, .html, with a chart over users and ε."),
) -> None:
    """Say what veil would buy over structure at each budget, what +2 points would need, and when not to collect.

    Nobody is asked: everything follows from public numbers (users, features, classes, labels, how sure graph and labels are of the
    rest) and, with --panel, from volunteers' rows. Gains come from a curve that was fitted to measured runs on other graphs.

    Example: graphveil advise budget --data town --epsilon 1,2,4

    Example: graphveil advise budget --data citeseer --panel 300 --out advice.html
    """
    budgets = parse_numbers("epsilon", epsilon) or ()
    for each in budgets:
        check_number(each, "--epsilon", above=0)
    if out is not None:
        check_output(out, PAGES, "--out")
    spec = experiment.having(epsilon=max(budgets))
    show_analysis(lambda progress: advise_budget(spec, budgets, progress), as_json, out)


advise_app.command("poisoning")(poisoning_command)
