"""Reports: results and comparisons as tables and on pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from graphveil.errors import UnknownNameError
from graphveil.experiments.comparison import Comparison
from graphveil.experiments.energy import HOW, MEANING, THEOREM, energy_sections
from graphveil.experiments.experiment import DATA_PREFIX, MECHANISM_PREFIX
from graphveil.experiments.figure import Role, Series, epsilon_chart
from graphveil.experiments.page import Section, page
from graphveil.experiments.result import SOURCE_DIGITS, Result, StoredResult
from graphveil.experiments.results import AnyResult, latest
from graphveil.experiments.table import Table
from graphveil.files import write_whole
from graphveil.methods import METHODS
from graphveil.number_format import NONE, budget, counted, gained, low_to_high, points
from graphveil.privacy.record import Privacy
from graphveil.statistics import Summary

NOTHING = "nothing measurable"


def results_headline(results: Sequence[Result]) -> str:
    """Return one sentence for any number of results: how many budgets bought something, and which bought most."""
    private = [result for result in results if result.gain is not None]
    if not private:
        best = max(results, key=lambda result: result.mean, default=None)
        if best is None:
            return "No results."
        return f"{counted(len(results), 'result')}, none beside a control: {best.method} reaches {points(best.mean)} on {best.data}."
    if len(private) == 1:
        return _one(private[0])
    most = max(private, key=lambda result: result.gain.mean if result.gain else 0.0)
    at = f"{most.method} at {budget(most.epsilon)} on {most.data}"
    return f"{_counts(private)}; the largest gain is that of {at}, {gained(most.gain)} points."


def _one(result: Result) -> str:
    where = f"{result.method} on {result.data} at {budget(result.epsilon)}"
    over = result.gain_over_structure
    nobody = "" if over is None else f", and {gained(over)} over asking nobody"
    end = f": {NOTHING}" if gain_verdict(result) == NOTHING else ""
    return f"{where}: {gained(result.gain)} points over its control{nobody}{end}."


def _counts(private: Sequence[Result]) -> str:
    verdicts = [gain_verdict(result) for result in private]
    adds, costs = verdicts.count("adds"), verdicts.count("costs")
    said = f"Of {counted(len(private), 'private result')}, {adds or 'none'} clearly {'adds' if adds < 2 else 'add'} to the control"
    said += f", {costs} clearly {'costs' if costs == 1 else 'cost'} something" if costs else ""
    compared = [result.gain_over_structure for result in private if result.gain_over_structure is not None]
    if compared:
        better = sum(over.low is not None and over.low > 0 for over in compared)
        said += f", and {better or 'none'} clearly {'beats' if better < 2 else 'beat'} asking nobody"
    return said


def gain_verdict(result: Result) -> str | None:
    """Return whether a result's features clearly add to its control or cost something; None where there is no control."""
    gain = result.gain
    if gain is None:
        return None
    if gain.low is None or gain.high is None:
        return "none from one run"
    return "adds" if gain.low > 0 else "costs" if gain.high < 0 else NOTHING


TITLE = "graphveil: results"
HOPS = 64
CONTROL = (
    "The control is the same method with the same mechanism, blinded: its reports carry nothing (ε is exactly 0), so whatever "
    "it reaches comes from graph and labels. Structure is the best that graph and labels gave without any reports."
)
GAIN = (
    "The gain is the difference to the control over the same splits and seeds: what the features at this budget add. Where "
    "its interval reaches across 0, nothing measurable was bought; a budget is well spent where the mean passes structure too."
)
FOOTER = (
    "Scores are in percent on test users, with 95% t-intervals of the mean; gains are paired differences with 95% "
    "t-intervals."
)
READING = Section("How to read this", (CONTROL, GAIN))
ENERGIES = Section("What hops leave of reports", (MEANING, THEOREM, HOW))
# Columns that are left out where they say nothing about any result.
OPTIONAL = frozenset({"label ε", "link ε", "volunteers alone"})
NUMBER, GRAPH, TASK, TAGS, DATE = "no.", "graph", "task", "tags", "date"
RESULT, METHOD, SOURCE = "result", "method", "source"
# What a page has room for, and a terminal has not.
LONG = frozenset({"verdict", "privacy"})


def write_report(out: Path, results: Sequence[Result], **options: Any) -> None:
    """Write the page to a file; options are those of `report_html`."""
    write_whole(out, report_html(results, **options))


def report_html(
    results: Sequence[Result],
    *,
    title: str = TITLE,
    energy: bool = True,
    hops: int = HOPS,
    tell: Callable[[str], None] = lambda _: None,
) -> str:
    """Return a page of results. The same results, in any order, give the same bytes.

    Parameters
    ----------
    energy
        Whether to add the energy of reports over hops, from fresh simulated collections; it needs the graphs.
    hops
        The number of hops for the energy.
    tell
        Called with a sentence about each result whose energy is missing.
    """
    shown = sorted(latest(results), key=_order)
    graphs = _groups(shown, graph_name)
    asked = graphs.items() if energy else ()
    energies = [each for name, group in asked for each in energy_sections(name, group, hops, tell)]
    sections = [*_by_graph(shown, report_table), READING, *([ENERGIES] if energies else []), *energies]
    return page(title, results_headline(shown), sections, FOOTER, about=_about(shown, len(graphs)))


def results_page(results: Sequence[StoredResult], title: str) -> str:
    """Return results on a page."""
    about = f"{counted(len(results), 'kept result')}."
    return page(title, results_headline(results), _kept(results), FOOTER, about=about)


def comparison_page(comparison: Comparison, title: str) -> str:
    """Return how results compare, on a page, and below it the results."""
    results = comparison.results
    about = f"{counted(len(results), 'kept result')}, {counted(len(comparison.pairs), 'comparison')}."
    compared = Section("Comparison", table=comparison.table(), notes=tuple(comparison.sentences))
    return page(title, comparison.headline, [compared, *_kept(results)], FOOTER, about=about)


def report_table(results: Sequence[Result]) -> Table:
    """Return one row a result; columns that say nothing about any of them are left out."""
    return _table(_columns(results))


def results_table(results: Sequence[StoredResult], long: bool = False) -> Table:
    """Return one row a result, in this order; columns that say nothing about any of them are left out.

    A ``long`` one is for a page: it has verdict and privacy, the number beside the method, and neither graph nor task, which
    stand above it.
    """
    columns = _columns(results)
    if long:
        # One column, so that a narrow screen can keep both in sight.
        methods = zip(results, columns.pop(METHOD), strict=True)
        columns = {RESULT: [f"{result.number} {method}" for result, method in methods], **columns}
    else:
        several = any(result.task != "node" for result in results)
        columns = {
            NUMBER: [str(result.number) for result in results],
            GRAPH: [graph_name(result) for result in results],
            **({TASK: [result.task for result in results]} if several else {}),
            **{name: cells for name, cells in columns.items() if name not in LONG},
        }
    if len({result.identity for result in results}) < len(results):
        # What tells results of the same experiment apart.
        columns[SOURCE] = [result.source[:SOURCE_DIGITS] or NONE for result in results]
    if any(result.tags for result in results):
        columns[TAGS] = [", ".join(result.tags) or NONE for result in results]
    columns[DATE] = [(result.time or NONE)[: len("2026-01-01")] for result in results]
    return _table(columns)


def _columns(results: Sequence[Result]) -> dict[str, list[str]]:
    columns = {name: [cell(result) for result in results] for name, cell in CELLS.items()}
    return {name: cells for name, cells in columns.items() if name not in OPTIONAL or {*cells} - {NONE}}


def _table(columns: dict[str, list[str]]) -> Table:
    return Table(columns, zip(*columns.values(), strict=True), NUMBERS)


def _groups(results: Sequence[AnyResult], key: Callable[[Result], str]) -> dict[str, list[AnyResult]]:
    groups: dict[str, list[AnyResult]] = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)
    return groups


def _kept(results: Sequence[StoredResult]) -> list[Section]:
    return [*_by_graph(results, partial(results_table, long=True)), READING]


def _by_graph(
    results: Sequence[AnyResult], table: Callable[[Sequence[AnyResult]], Table]
) -> Iterator[Section]:
    """A figure, where there are several budgets, and a table for each graph and task, in the order in which they come."""
    for heading, group in _groups(results, _heading).items():
        drawn = lines(group)
        chart = epsilon_chart(drawn, heading, group[0].metric) if drawn else None
        yield Section(heading, figure=chart, table=table(group))


def lines(results: Sequence[Result]) -> list[Series]:
    """Return the curves of all methods that were run at more than one ε, with their controls, and the levels beside them."""
    series: dict[str, dict[float, Result]] = {}
    for result in sorted(results, key=lambda result: len(result.runs)):
        if result.epsilon is not None:
            # At the same ε, the result with the most runs counts.
            series.setdefault(_series(result), {})[result.epsilon] = result
    curves: list[Series] = []
    levels: dict[str, Series] = {}
    for name, by_epsilon in sorted(series.items()):
        if len(by_epsilon) < 2:
            continue
        curves.append(_curve(name, {epsilon: _summary(result) for epsilon, result in by_epsilon.items()}))
        controls = {epsilon: result.control for epsilon, result in by_epsilon.items() if result.control}
        if controls:
            curves.append(_curve("its control (ε = 0)", controls, "control"))
        # That of the most runs, between equals of the largest budget, counts.
        for result in sorted(by_epsilon.values(), key=lambda each: (len(each.runs), each.epsilon)):
            if result.structure is not None:
                label = ", ".join([f"structure: {result.structure.name}", *_other_budgets(result)])
                levels[label] = Series(label, (), (result.structure,), role="structure")
    if curves:
        for result in results:
            if result.epsilon is None:
                role: Role = "structure" if result.method == "structure" else "no privacy"
                levels[_series(result)] = Series(_series(result), (), (_summary(result),), role=role)
    return [*curves, *(levels[label] for label in sorted(levels))]


def _curve(label: str, points: Mapping[float, Summary], role: Role = "method") -> Series:
    epsilons = tuple(sorted(points))
    return Series(label, epsilons, tuple(points[epsilon] for epsilon in epsilons), role=role)


def _summary(result: Result) -> Summary:
    return Summary(result.mean, result.low, result.high)


def graph_name(result: Result) -> str:
    """Return a graph with whatever its loader was told."""
    return result.data + _options(result.experiment.loader_options)


def _heading(result: Result) -> str:
    return f"{graph_name(result)}: {result.metric}, {result.task}"


def _privacy(result: Result) -> str:
    """Return the spending of a user by subject, in words."""
    spent = result.privacy
    if spent is not None and not spent.raw:
        with suppress(UnknownNameError):
            if METHODS.find(result.method).can.features == "raw":
                # Results that were kept before records named what was read.
                spent = spent.model_copy(update={"raw": ["features"]})
    return NONE if spent is None else spent.cell


def _method(result: Result) -> str:
    """Return a method with its settings."""
    prefixes = (MECHANISM_PREFIX, DATA_PREFIX)
    settings = result.experiment.settings
    own = {key: value for key, value in settings.items() if not key.startswith(prefixes)}
    return result.method + _options(own) + (f", seed {result.seed}" if result.seed else "")


def _mechanism(result: Result) -> str:
    if result.mechanism is None:
        return NONE
    experiment = result.experiment
    levels, turnout = experiment.levels, experiment.turnout
    chosen: dict[str, object] = {
        "δ": experiment.budgets.delta,
        "levels": levels.levels,
        "budgets": levels.budgets,
        "γ": levels.gamma,
        "distribution": None if levels.level_distribution == "uniform" else levels.level_distribution,
        "panel": experiment.volunteers.panel,
    }
    if not turnout.complete:
        chosen |= {"participation": turnout.participation, "silence": turnout.silence}
    extra = {key: value for key, value in chosen.items() if value is not None}
    return result.mechanism + _options({**experiment.mechanism_options, **extra})


def _options(options: dict[str, object]) -> str:
    """Options behind a name.

    >>> _options({"users": 400, "range": [0, 1]})
    ' (range=[0, 1], users=400)'
    """
    said = ", ".join(f"{key}={json.dumps(value, default=str)}" for key, value in sorted(options.items()))
    return f" ({said})" if said else ""


def _series(result: Result) -> str:
    """The name of a curve: all that two of its points have in common."""
    names = (_method(result), _mechanism(result), result.backbone or NONE)
    return ", ".join([*(name for name in names if name != NONE), *_other_budgets(result)])


def _other_budgets(result: Result) -> list[str]:
    """The budgets of labels and links, where these are private."""
    budgets = {what: _epsilon_of(result, what) for what in ("label", "link")}
    return [f"{what} {budget(epsilon)}" for what, epsilon in budgets.items() if epsilon is not None]


def _epsilon_of(result: Result, what: str) -> float | None:
    """The budget of a label or a link: as the experiment says it, else as it was spent."""
    spent = getattr(result.privacy or Privacy(), f"{what}s")
    asked: float | None = getattr(result.experiment.budgets, f"{what}_epsilon")
    return asked or (spent.epsilon if spent else None)


def _epsilon(epsilon: float | None) -> str:
    return NONE if epsilon is None else f"{epsilon:g}"


def _mean(scores: Summary | None) -> str:
    return NONE if scores is None else points(scores.mean)


# What is looked for first stands first: a phone shows the first columns.
CELLS: dict[str, Callable[[Result], str]] = {
    METHOD: _method,
    "ε": lambda result: _epsilon(result.epsilon),
    "label ε": lambda result: _epsilon(_epsilon_of(result, "label")),
    "link ε": lambda result: _epsilon(_epsilon_of(result, "link")),
    "mean": lambda result: points(result.mean),
    "interval": low_to_high,
    "gain": lambda result: gained(result.gain),
    "control": lambda result: _mean(result.control),
    "structure": lambda result: _mean(result.structure),
    "volunteers alone": lambda result: _mean(result.unasked),
    "verdict": lambda result: gain_verdict(result) or NONE,
    "mechanism": _mechanism,
    "backbone": lambda result: result.backbone or NONE,
    "privacy": _privacy,
    "runs": lambda result: f"{len(result.runs)}{', interrupted' if result.interrupted else ''}",
}
NUMBERS = frozenset(CELLS) - {METHOD, "verdict", "mechanism", "backbone", "privacy"} | {NUMBER, DATE}


def _order(result: Result) -> tuple[object, ...]:
    """Return the sort key of a result: graph, task, method and budget, never where it was found."""
    names = (graph_name(result), result.task, _series(result))
    return (*names, result.epsilon or 0.0, len(result.runs), result.identity, result.time or "")


def _about(results: Sequence[Result], graphs: int) -> str:
    versions = ", ".join(sorted({result.version for result in results if result.version}))
    times = {result.time for result in results if result.time}
    lead = f"{counted(len(results), 'result')} on {counted(graphs, 'graph')}"
    lead += f", computed with graphveil {versions}" if versions else ""
    if len(times) > 1:
        return f"{lead} from {min(times)} to {max(times)}."
    return f"{lead} at {times.pop()}." if times else f"{lead}."
