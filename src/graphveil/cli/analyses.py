"""graphveil advise, attack and attributes: what a choice costs, what somebody who sees reports finds out, which attributes matter."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

from graphveil.attacks.attribute import PRIORS, AttributeAttack
from graphveil.attacks.campaign import AttackTarget, MechanismTarget, check_campaign, run_campaign
from graphveil.attacks.game import Attack, MechanismAttack
from graphveil.attacks.registry import ATTACKS, MODEL_ATTACKS
from graphveil.checks import check_number
from graphveil.cli.console import first_sentences, print_result
from graphveil.cli.options import (
    NUMBERS,
    AsJson,
    CommandGroup,
    DataName,
    FigureOrPage,
    Options,
    Page,
    Pairs,
    RangePair,
)
from graphveil.cli.studies import show_analysis
from graphveil.errors import ClaimError, InputError, option_name
from graphveil.experiments.advice import advise_budget, advise_levels, advise_poisoning
from graphveil.experiments.attack_study import CampaignReport, MethodTarget
from graphveil.experiments.attribute_study import check_ranking, compare_rankings
from graphveil.experiments.experiment import DATA_PREFIX, MECHANISM_PREFIX, Experiment
from graphveil.experiments.table import Table
from graphveil.methods.job import Progress
from graphveil.methods.terms import option


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
            fixed={"method": "togl"},
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
    setting: Pairs = option(
        None, "data.KEY=VALUE or mechanism.KEY=VALUE, for the loader or the mechanism.", "--set"
    ),
    out: FigureOrPage = option(
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
    spec = experiment.having(settings={**chosen, **outer_settings(setting)})
    check_ranking(spec, top)
    if spec.task == "link" and analysis not in (None, "fda"):
        raise InputError("attributes are scored by fda where links are predicted: leave --analysis out")
    show_analysis(
        lambda progress: compare_rankings(spec, top=top, progress=progress), as_json, out, drawn=True
    )


def outer_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings of the loader and of the mechanism; refuse others."""
    for key in settings:
        if not key.startswith((DATA_PREFIX, MECHANISM_PREFIX)):
            raise InputError(
                f"--set takes data.KEY and mechanism.KEY here, such as data.users=400, got {key!r}"
            )
    return settings


advise_app = CommandGroup(no_args_is_help=False)


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
    epsilon: NUMBERS = option("1,2,4,8", "Budgets to look at, with commas between them."),
    as_json: AsJson = False,
    out: Page = option(None, "Also write a page, .html, with a chart over users and ε."),
) -> None:
    """Say what veil would buy over structure at each budget, what +2 points would need, and when not to collect.

    Nobody is asked: everything follows from public numbers (users, features, classes, labels, how sure graph and labels are of the
    rest) and, with --panel, from volunteers' rows. Gains come from a curve that was fitted to measured runs on other graphs.

    Example: graphveil advise budget --data town --epsilon 1,2,4

    Example: graphveil advise budget --data citeseer --panel 300 --out advice.html
    """
    budgets = epsilon or ()
    for each in budgets:
        check_number(each, "--epsilon", above=0)
    spec = experiment.having(epsilon=max(budgets))
    show_analysis(lambda progress: advise_budget(spec, budgets, progress), as_json, out)


@advise_app.command("poisoning")
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
    share: NUMBERS = option("0.01,0.05,0.1", "Shares of malicious users, with commas between them."),
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
    show_analysis(lambda progress: advise_poisoning(experiment, share or (), target, progress), as_json)


attack_app = CommandGroup(no_args_is_help=False)
# What is attacked where a method is needed and none is named.
METHOD = "base"


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Options of reports: who reports what by which mechanism."""

    data: DataName
    mechanism: str = option(
        "", "A mechanism from `graphveil mechanisms`, or FILE.py:NAME; the attack's own by default."
    )
    setting: Pairs = option(
        None,
        "data.KEY=VALUE or mechanism.KEY=VALUE, for the loader or the mechanism; with --method also its settings.",
        "--set",
    )
    public_range: RangePair

    def target(self, attack: str | MechanismAttack) -> MechanismTarget:
        """Return the reports as what is attacked."""
        settings = outer_settings(self.setting)

        def below(prefix: str) -> dict[str, Any]:
            return {key[len(prefix) :]: value for key, value in settings.items() if key.startswith(prefix)}

        loader = {**self.public_range, **below(DATA_PREFIX)}
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
            settings=reporters.setting,
            data_options=reporters.public_range,
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
    epsilons: NUMBERS = option(
        None, "Several budgets, with commas between them; with --out a figure or a page over them."
    )
    runs: int = option(5, "How many runs; run i uses seed S + i for everything.")
    seed: int = option(0, "The seed S of the first run.")
    out: FigureOrPage = option(
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
def _attacks(context: typer.Context, as_json: AsJson = False) -> None:
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
def attribute_command(
    *,
    reporters: ReportOptions,
    prior: str = option(
        "fair", "How likely the planted values are: fair, or fitted to reports of real ones."
    ),
    terms: CampaignOptions,
) -> None:
    """Guess one value of a user from their report, and from those of neighbours.

    Example: graphveil attack attribute --data town --mechanism piecewise --epsilon 2
    """
    known = [each for each in PRIORS if each == prior]
    if not known:
        raise InputError(f"--prior takes {' or '.join(PRIORS)}, got {prior!r}")
    play(reporters.target(AttributeAttack(known[0])), terms)


@attack_app.command("level")
def level_command(*, reporters: ReportOptions, terms: CampaignOptions) -> None:
    """Guess which privacy level a user chose; --epsilon is the strictest level's budget. Mechanisms: ppm, ppm-printed, esw.

    Example: graphveil attack level --data town --mechanism ppm-printed --epsilon 0.5
    """
    play(reporters.target("level"), terms)


@attack_app.command("link")
def link_command(*, reporters: ReportOptions, terms: CampaignOptions) -> None:
    """Guess whether two users are linked, from reported lists (link-rr, blink, dprr) or from a curator's graph (lapgraph, privhrg, edgerr).

    Example: graphveil attack link --data town --mechanism blink --epsilons 0.5,2,8 --out link.svg
    """
    play(reporters.target("link"), terms)


@attack_app.command("label")
def label_command(*, reporters: ReportOptions, model: ModelOptions, terms: CampaignOptions) -> None:
    """Guess the class of a user from their report and those of neighbours, or with --method from what it learned; --epsilon is a label's.

    Example: graphveil attack label --data town --epsilon 1
    """
    if model.method:
        play(model.target("label", reporters), terms)
        return
    for each in fields(model):
        if getattr(model, each.name) != each.default:
            raise InputError(
                f"{option_name(each.name)} is about a model, and reports are attacked: give --method too, such as base"
            )
    play(reporters.target("label"), terms)


@attack_app.command("membership")
def membership_command(*, reporters: ReportOptions, model: ModelOptions, terms: CampaignOptions) -> None:
    """Guess whether a method (base by default) learned from a user's own label; --epsilon is a label's, without it labels are public.

    Example: graphveil attack membership --data town --method base --feature-epsilon 4 --epsilon 1
    """
    play(model.target("membership", reporters), terms)


def play(target: AttackTarget, terms: CampaignOptions) -> None:
    """Play, show, draw; a bound that is broken ends the command with status 1."""
    budgets = terms.budgets
    check_campaign(target, budgets, runs=terms.runs, seed=terms.seed)

    def run(progress: Progress) -> CampaignReport:
        return CampaignReport(run_campaign(target, budgets, runs=terms.runs, seed=terms.seed, watch=progress))

    report = show_analysis(run, terms.as_json, terms.out, drawn=True)
    for point in report.campaign.points:
        if not point.holds:
            raise ClaimError(f"{report.title}: {point.verdict}")
