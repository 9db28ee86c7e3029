"""graphveil advise: what a choice costs, before anybody is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from graphveil.checks import check_number
from graphveil.cli.advise_poisoning import poisoning_command
from graphveil.cli.bars import one_bar
from graphveil.cli.console import Console, say, show_table
from graphveil.cli.groups import grouped
from graphveil.cli.interrupts import saying
from graphveil.cli.listing import first_sentences
from graphveil.cli.options import (
    AsJson,
    DataName,
    RangePair,
    SettingPairs,
)
from graphveil.cli.pages import check_page
from graphveil.cli.parse import parse_numbers, parse_settings, range_option
from graphveil.errors import InputError
from graphveil.experiments.runs.export import write_whole
from graphveil.experiments.runs.format import percent, rounded
from graphveil.experiments.runs.unit import make_ready
from graphveil.experiments.specs.spec import Spec
from graphveil.experiments.table import Table
from graphveil.experiments.tuning.advice import advise_levels
from graphveil.experiments.tuning.budget_advice import advise_budget
from graphveil.experiments.tuning.budget_page import budget_page, head, rows, sentences, verdict
from graphveil.graphs.levels import expected_shares
from graphveil.mechanisms import PersonalMechanism
from graphveil.methods.terms import Budgets, Levels, Volunteers

advise_app = typer.Typer()


@advise_app.callback(invoke_without_command=True)
def _advise(context: typer.Context, as_json: AsJson = False) -> None:
    """What a choice costs, before anybody is asked. Without a word: list what there is advice on.

    Example: graphveil advise budget --data town --epsilon 1,2,4
    """
    if context.invoked_subcommand is not None:
        return
    advice = first_sentences(context)
    if as_json:
        say(json.dumps({"advice": advice}, ensure_ascii=False))
        return
    show_table(Table(("advise", "what it says"), tuple(advice.items())))


@advise_app.command("levels")
@grouped
def levels_command(
    *,
    data: DataName,
    epsilon: Annotated[float, typer.Option(help="The strictest level's budget.")],
    levels: Levels,
    mechanism: Annotated[str, typer.Option(help="ppm or ppm-printed.")] = "ppm",
    public_range: RangePair = None,
    as_json: AsJson = False,
) -> None:
    """Show what each privacy level costs on a graph: the error of an estimate, with and without the strictest users.

    Nobody is asked and no feature is read: everything follows from the graph and from public numbers.

    Example: graphveil advise levels --data town --epsilon 0.5 --levels 4
    """
    spec = Spec(
        "ppgnn",
        data,
        budgets=Budgets(epsilon=epsilon, mechanism=mechanism),
        levels=levels,
        data_options=range_option(public_range),
    )
    spec.check()
    if not spec.has_levels:
        raise InputError(f"{mechanism} has no levels: take ppm or ppm-printed")
    # Levels that real users chose are theirs: an operator compares distributions, and learns shares from reports.
    shares = expected_shares(len(spec.level_budgets()), levels.level_distribution or "uniform")
    with saying():
        ready = make_ready(spec, "method", 0, None, None)
        (built,) = ready.mechanisms
        assert isinstance(built, PersonalMechanism)
        advice = advise_levels(ready.graph, built, shares)
    level_epsilon = built.level_loss.epsilon
    if as_json:
        told = {
            "data": data,
            "epsilon": epsilon,
            "mechanism": mechanism,
            "levels": [each.to_dict() for each in advice],
        }
        told["level_epsilon"] = level_epsilon if np.isfinite(level_epsilon) else None
        say(json.dumps(told))
        return
    columns = (
        "level",
        "ε",
        "users",
        "values answered",
        "error of one report",
        "without it and stricter ones",
    )
    rows_of_levels = tuple(
        (
            str(each.level),
            f"{each.budget:g}",
            percent(each.share, ".0f"),
            rounded(each.answered),
            rounded(each.own),
            rounded(each.without),
        )
        for each in advice
    )
    show_table(Table(columns, rows_of_levels, frozenset(columns)))
    console = Console(soft_wrap=True, highlight=False)
    console.print(
        f"Errors are root mean squares of a feature's estimate, in widths of its range. The mean over a neighbourhood, where all "
        f"are asked, has {rounded(advice[0].mean)}; the last column says what it has where a level and all stricter ones are not asked."
    )
    hidden = (
        f"hidden up to ε = {rounded(level_epsilon, 4)}"
        if np.isfinite(level_epsilon)
        else "not protected at all"
    )
    console.print(f"The level that a user chose is {hidden}.")


@advise_app.command("budget")
@grouped
def budget_command(
    *,
    data: DataName,
    epsilon: Annotated[str, typer.Option(help="Budgets to look at, with commas between them.")] = "1,2,4,8",
    volunteers: Volunteers,
    setting: SettingPairs = None,
    public_range: RangePair = None,
    seed: Annotated[int, typer.Option(help="The seed of the split, and of who volunteers.")] = 0,
    as_json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option(help="Also write a page, .html, with a map over users and ε.")
    ] = None,
) -> None:
    """Say what veil would buy over structure at each budget, what +2 points would need, and when not to collect.

    Nobody is asked: everything follows from public numbers (users, features, classes, labels, how sure graph and labels are of the
    rest) and, with --panel, from volunteers' rows. Gains come from a curve that was fitted to measured runs on other graphs.

    Example: graphveil advise budget --data town --epsilon 1,2,4

    Example: graphveil advise budget --data citeseer --panel 300 --out advice.html
    """
    budgets = parse_numbers("epsilon", epsilon) or ()
    for each in budgets:
        check_number(each, "epsilon", above=0)
    if out is not None:
        check_page(out, "--out")
    spec = Spec(
        "veil",
        data,
        seed=seed,
        budgets=Budgets(epsilon=max(budgets)),
        volunteers=volunteers,
        settings=parse_settings(setting or []),
        data_options=range_option(public_range),
    )
    with one_bar() as inside:
        advice = advise_budget(spec, budgets, inside)
    if out is not None:
        write_whole(out, budget_page(advice).encode())
    if as_json:
        say(json.dumps(advice.to_dict(), ensure_ascii=False))
        return
    show_table(Table(tuple(head()), tuple(map(tuple, rows(advice))), frozenset(head())))
    console = Console(soft_wrap=True, highlight=False)
    for sentence in (verdict(advice), *sentences(advice)):
        console.print(sentence, markup=False)


advise_app.command("poisoning")(poisoning_command)
