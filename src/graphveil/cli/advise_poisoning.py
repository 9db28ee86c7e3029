"""graphveil advise poisoning: how far malicious users can move what is estimated and what is predicted."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from graphveil.cli.bars import one_bar
from graphveil.cli.console import Console, say, show_table
from graphveil.cli.options import AsJson, DataName, RangePair, SettingPairs
from graphveil.cli.parse import parse_numbers, parse_settings, range_option
from graphveil.experiments.runs.format import percent, rounded
from graphveil.experiments.specs.spec import Spec
from graphveil.experiments.table import Table
from graphveil.experiments.tuning.poisoning import Influence, PoisoningAdvice, advise_poisoning
from graphveil.methods.terms import Budgets

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
    spec = Spec(
        method,
        data,
        runs=runs,
        seed=seed,
        settings=parse_settings(setting or []),
        data_options=range_option(public_range),
        budgets=Budgets(epsilon=epsilon, mechanism=mechanism),
    )
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
    for sentence in sentences(advice):
        console.print(sentence, markup=False)


def sentences(advice: PoisoningAdvice) -> list[str]:
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
