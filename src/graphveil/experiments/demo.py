"""The demonstration: a town whose users report, what is learned, and what their budget buys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from graphveil.audit import Audit, audit
from graphveil.audit.exact_text import exact_epsilon, plain
from graphveil.engine.engine import HERE
from graphveil.experiments.experiment import Experiment, Part
from graphveil.experiments.figure import Chart, Series, epsilon_chart
from graphveil.experiments.page import Section, page
from graphveil.experiments.predictions import learn_again
from graphveil.experiments.result import Result
from graphveil.experiments.run_figures import graph_figure
from graphveil.experiments.runner import Ahead, run_experiment
from graphveil.experiments.statistics import Summary, paired_gain, t_interval
from graphveil.experiments.table import Table
from graphveil.number_format import NONE, budget, counted, gained, points, reach

EPSILONS = (1.0, 2.0, 4.0)
EPOCHS = 100
# Whatever a row is asked for: a finite table, whose ε is exact. Classes are asked for by k-ary response.
MECHANISM, CLASS_MECHANISM = "multibit", "krr"
INTERESTS, KINDS = 64, 4
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


@dataclass(frozen=True)
class Demo:
    """The results that are there: of both methods by budget, without privacy, and the audits of what was used."""

    veil: tuple[Result, ...] = ()
    base: tuple[Result, ...] = ()
    plain: Result | None = None
    audits: tuple[Audit, ...] = field(default=())
    # Some users of the town with what they are and what veil takes them for, as an SVG element.
    town: str = ""

    @property
    def private(self) -> tuple[Result, ...]:
        """All private results, veil's before base's at every budget."""
        return tuple(sorted((*self.veil, *self.base), key=lambda result: result.epsilon or 0.0))

    @property
    def structure(self) -> Summary | None:
        """What graph and labels alone give: the same in every experiment, so the first one's."""
        scores = self.veil[0].scores("structure") if self.veil else []
        return t_interval(scores) if scores else None

    def over_structure(self, result: Result) -> Summary | None:
        """What a result gains over asking nobody, paired over the runs that both have."""
        other = {unit.run: unit.score for unit in self.veil[0].of("structure")} if self.veil else {}
        both = [(unit.score, other[unit.run]) for unit in result.of("method") if unit.run in other]
        return paired_gain(*zip(*both, strict=True)) if both else None

    def exact(self, result: Result) -> str:
        """The largest exact ε of all that a result's users were asked by."""
        names = (MECHANISM, CLASS_MECHANISM) if result.method == "veil" else (MECHANISM,)
        found = {
            audited.name: audited.exact.epsilon
            for audited in self.audits
            if audited.claimed.epsilon == result.epsilon
        }
        if not set(names) <= set(found):
            return NONE
        return exact_epsilon(max(found[name] for name in names), result.epsilon or 0.0)


def run_demo(
    runs: int, jobs: int, watch: Callable[[str, int, int], None], keep: Callable[[Demo], None]
) -> Demo:
    """Run everything; ``keep`` is given what there is after each step, so that nothing is lost."""
    demo = Demo()
    steps = len(EPSILONS) * (runs * 4 + 2) + 2 * runs + 1
    done = 0

    def tell(what: str) -> None:
        nonlocal done
        done += 1
        watch(what, done, steps)

    def kept(**more: Any) -> Demo:
        found = replace(demo, **more)
        keep(found)
        return found

    with HERE.shared(jobs) as pool:
        ahead = Ahead(pool)

        def ran(spec: Experiment, skip: tuple[Part, ...] = ()) -> Result:
            said = budget(spec.budgets.epsilon) if spec.budgets.epsilon else "no privacy"
            return run_experiment(
                spec,
                jobs=jobs,
                skip=skip,
                ahead=ahead,
                watch=lambda unit, *_: tell(f"{spec.method}, {unit.part} at {said}"),
            )

        settings = {"epochs": EPOCHS}
        for epsilon in EPSILONS:
            asked = Experiment.of("veil", "town", epsilon=epsilon, mechanism=MECHANISM, runs=runs)
            demo = kept(veil=(*demo.veil, ran(asked, ("structure",) if demo.veil else ())))
            asked = Experiment.of(
                "base", "town", epsilon=epsilon, mechanism=MECHANISM, runs=runs, settings=settings
            )
            demo = kept(base=(*demo.base, ran(asked, ("structure",))))
        demo = kept(plain=ran(Experiment.of("nonprivate", "town", runs=runs, settings=settings)))
    for epsilon in EPSILONS:
        for name, dims in ((MECHANISM, INTERESTS), (CLASS_MECHANISM, KINDS)):
            audited = audit(name, epsilon=epsilon, dims=dims, quick=True)
            tell(f"audit of {name} at {budget(epsilon)}")
            demo = kept(audits=(*demo.audits, audited))
    tell("drawing the town")
    told = shown(demo).experiment
    return kept(town=graph_figure(told, *learn_again(told, 0, None)).svg())


def shown(demo: Demo) -> Result:
    """The result that is told first: that of the headline, else that of the largest budget."""
    return bought(demo) or demo.veil[-1]


HEAD = ("budget", "method", "accuracy", "control", "gain", "over structure", "exact ε")
WORDS = 2
ASKED_HEAD = ("method", "users", "question", "exact ε")


def scored(result: Result, part: str = "method") -> str:
    """The mean score of a part in points, with half of its interval."""
    scores = result.scores(part)
    return f"{points(t_interval(scores).mean)}{reach(t_interval(scores))}" if scores else NONE


def rows(demo: Demo) -> list[tuple[str, ...]]:
    """The table: budget, method, accuracy, that of its control, what was gained over it and over asking nobody, and the exact ε."""
    table: list[tuple[str, ...]] = []
    if demo.plain:
        score = scored(demo.plain)
        over = gained(demo.over_structure(demo.plain))
        table.append(("none", demo.plain.method, score, NONE, NONE, over, "no privacy"))
    # The largest budget first, and veil first in each.
    for result in sorted(demo.private, key=lambda result: -(result.epsilon or 0.0)):
        table.append(
            (
                budget(result.epsilon),
                result.method,
                scored(result),
                scored(result, "control"),
                gained(result.gain),
                gained(demo.over_structure(result)),
                demo.exact(result),
            )
        )
    nobody = scored(demo.veil[0], "structure") if demo.veil else NONE
    table.append((NONE, "structure", nobody, NONE, NONE, NONE, "nobody asked"))
    return table


def bought(demo: Demo) -> Result | None:
    """The result at the smallest budget that clearly bought anything over asking nobody."""
    gains = ((result, demo.over_structure(result)) for result in demo.veil)
    return next((result for result, gain in gains if gain and gain.low is not None and gain.low > 0), None)


def headline(demo: Demo) -> str:
    """What the smallest budget gives that clearly bought anything over asking nobody, for somebody who never heard of it."""
    result, structure = bought(demo), demo.structure
    if result is None or structure is None:
        return "No budget here clearly buys anything over asking nobody: more runs, more users or a larger ε would have to."
    return (
        f"One randomized report from each user ({budget(result.epsilon)}) lets the server tell the kind of "
        f"{points(result.mean)} in 100 users, instead of {points(structure.mean)} when it asks nobody."
    )


def difference(demo: Demo) -> str:
    """How sure the headline is, and what the same budget gives where single interests are asked for."""
    result, structure = bought(demo), demo.structure
    gain = None if result is None else demo.over_structure(result)
    if result is None or structure is None or gain is None:
        return ""
    epsilon = result.epsilon
    said = (
        f"That is {gained(gain)} points (mean and 95% interval of {counted(len(result.scores()), 'run')}), with the method veil; no "
        "smaller budget of those below clearly buys anything."
    )
    other = next((each for each in demo.base if each.epsilon == epsilon), None)
    if other is None:
        return said
    less = ", less than asking nobody" if other.mean < structure.mean else ""
    return f"{said} Asked for single interests alone (base), it is {points(other.mean)}{less}."


SMALL = ("budget", "veil", "its control", "over asking nobody", "base", "its control")


def small_rows(demo: Demo) -> list[tuple[str, ...]]:
    """A line a budget, for a terminal."""
    base = {result.epsilon: result for result in demo.base}
    table: list[tuple[str, ...]] = []
    for result in demo.veil:
        epsilon = result.epsilon
        other = base.get(epsilon)
        more = (NONE, NONE) if other is None else (scored(other), scored(other, "control"))
        over = gained(demo.over_structure(result))
        table.append((budget(epsilon), scored(result), scored(result, "control"), over, *more))
    return table


def asked_rows(demo: Demo) -> list[tuple[str, ...]]:
    """Who was asked what in one run, at the budget that is told first: method, users, question, exact ε."""
    epsilon = shown(demo).epsilon
    table: list[tuple[str, ...]] = []
    for result in demo.private:
        if result.epsilon != epsilon or not result.of("method"):
            continue
        for one in result.of("method")[0].privacy.rounds:
            exact = NONE if one.exact is None else exact_epsilon(one.exact, one.epsilon)
            table.append((result.method, f"{one.users:,}", QUESTIONS[one.of], exact))
    table.append(("structure", "nobody", "nothing: graph and labels alone", "0"))
    if demo.plain:
        table.append(("nonprivate", "everybody", "all interests as they are", "no privacy"))
    return table


def chart(demo: Demo) -> Chart:
    """Accuracy over ε."""
    lines = []
    for name, results in (("veil", demo.veil), ("base", demo.base)):
        if not results:
            continue
        epsilons = tuple(result.epsilon or 0.0 for result in results)
        lines.append(
            Series(name, epsilons, tuple(t_interval(result.scores()) for result in results), role="method")
        )
        if all(result.scores("control") for result in results):
            blinded = tuple(t_interval(result.scores("control")) for result in results)
            lines.append(Series(f"{name}, control (ε = 0)", epsilons, blinded, role="control"))
    if demo.structure is not None:
        lines.append(Series("structure: nobody asked", (), (demo.structure,), role="structure"))
    if demo.plain is not None:
        lines.append(Series("no privacy", (), (t_interval(demo.plain.scores()),), role="no privacy"))
    runs = len(demo.private[0].scores()) if demo.private else 0
    return epsilon_chart(lines, f"town, {counted(runs, 'run')}")


def html(demo: Demo) -> str:
    """The demonstration as a self-contained page."""
    sections = [
        *([Section("The town", (DRAWN,), demo.town)] if demo.town else []),
        Section(
            "What a budget buys",
            svg=chart(demo).svg(),
            table=Table(HEAD, tuple(rows(demo)), frozenset(HEAD[WORDS:])),
            notes=(SCORED,),
        ),
        Section(
            f"Who was asked what, at {budget(shown(demo).epsilon)}",
            table=Table(ASKED_HEAD, tuple(asked_rows(demo)), frozenset({"users", "exact ε"})),
            notes=(ASKED,),
        ),
        _audited(demo),
    ]
    return page(TITLE, headline(demo), sections, FOOTER, about=" ".join((difference(demo), TOWN)).strip())


def _audited(demo: Demo) -> Section:
    """One sentence on all audits, and a row for each; where a claim is broken, what was found."""
    broken = [audited for audited in demo.audits if not audited.holds]
    found = f"{len(broken)} of {len(demo.audits)} claims DO NOT HOLD: see below." if broken else ""
    if demo.audits and not broken:
        found = f"All {counted(len(demo.audits), 'claim')} hold: no report is more than e^ε times as likely for one user's interests as for another's."
    table = tuple(
        (
            audited.name,
            plain(audited.claimed.epsilon),
            exact_epsilon(audited.exact.epsilon, audited.claimed.epsilon),
            "holds" if audited.holds else " ".join(("DOES NOT HOLD:", *audited.leaks)),
        )
        for audited in demo.audits
    )
    return Section(
        "The audit of what was used",
        (found or "No audit was finished.",),
        table=Table(
            ("mechanism", "claimed ε", "exact ε", "verdict"), table, frozenset({"claimed ε", "exact ε"})
        ),
        notes=(EXACT,),
    )
