"""The demonstration: a town whose users report, what is learned, and what their budget buys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count, product
from typing import Any

from graphveil.audit import Audit, audit
from graphveil.audit.findings import exact_epsilon, plain
from graphveil.experiments.drawings import graph_figure
from graphveil.experiments.engine import Jobs
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.figure import Chart, Drawing, Series, epsilon_chart
from graphveil.experiments.page import Section, page
from graphveil.experiments.result import Result, gain_over
from graphveil.experiments.runner import Runner, RunOptions, StudyWatcher, with_job_count
from graphveil.experiments.table import Table
from graphveil.experiments.unit import RunUnit, UnitResult, learn_unit
from graphveil.number_format import NONE, Interval, budget, counted, gained, points, reach
from graphveil.statistics import Summary, t_interval

EPSILONS = (1.0, 2.0, 4.0)
EPOCHS = 100
# Bits of the 64 interests, and one of the 4 kinds. Both are finite tables, whose ε is exact.
MECHANISM = "multibit"
DIMS = {MECHANISM: 64, "krr": 4}
# The mechanisms by which the users of each method are asked.
ASKED_BY = {"veil": tuple(DIMS), "base": (MECHANISM,)}
TITLE = "graphveil: a demonstration"
TOWN = (
    "The town is generated: users of four kinds who mostly know their like, 64 interests of which a few tell kinds apart, and few users "
    "whose kind is known."
)
# What a question is to those who are asked it, by what it asks of their row.
QUESTIONS = {
    "values": "one or a few of their interests, each as a randomized bit",
    "class": "the kind that a small public model gives to their own interests on their own device, randomized",
}
ASKED = (
    "Nobody reports twice. The control asks the same questions, and every answer is blinded: it carries nothing, so whatever the control "
    "reaches comes from graph and labels."
)
DRAWN = (
    "Some users with their friendships, in one run of veil: what they are, and what they are taken for. The server knows the "
    "friendships, the kind of a few users, and one randomized report of each; nobody handed over a list of interests."
)
SCORED = "Gain: over the control. Over structure: over asking nobody, which is what a budget is worth."
EXACT = (
    "The exact ε is computed from the integers that reports are drawn by, and rounded up; its digits unfold."
)
FOOTER = (
    "Accuracies are in percent of test users, with 95% t-intervals of the mean; gains are paired differences with 95% "
    "t-intervals."
)
HEAD = ("budget", "method", "accuracy", "control", "gain", "over structure", "exact ε")
SMALL = ("budget", "veil", "its control", "over asking nobody", "base", "its control")
ASKED_HEAD = ("method", "users", "question", "exact ε")


@dataclass(frozen=True)
class Demo:
    """The results so far: of both methods by budget, without privacy, and the audits of the mechanisms they used.

    ``town`` shows some users of the town with what they are and what veil takes them for.
    """

    veil: tuple[Result, ...] = ()
    base: tuple[Result, ...] = ()
    plain: Result | None = None
    audits: tuple[Audit, ...] = ()
    town: Drawing | None = None

    @property
    def private(self) -> tuple[Result, ...]:
        """All private results by budget, veil's before base's at every one."""
        return tuple(sorted((*self.veil, *self.base), key=_epsilon))

    @property
    def structure(self) -> Summary | None:
        """The score of graph and labels alone: the same in every experiment, so the first one's."""
        return self.veil[0].structure if self.veil else None

    @property
    def plain_gain(self) -> Summary | None:
        """The gain of raw features over asking nobody, paired over the runs that both have."""
        return gain_over(self.plain.units, self.veil[0].of("structure")) if self.plain else None

    @property
    def bought(self) -> Result | None:
        """The result at the smallest budget that clearly bought anything over asking nobody."""
        gains = ((result, result.gain_over_structure) for result in self.veil)
        return next((result for result, gain in gains if gain and (gain.low or 0) > 0), None)

    @property
    def shown(self) -> Result:
        """The result that is shown first: that of the headline, else that of the largest budget."""
        return self.bought or self.veil[-1]

    def exact(self, result: Result) -> str:
        """Return the largest exact ε of the mechanisms that asked a result's users."""
        epsilon, names = _epsilon(result), ASKED_BY[result.method]
        found = [each for each in self.audits if each.name in names and each.claimed.epsilon == epsilon]
        if len(found) < len(names):
            return NONE
        return exact_epsilon(max(each.exact.epsilon for each in found), epsilon)

    def headline(self) -> str:
        """Return in plain words the result of the smallest budget with a clear gain over asking nobody."""
        result, structure = self.bought, self.structure
        if result is None or structure is None:
            return "No budget here clearly buys anything over asking nobody: more runs, more users or a larger ε would have to."
        return (
            f"One randomized report from each user ({budget(_epsilon(result))}) lets the server tell the kind of "
            f"{points(result.mean)} in 100 users, instead of {points(structure.mean)} when it asks nobody."
        )

    def difference(self) -> str:
        """Return the headline's uncertainty, and the score of asking for single interests at its budget."""
        result, structure = self.bought, self.structure
        if result is None or structure is None:
            return ""
        said = (
            f"That is {gained(result.gain_over_structure)} points (mean and 95% interval of {counted(len(result.scores()), 'run')}), with "
            "the method veil; no smaller budget of those below clearly buys anything."
        )
        other = next((each for each in self.base if _epsilon(each) == _epsilon(result)), None)
        if other is None:
            return said
        less = ", less than asking nobody" if other.mean < structure.mean else ""
        return f"{said} Asked for single interests alone (base), it is {points(other.mean)}{less}."

    def rows(self) -> list[tuple[str, ...]]:
        """The table: budget, method, accuracy, that of its control, what was gained over it and over asking nobody, and the exact ε."""
        table: list[tuple[str, ...]] = []
        if self.plain:
            said = (NONE, NONE, gained(self.plain_gain), "no privacy")
            table.append(("none", self.plain.method, scored(self.plain), *said))
        # The largest budget first, and veil first in each.
        for result in sorted(self.private, key=lambda result: -_epsilon(result)):
            gains = (gained(result.gain), gained(result.gain_over_structure))
            scores = (scored(result), scored(result.control))
            table.append((budget(_epsilon(result)), result.method, *scores, *gains, self.exact(result)))
        return [*table, (NONE, "structure", scored(self.structure), NONE, NONE, NONE, "nobody asked")]

    def small_rows(self) -> list[tuple[str, ...]]:
        """Return a row for each budget, for a terminal."""
        base = {_epsilon(result): (scored(result), scored(result.control)) for result in self.base}
        return [
            (
                budget(_epsilon(result)),
                *(scored(result), scored(result.control), gained(result.gain_over_structure)),
                *base.get(_epsilon(result), (NONE, NONE)),
            )
            for result in self.veil
        ]

    def asked_rows(self) -> list[tuple[str, ...]]:
        """Return the questions of one run at the budget of the headline: method, users, question, exact ε."""
        table: list[tuple[str, ...]] = []
        for result in self.private:
            if _epsilon(result) != _epsilon(self.shown) or not result.of("method"):
                continue
            for one in result.of("method")[0].privacy.rounds:
                exact = NONE if one.exact is None else exact_epsilon(one.exact, one.epsilon)
                table.append((result.method, f"{one.users:,}", QUESTIONS[one.of], exact))
        table.append(("structure", "nobody", "nothing: graph and labels alone", "0"))
        if self.plain:
            table.append(("nonprivate", "everybody", "all interests as they are", "no privacy"))
        return table

    def chart(self) -> Chart:
        """Draw accuracy over ε."""
        lines = []
        for name, results in (("veil", self.veil), ("base", self.base)):
            epsilons = tuple(map(_epsilon, results))
            scores = tuple(Summary(result.mean, result.low, result.high) for result in results)
            lines.append(Series(name, epsilons, scores, role="method"))
            controls = tuple(result.control for result in results)
            lines.append(Series(f"{name}, control (ε = 0)", epsilons, controls, role="control"))
        if self.structure is not None:
            lines.append(Series("structure: nobody asked", (), (self.structure,), role="structure"))
        if self.plain is not None:
            lines.append(Series("no privacy", (), (t_interval(self.plain.scores()),), role="no privacy"))
        runs = len(self.private[0].scores()) if self.private else 0
        return epsilon_chart(lines, f"town, {counted(runs, 'run')}")

    def html(self) -> str:
        """Return the demonstration as a self-contained page."""
        broken = sum(not audited.holds for audited in self.audits)
        found = "No audit was finished."
        if broken:
            found = f"{broken} of {len(self.audits)} claims DO NOT HOLD: see below."
        elif self.audits:
            found = f"All {counted(len(self.audits), 'claim')} hold: no report is more than e^ε times as likely for one user's interests as for another's."
        audits = [
            (
                each.name,
                plain(each.claimed.epsilon),
                exact_epsilon(each.exact.epsilon, each.claimed.epsilon),
                "holds" if each.holds else " ".join(("DOES NOT HOLD:", *each.leaks)),
            )
            for each in self.audits
        ]
        audited = Table.of(("mechanism", "claimed ε", "exact ε", "verdict"), audits, text=("verdict",))
        asked = Table.of(ASKED_HEAD, self.asked_rows(), text=("question",))
        scores = Table.of(HEAD, self.rows(), text=("method",))
        sections = [
            *([Section("The town", (DRAWN,), self.town)] if self.town else []),
            Section("What a budget buys", figure=self.chart(), table=scores, notes=(SCORED,)),
            Section(f"Who was asked what, at {budget(_epsilon(self.shown))}", table=asked, notes=(ASKED,)),
            Section("The audit of what was used", (found,), table=audited, notes=(EXACT,)),
        ]
        about = f"{self.difference()} {TOWN}".strip()
        return page(TITLE, self.headline(), sections, FOOTER, about=about)


def _epsilon(result: Result) -> float:
    return result.epsilon or 0.0


def run_demo(runs: int, jobs: Jobs, watch: Callable[[str, int, int], None]) -> Iterator[Demo]:
    """Run the demo, and yield the results so far after each step, so that nothing is lost.

    Parameters
    ----------
    runs
        The number of runs for each budget.
    jobs
        The number of processes, or ``auto``.
    watch
        Called with a description, the number of finished steps, and the number of all steps.
    """
    demo, done = Demo(), count(1)
    steps = len(EPSILONS) * (runs * 4 + 2) + 2 * runs + 1
    settings = {"epochs": EPOCHS}

    class Watcher(StudyWatcher):
        def add(self, experiment: Experiment, unit: UnitResult, _done: int, _total: int) -> None:
            epsilon = experiment.budgets.epsilon
            at = budget(epsilon) if epsilon else "no privacy"
            watch(f"{experiment.method}, {unit.part} at {at}", next(done), steps)

    # They share what structure gives, which is the same in each.
    options = with_job_count(
        RunOptions(jobs, keep=False),
        [Experiment.of("veil", "town", epsilon=each, runs=runs) for each in EPSILONS],
    )
    with Runner.open(options, Watcher(), share=True) as runner:

        def ran(method: str, **options: Any) -> Result:
            return runner.run(Experiment.of(method, "town", runs=runs, **options))

        for epsilon in EPSILONS:
            asked: dict[str, Any] = {"epsilon": epsilon, "mechanism": MECHANISM}
            demo = replace(demo, veil=(*demo.veil, ran("veil", **asked)))
            yield demo
            demo = replace(demo, base=(*demo.base, ran("base", settings=settings, **asked)))
            yield demo
        demo = replace(demo, plain=ran("nonprivate", settings=settings))
        yield demo
    for epsilon, (name, dims) in product(EPSILONS, DIMS.items()):
        audited = audit(name, epsilon=epsilon, dims=dims, quick=True)
        watch(f"audit of {name} at {budget(epsilon)}", next(done), steps)
        demo = replace(demo, audits=(*demo.audits, audited))
        yield demo
    watch("drawing the town", next(done), steps)
    spec = demo.shown.experiment
    yield replace(demo, town=graph_figure(*learn_unit(RunUnit(spec))))


def scored(score: Interval | None) -> str:
    """Return the mean score of a part in points, with half of its interval."""
    return NONE if score is None else f"{points(score.mean)}{reach(score)}"
