"""graphveil attack: what somebody who sees reports finds out, beside chance, control and what ε allows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from graphveil.attacks.attribute import PRIORS, AttributeAttack
from graphveil.attacks.campaign import AttackTarget, MechanismTarget, check_campaign, run_campaign
from graphveil.attacks.game import Attack, MechanismAttack
from graphveil.attacks.registry import ATTACKS, MODEL_ATTACKS
from graphveil.cli.attributes import outer_settings
from graphveil.cli.console import print_result
from graphveil.cli.options import AsJson, DataName, RangePair, parse_settings, range_option, with_options
from graphveil.cli.studies import show_analysis
from graphveil.errors import ClaimError, InputError, option_name
from graphveil.experiments.attack_study import CampaignReport, MethodTarget
from graphveil.experiments.experiment import DATA_PREFIX, MECHANISM_PREFIX, Experiment
from graphveil.experiments.table import Table
from graphveil.files import FIGURES, PAGES, check_output
from graphveil.methods.job import Progress
from graphveil.methods.terms import option

attack_app = typer.Typer()
# What is attacked where a method is needed and none is named.
METHOD = "base"


@dataclass(frozen=True)
class ReportOptions:
    """Options of reports: who reports what by which mechanism."""

    data: DataName
    mechanism: str = option(
        "", "A mechanism from `graphveil mechanisms`, or FILE.py:NAME; the attack's own by default."
    )
    setting: list[str] | None = option(
        None,
        "data.KEY=VALUE or mechanism.KEY=VALUE, for the loader or the mechanism; with --method also its settings.",
        "--set",
    )
    public_range: RangePair = None

    def target(self, attack: str | MechanismAttack) -> MechanismTarget:
        """Return the reports as what is attacked."""
        settings = outer_settings(self.setting or [])

        def below(prefix: str) -> dict[str, Any]:
            return {key[len(prefix) :]: value for key, value in settings.items() if key.startswith(prefix)}

        loader = {**range_option(self.public_range), **below(DATA_PREFIX)}
        return MechanismTarget.of(
            attack, self.data, self.mechanism, options=below(MECHANISM_PREFIX), data_options=loader
        )


@dataclass(frozen=True)
class ModelOptions:
    """Options of a model: what a method learns of reports, as far as it is seen."""

    method: str = option(
        "", "Attack what this method learns: a name from `graphveil methods`, or FILE.py:NAME."
    )
    feature_epsilon: float | None = option(None, "The budget for features, where the method reports them.")
    backbone: str = option("", "The network inside; the method's own by default.")
    seen: str = option("scores", "What is seen of the model: scores or embedding.")

    def target(self, attack: str, reporters: ReportOptions) -> MethodTarget:
        """Return the model as what is attacked."""
        spec = Experiment.of(
            self.method or METHOD,
            reporters.data,
            epsilon=self.feature_epsilon,
            mechanism=reporters.mechanism,
            backbone=self.backbone,
            settings=parse_settings(reporters.setting or []),
            data_options=range_option(reporters.public_range),
        )
        if spec.resolved_method.can.asks and self.feature_epsilon is None:
            raise InputError(
                f"{spec.method} reports features and needs a budget: give --feature-epsilon, such as 4"
            )
        return MethodTarget.of(attack, spec, self.seen)


@dataclass(frozen=True)
class CampaignOptions:
    """Options of a campaign: how often and at which budgets an attack is played, and what becomes of it."""

    epsilon: float | None = option(None, "The budget that is attacked.")
    epsilons: tuple[float, ...] | None = option(
        None, "Several budgets, with commas between them; with --out a figure or a page over them."
    )
    runs: int = option(5, "How many runs; run i uses seed S + i for everything.")
    seed: int = option(0, "The seed S of the first run.")
    out: Path | None = option(
        None, "Draw attack, control, chance and bound: .svg or .png, or .html for a page with the numbers."
    )
    as_json: AsJson = False

    @property
    def budgets(self) -> list[float | None]:
        """All budgets in their order."""
        if self.epsilons is None:
            return [self.epsilon]
        if self.epsilon is not None:
            raise InputError("--epsilon and --epsilons both name budgets: give one of them")
        return list(self.epsilons)


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
    listed: list[tuple[str, Attack[Any]]] = [
        *(("/".join(each.subjects), each) for each in ATTACKS.values()),
        *(("a method", each) for each in MODEL_ATTACKS.values()),
    ]
    attacks = [
        {"name": each.name, "on": on, "summary": each.summary, "game": each.game, "unit": each.unit}
        for on, each in listed
    ]
    rows = ((each["name"], each["on"], each["summary"]) for each in attacks)
    print_result({"attacks": attacks}, as_json, Table(("attack", "on", "what is guessed"), rows))


@attack_app.command("attribute")
@with_options
def attribute_command(
    *,
    reporters: ReportOptions,
    prior: str = option(
        "fair", "How likely the planted values are: fair, or fitted to reports of real ones."
    ),
    terms: CampaignOptions,
) -> None:
    """Guess one value of a user from the own report, and from those of neighbours.

    Example: graphveil attack attribute --data town --mechanism piecewise --epsilon 2
    """
    known = [each for each in PRIORS if each == prior]
    if not known:
        raise InputError(f"--prior takes {' or '.join(PRIORS)}, got {prior!r}")
    play(reporters.target(AttributeAttack(known[0])), terms)


@attack_app.command("level")
@with_options
def level_command(*, reporters: ReportOptions, terms: CampaignOptions) -> None:
    """Guess which privacy level a user chose; --epsilon is the strictest level's budget. Mechanisms: ppm, ppm-printed, esw.

    Example: graphveil attack level --data town --mechanism ppm-printed --epsilon 0.5
    """
    play(reporters.target("level"), terms)


@attack_app.command("link")
@with_options
def link_command(*, reporters: ReportOptions, terms: CampaignOptions) -> None:
    """Guess whether two users are linked, from reported lists (link-rr, blink, dprr) or from a curator's graph (lapgraph, privhrg, edgerr).

    Example: graphveil attack link --data town --mechanism blink --epsilons 0.5,2,8 --out link.svg
    """
    play(reporters.target("link"), terms)


@attack_app.command("label")
@with_options
def label_command(*, reporters: ReportOptions, model: ModelOptions, terms: CampaignOptions) -> None:
    """Guess the class of a user from the own report and those of neighbours, or with --method from what it learned; --epsilon is a label's.

    Example: graphveil attack label --data town --epsilon 1
    """
    if model.method:
        play(model.target("label", reporters), terms)
        return
    for name, default in {"feature_epsilon": None, "backbone": "", "seen": "scores"}.items():
        if getattr(model, name) != default:
            raise InputError(
                f"{option_name(name)} is about a model, and reports are attacked: give --method too, such as base"
            )
    play(reporters.target("label"), terms)


@attack_app.command("membership")
@with_options
def membership_command(*, reporters: ReportOptions, model: ModelOptions, terms: CampaignOptions) -> None:
    """Guess whether a method (base by default) learned from a user's own label; --epsilon is a label's, without it labels are public.

    Example: graphveil attack membership --data town --method base --feature-epsilon 4 --epsilon 1
    """
    play(model.target("membership", reporters), terms)


def play(target: AttackTarget, terms: CampaignOptions) -> None:
    """Play, show, draw; a bound that is broken ends the command with status 1."""
    budgets = terms.budgets
    check_campaign(target, budgets, runs=terms.runs, seed=terms.seed)
    file = None if terms.out is None else check_output(terms.out, (*FIGURES, *PAGES), "--out")

    def run(progress: Progress) -> CampaignReport:
        return CampaignReport(run_campaign(target, budgets, runs=terms.runs, seed=terms.seed, watch=progress))

    report = show_analysis(run, terms.as_json, file, drawn=True)
    for point in report.campaign.points:
        if not point.holds:
            raise ClaimError(f"{report.title}: {point.verdict}")
