"""The demonstration: a town whose users report, what is learned, and what their budget buys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from graphveil.audit import Audit, audit
from graphveil.audit.findings import rounded_up
from graphveil.experiments.runs.format import NONE, PERCENT, budget, gained
from graphveil.experiments.runs.result import Result
from graphveil.experiments.runs.runner import run_spec
from graphveil.experiments.runs.statistics import Summary, t_interval
from graphveil.experiments.show.page import Section, Table, page
from graphveil.experiments.show.plot import Line, accuracy_over_epsilon
from graphveil.experiments.specs.spec import Part, Spec

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
EPOCHS = 100
MECHANISM = "multibit"
EXPLANATION = (
    "Every user reports one or a few randomized bits of their interests. The control answers with the same mechanism, "
    "blinded: its reports carry nothing, so whatever it reaches comes from graph and labels."
)


@dataclass(frozen=True)
class Demo:
    """The results that are there: by budget, without privacy, and the audits of what was used."""

    private: tuple[Result, ...] = ()
    plain: Result | None = None
    audits: tuple[Audit, ...] = field(default=())

    @property
    def structure(self) -> Summary | None:
        """What graph and labels alone give: the same in every experiment, so the first one's."""
        scores = self.private[0].scores("structure") if self.private else []
        return t_interval(scores) if scores else None


def run_demo(
    runs: int, jobs: int, watch: Callable[[str, int, int], None], keep: Callable[[Demo], None]
) -> Demo:
    """Run everything; ``keep`` is given what there is after each step, so that nothing is lost."""
    demo = Demo()
    settings = {"epochs": EPOCHS}
    steps = len(EPSILONS) * runs * 2 + 2 * runs + len(EPSILONS)
    done = 0

    def tell(what: str) -> None:
        nonlocal done
        done += 1
        watch(what, done, steps)

    for place, epsilon in enumerate(EPSILONS):
        spec = Spec.of("base", "town", epsilon=epsilon, mechanism=MECHANISM, runs=runs, settings=settings)
        skip: tuple[Part, ...] = ("structure",) if place else ()
        result = run_spec(
            spec, jobs=jobs, skip=skip, watch=lambda unit, *_, e=epsilon: tell(f"{unit.part} at {budget(e)}")
        )
        demo = Demo((*demo.private, result), demo.plain, demo.audits)
        keep(demo)
    plain = Spec.of("nonprivate", "town", runs=runs, settings=settings)
    demo = Demo(demo.private, run_spec(plain, jobs=jobs, watch=lambda *_: tell("no privacy")), demo.audits)
    keep(demo)
    for epsilon in EPSILONS:
        demo = Demo(
            demo.private, demo.plain, (*demo.audits, audit(MECHANISM, epsilon=epsilon, dims=64, quick=True))
        )
        tell(f"audit at {budget(epsilon)}")
        keep(demo)
    return demo


def rows(demo: Demo) -> list[tuple[str, str, str, str, str]]:
    """The table: budget, accuracy of reports, of the control, what was gained, and the exact ε."""
    exact = {audited.claimed.epsilon: rounded_up(audited.exact.epsilon) for audited in demo.audits}
    table = []
    if demo.plain:
        table.append(("none", PERCENT.interval(t_interval(demo.plain.scores())), NONE, NONE, "no privacy"))
    for result in reversed(demo.private):
        epsilon = result.spec.budgets.epsilon or 0.0
        control = t_interval(result.scores("control")) if result.scores("control") else None
        private = t_interval(result.scores())
        table.append(
            (
                budget(epsilon),
                PERCENT.interval(private),
                PERCENT.interval(control),
                gained(result.gain),
                exact.get(epsilon, NONE),
            )
        )
    table.append(("structure", PERCENT.interval(demo.structure), NONE, NONE, "no features used"))
    return table


HEAD = ("budget", "accuracy", "control", "gain", "exact ε")


def figure(demo: Demo) -> str:
    """Accuracy over ε, as an SVG element."""
    runs = len(demo.private[0].scores()) if demo.private else 0
    epsilons = tuple(result.spec.budgets.epsilon or 0.0 for result in demo.private)
    lines = [
        Line("reports", epsilons, tuple(t_interval(result.scores()) for result in demo.private)),
        Line(
            "control (ε = 0)",
            epsilons,
            tuple(t_interval(result.scores("control")) for result in demo.private),
        ),
    ]
    if demo.structure is not None:
        lines.append(Line("graph and labels only", (), (demo.structure,)))
    if demo.plain is not None:
        lines.append(Line("no privacy", (), (t_interval(demo.plain.scores()),)))
    return accuracy_over_epsilon(lines, f"town, {MECHANISM}, GCN, {runs} runs")


def html(demo: Demo) -> str:
    """The demonstration as a self-contained page."""
    audits = tuple(
        (
            f"{audited.claimed.epsilon:g}",
            rounded_up(audited.exact.epsilon),
            "holds" if audited.holds else "DOES NOT HOLD",
            " ".join(audited.leaks if audited.leaks else audited.protects[:1]),
        )
        for audited in demo.audits
    )
    sections = [
        Section(
            "What a budget buys",
            (
                EXPLANATION,
                *(result.verdict for result in demo.private if result.verdict),
            ),
            figure(demo),
            Table(HEAD, tuple(rows(demo)), frozenset(HEAD[1:])),
        ),
        Section(
            "The audit of what was used",
            ("The exact ε is computed from the integers that reports are drawn by, and rounded up.",),
            table=Table(
                ("claimed ε", "exact ε", "verdict", "what was found"), audits, frozenset({"claimed ε"})
            ),
        ),
    ]
    return page(
        "graphveil: a demonstration",
        "A generated town: neighbourhoods of four kinds, a few interests that tell them apart, and few labelled users.",
        sections,
        "Accuracies are in percent of test users, with 95% t-intervals of the mean; gains are paired differences "
        "with 95% t-intervals.",
    )
