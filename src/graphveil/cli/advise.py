"""graphveil advise: what a choice costs, before anybody is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from graphveil.checks import check_number
from graphveil.cli.console import Console, check_page, first_sentences, one_bar, say, saying, show_table
from graphveil.cli.options import (
    AsJson,
    DataName,
    RangePair,
    SettingPairs,
    grouped,
    parse_numbers,
    parse_settings,
    range_option,
)
from graphveil.errors import InputError
from graphveil.experiments.budget_advice import advise_budget, budget_page, head, rows, sentences, verdict
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.level_advice import advise_levels
from graphveil.experiments.poisoning import Influence, PoisoningAdvice, advise_poisoning
from graphveil.experiments.table import Table
from graphveil.experiments.unit import make_ready
from graphveil.files import write_whole
from graphveil.graphs.levels import expected_shares
from graphveil.mechanisms import PersonalMechanism
from graphveil.methods.terms import Budgets, Levels, Volunteers
from graphveil.number_format import percent, rounded

# Malicious users who say nothing, who push a class, and who push it from where they weigh most.
KINDS = ("careless", "colluding", "and placed")


def poisoning_command(
    method: Annotated[str, typer.Argument(help="A name from `graphveil methods`, or FILE.py:NAME.")] = "base",
    *,
    data: DataName,
    epsilon: Annotated[float, typer.Option(help="The budget for features.")],
    share: Annotated[
        str, typer.Option(help="Shares of malicious users, with commas between them.")
    ] = "0.01,0.05,0.1",
    mechanism: Annotated[
        str, typer.Option(help="A name from `graphveil mechanisms`; the method's own by default.")
    ] = "",
    target: Annotated[
        int | None, typer.Option(help="The class that they want others taken for; the rarest by default.")
    ] = None,
    runs: Annotated[int, typer.Option(help="How many runs.")] = 1,
    seed: Annotated[int, typer.Option(help="The seed of the first run.")] = 0,
    setting: SettingPairs = None,
    public_range: RangePair = None,
    as_json: AsJson = False,
) -> None:
    """Show how far a share of malicious users can move an estimate (exact) and a prediction (measured).

    What one report adds to an estimate is bounded by its alphabet: a server refuses everything else. Malicious users collude: all send what speaks
    most for a target class. The table says how well the method does with them, and how many honest test users are taken for that class;
    beside it, if as many people sent reports that say nothing, and if the liars were those who weigh most among their neighbours.

    Example: graphveil advise poisoning --data town --epsilon 2

    Example: graphveil advise poisoning veil --data town --epsilon 2 --share 0.05,0.2
    """
    spec = Experiment(
        method,
        data,
        runs=runs,
        seed=seed,
        settings=parse_settings(setting or []),
        data_options=range_option(public_range),
        budgets=Budgets(epsilon=epsilon, mechanism=mechanism),
    ).resolved()
    shares = parse_numbers("share", share) or ()
    with one_bar() as tell:
        advice = advise_poisoning(spec, shares, target, tell)
    if as_json:
        say(json.dumps(advice.to_dict(), ensure_ascii=False))
    else:
        _show(advice)


def _show(advice: PoisoningAdvice) -> None:
    kinds = " / ".join(KINDS)
    head = (
        "malicious",
        *(f"mean moved ({each.mechanism})" for each in advice.influences),
        f"{advice.metric} of {advice.method}: {kinds}",
        f"others taken for class {advice.target}: {kinds}",
    )
    rows = []
    for line in advice.lines:
        moved = (f"≤ {rounded(each.moved(line.share))}" for each in advice.influences)
        harms = (line.careless, line, line.placed)
        told = (
            " / ".join(percent(each.score) for each in harms),
            " / ".join(percent(each.drawn_in) for each in harms),
        )
        rows.append((percent(line.share), *moved, *told))
    show_table(Table(head, tuple(rows), frozenset(head)))
    console = Console(soft_wrap=True, highlight=False)
    for sentence in poisoning_sentences(advice):
        console.print(sentence, markup=False)


def poisoning_sentences(advice: PoisoningAdvice) -> list[str]:
    """What the numbers are and what they rest on."""
    told = [_influence_sentence(each) for each in advice.influences]
    how = (
        "send the worst codes that a server takes"
        if advice.forged
        else "send the worst codes where they can be chosen, and else answer for a false row"
    )
    told.append(
        f"Predictions are measured, in {advice.runs} run{'s' if advice.runs > 1 else ''}. Colluding liars know what rows of each class look like, all push "
        f"class {advice.target}, and {how}: drawn at random, and placed where their reports weigh most in the means of their neighbours. Careless ones send "
        "reports that say nothing. Others who know more, the trained model for one, may do worse."
    )
    return told


def _influence_sentence(influence: Influence) -> str:
    honest = (
        "an honest one adds 0 to 1 on average"
        if influence.unbiased
        else "its estimates are biased, so any change of a report counts"
    )
    return (
        f"One report by {influence.mechanism} at ε = {influence.epsilon:g} adds at most {rounded(influence.most)} widths of a value's range to the "
        f"sum of its estimates, about {influence.values:,} of {influence.dims:,} values; {honest}. So a share s of liars moves a mean by at most "
        f"{rounded(influence.most)}·s widths on average: exact, from the alphabet and what is refused."
    )


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
    spec = Experiment(
        "ppgnn",
        data,
        budgets=Budgets(epsilon=epsilon, mechanism=mechanism),
        levels=levels,
        data_options=range_option(public_range),
    ).resolved()
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
    spec = Experiment(
        "veil",
        data,
        seed=seed,
        budgets=Budgets(epsilon=max(budgets)),
        volunteers=volunteers,
        settings=parse_settings(setting or []),
        data_options=range_option(public_range),
    ).resolved()
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
