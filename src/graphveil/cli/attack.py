"""graphveil attack: what somebody who sees reports finds out, beside chance, control and what ε allows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from graphveil.attacks.game import MechanismAttack
from graphveil.attacks.membership import SEEN, Seen
from graphveil.attacks.registry import ATTACKS
from graphveil.cli.attributes import outer_settings
from graphveil.cli.cells import print_table
from graphveil.cli.groups import grouped
from graphveil.cli.options import AsJson, DataName, RangePair, SettingPairs
from graphveil.cli.parse import parse_settings, range_option
from graphveil.errors import ClaimError, InputError
from graphveil.experiments.campaigns.campaign import Campaign, Point, check_campaign, run_campaign
from graphveil.experiments.campaigns.figure import write_campaign_figure
from graphveil.experiments.campaigns.grounds import Ground, MechanismGround, MethodGround
from graphveil.experiments.runs.format import NONE, low_to_high, points, rounded
from graphveil.experiments.runs.statistics import Summary
from graphveil.experiments.show.figure import check_figure
from graphveil.experiments.specs.spec import DATA_PREFIX, MECHANISM_PREFIX, Spec
from graphveil.methods.terms import option

attack_app = typer.Typer()
MECHANISM_HELP = "A mechanism from `graphveil mechanisms`, or FILE.py:NAME."


@dataclass(frozen=True)
class Terms:
    """How often and at which budgets an attack is played, and what becomes of it."""

    epsilon: float | None = option(None, "The budget that is attacked.")
    epsilons: tuple[float, ...] | None = option(
        None, "Several budgets, with commas between them; with --out a figure over them."
    )
    runs: int = option(5, "How many runs; run i uses seed S + i for everything.")
    seed: int = option(0, "The seed S of the first run.")
    out: Annotated[
        Path | None,
        typer.Option(help="Draw attack, control, chance and bound into this file, .png or .svg."),
    ] = None

    @property
    def budgets(self) -> list[float | None]:
        """All budgets in their order."""
        if self.epsilons is None:
            return [self.epsilon]
        if self.epsilon is not None:
            raise InputError("--epsilon and --epsilons both name budgets: give one of them")
        return list(self.epsilons)


OuterSettings = Annotated[
    list[str] | None,
    typer.Option("--set", help="data.KEY=VALUE or mechanism.KEY=VALUE, for the loader or the mechanism."),
]


@attack_app.callback(invoke_without_command=True)
def _attacks(
    context: typer.Context,
    as_json: AsJson = False,
) -> None:
    """What somebody who sees reports, a published graph or a model finds out. Without a name: list the attacks.

    Example: graphveil attack level --data town --mechanism ppm-printed --epsilon 0.5
    """
    if context.invoked_subcommand is not None:
        return
    if as_json:
        listed = [
            {"name": each.name, "summary": each.summary, "game": each.game, "unit": each.unit}
            for each in ATTACKS.values()
        ]
        typer.echo(json.dumps({"attacks": listed}, ensure_ascii=False))
        return
    table = Table(box=None, padding=(0, 2), header_style="bold")
    for heading in ("attack", "on", "what is guessed"):
        table.add_column(heading)
    for each in ATTACKS.values():
        on = "/".join(each.subjects) if isinstance(each, MechanismAttack) else "a method"
        table.add_row(each.name, on, each.summary)
    print_table(table)


@attack_app.command("attribute")
@grouped
def attribute_command(
    *,
    data: DataName,
    mechanism: Annotated[str, typer.Option(help=MECHANISM_HELP)] = "multibit",
    terms: Terms,
    setting: OuterSettings = None,
    public_range: RangePair = None,
    as_json: AsJson = False,
) -> None:
    """Guess one value of a user from the own report, and from those of neighbours.

    Example: graphveil attack attribute --data town --mechanism piecewise --epsilon 2
    """
    play(_mechanism_ground("attribute", data, mechanism, setting, public_range), terms, as_json)


@attack_app.command("level")
@grouped
def level_command(
    *,
    data: DataName,
    mechanism: Annotated[str, typer.Option(help="ppm, ppm-printed, esw, or FILE.py:NAME.")] = "ppm",
    terms: Terms,
    setting: OuterSettings = None,
    public_range: RangePair = None,
    as_json: AsJson = False,
) -> None:
    """Guess which privacy level a user chose; --epsilon is the strictest level's budget.

    Example: graphveil attack level --data town --mechanism ppm-printed --epsilon 0.5
    """
    play(_mechanism_ground("level", data, mechanism, setting, public_range), terms, as_json)


@attack_app.command("link")
@grouped
def link_command(
    *,
    data: DataName,
    mechanism: Annotated[
        str, typer.Option(help="link-rr, blink, dprr, lapgraph, privhrg, edgerr, or FILE.py:NAME.")
    ] = "link-rr",
    terms: Terms,
    setting: OuterSettings = None,
    as_json: AsJson = False,
) -> None:
    """Guess whether two users are linked, from reported lists or from a graph that a curator publishes.

    Example: graphveil attack link --data town --mechanism blink --epsilons 0.5,2,8 --out link.svg
    """
    play(_mechanism_ground("link", data, mechanism, setting, None), terms, as_json)


@attack_app.command("label")
@grouped
def label_command(
    *,
    data: DataName,
    mechanism: Annotated[str, typer.Option(help="krr, or FILE.py:NAME.")] = "krr",
    terms: Terms,
    setting: OuterSettings = None,
    as_json: AsJson = False,
) -> None:
    """Guess the class of a user from the own report, and from those of neighbours.

    Example: graphveil attack label --data town --epsilon 1
    """
    play(_mechanism_ground("label", data, mechanism, setting, None), terms, as_json)


@attack_app.command("membership")
@grouped
def membership_command(
    *,
    data: DataName,
    method: Annotated[
        str, typer.Option(help="A name from `graphveil methods`, or FILE.py:NAME for one of your own.")
    ] = "base",
    feature_epsilon: Annotated[
        float | None, typer.Option(help="The budget for features, where the method reports them.")
    ] = None,
    mechanism: Annotated[
        str, typer.Option(help="What features are reported by; the method's own by default.")
    ] = "",
    backbone: Annotated[str, typer.Option(help="The network inside; the method's own by default.")] = "",
    seen: Annotated[str, typer.Option(help="What is seen of the model: scores or embedding.")] = "scores",
    terms: Terms,
    setting: SettingPairs = None,
    public_range: RangePair = None,
    as_json: AsJson = False,
) -> None:
    """Guess whether a user's own label was learned from; --epsilon is the budget of a label, without it labels are public.

    Example: graphveil attack membership --data town --method base --feature-epsilon 4 --epsilon 1
    """
    spec = Spec.of(
        method,
        data,
        epsilon=feature_epsilon,
        mechanism=mechanism,
        backbone=backbone,
        settings=parse_settings(setting or []),
        data_options=range_option(public_range),
    )
    known: Seen = "embedding" if seen == "embedding" else "scores"
    if seen not in SEEN:
        raise InputError(f"--seen takes {' or '.join(SEEN)}, got {seen!r}")
    if spec.found_method.reports_features and feature_epsilon is None:
        raise InputError(
            f"{method} reports features and needs a budget for them: give --feature-epsilon, for example 4"
        )
    play(MethodGround(spec, known), terms, as_json)


def _mechanism_ground(
    attack: str, data: str, mechanism: str, pairs: list[str] | None, public_range: str | None
) -> MechanismGround:
    settings = outer_settings(pairs or [])

    def below(prefix: str) -> dict[str, Any]:
        return {key[len(prefix) :]: value for key, value in settings.items() if key.startswith(prefix)}

    loader = {**range_option(public_range), **below(DATA_PREFIX)}
    return MechanismGround.of(attack, data, mechanism, options=below(MECHANISM_PREFIX), data_options=loader)


def play(ground: Ground, terms: Terms, as_json: bool) -> None:
    """Play, tell, draw; a bound that is broken ends the command with status 1."""
    budgets = terms.budgets
    check_campaign(ground, budgets, runs=terms.runs, seed=terms.seed)
    file = None if terms.out is None else check_figure(terms.out)
    campaign = watched(ground, budgets, terms)
    if file is not None:
        write_campaign_figure(campaign, file)
    if as_json:
        drawn = None if file is None else str(file)
        typer.echo(json.dumps({**campaign.to_dict(), "figure": drawn}, ensure_ascii=False))
    else:
        show(campaign)
        if file is not None:
            typer.echo(f"The figure is in {file}.")
    if not campaign.holds:
        broken = next(point for point in campaign.points if not point.holds)
        raise ClaimError(f"{campaign.attack.name} inference on {campaign.against}: {broken.verdict}")


def watched(ground: Ground, budgets: Sequence[float | None], terms: Terms) -> Campaign:
    """Play with a progress bar on stderr."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        current = bars.add_task("starting", total=100)
        return run_campaign(
            ground,
            budgets,
            runs=terms.runs,
            seed=terms.seed,
            watch=lambda what, share: bars.update(current, description=what, completed=int(100 * share)),
        )


def show(campaign: Campaign) -> None:
    """A table for each budget, and the verdict in words."""
    for point in campaign.points:
        title = f"{campaign.attack.name} inference on {campaign.against}, {campaign.data}"
        table = Table(box=None, padding=(0, 2), header_style="bold")
        table.add_column(title if point.epsilon is None else f"{title}, ε = {point.epsilon:g}")
        for heading in ("right (%)", "95% interval", "control", "chance", "bound"):
            table.add_column(heading, justify="right")
        bound = points(point.stakes.bound)
        table.add_row(
            "planted secrets", *_cells(point.found, point.control), points(point.stakes.chance), bound
        )
        for each in point.natural:
            name = f"real ones: {each.name}"
            table.add_row(name, *_cells(each.found, each.control), points(point.stakes.chance), NONE)
        print_table(table)
        typer.echo(point.verdict)
    typer.echo(f"planted: {campaign.attack.game}.")
    typer.echo(f"the bound is about {campaign.attack.unit}{_told_epsilon(campaign.points)}.")
    if any(point.natural for point in campaign.points):
        typer.echo(
            "(real ones are balanced accuracies, which no ε bounds: a graph and others' reports tell something too)"
        )


def _cells(found: Summary, control: Summary | None) -> tuple[str, str, str]:
    return points(found.mean), low_to_high(found), NONE if control is None else points(control.mean)


def _told_epsilon(of: Sequence[Point]) -> str:
    """The ε of the bound, where it is not the budget that was given."""
    told = [
        f"ε = {rounded(point.stakes.epsilon, 4)}"
        for point in of
        if point.stakes.epsilon not in (point.epsilon, float("inf"))
    ]
    return f" ({', '.join(told)})" if told else ""
