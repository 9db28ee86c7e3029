"""Reports: kept results and comparisons as tables and on pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from graphveil.errors import GraphveilError, UnknownNameError
from graphveil.experiments.comparison import Comparison
from graphveil.experiments.energy import HOW, MEANING, THEOREM, experiment_of, smoothing
from graphveil.experiments.experiment import DATA_PREFIX, MECHANISM_PREFIX
from graphveil.experiments.figure import Role, Series, epsilon_chart
from graphveil.experiments.page import Section, page
from graphveil.experiments.result_store import Kept, Record, Scores, latest
from graphveil.experiments.table import Table
from graphveil.experiments.unit_store import SHOWN
from graphveil.files import write_whole
from graphveil.methods import find_method
from graphveil.number_format import NONE, budget, counted, gained, low_to_high, points
from graphveil.privacy.record import Privacy
from graphveil.statistics import Summary

NOTHING = "nothing measurable"


def results_headline(records: Sequence[Record]) -> str:
    """How many budgets bought something, and which bought most; one sentence for any number of results."""
    private = [record for record in records if record.gain is not None]
    if not private:
        best = max(records, key=lambda record: record.mean, default=None)
        if best is None:
            return "No results."
        return f"{counted(len(records), 'result')}, none beside a control: {best.method} reaches {points(best.mean)} on {best.data}."
    if len(private) == 1:
        return _one(private[0])
    return f"{_counts(private)}; {_largest(private)}."


def _one(record: Record) -> str:
    where = f"{record.method} on {record.data} at {budget(record.epsilon)}"
    end = f": {NOTHING}" if gain_verdict(record) == NOTHING else ""
    return f"{where}: {gained(record.gain)} points over its control{_nobody(record)}{end}."


def _nobody(record: Record) -> str:
    over = record.gain_over_structure
    return "" if over is None else f", and {gained(over)} over asking nobody"


def _counts(private: Sequence[Record]) -> str:
    verdicts = [gain_verdict(record) for record in private]
    adds, costs = verdicts.count("adds"), verdicts.count("costs")
    said = f"Of {counted(len(private), 'private result')}, {adds or 'none'} clearly {'adds' if adds < 2 else 'add'} to the control"
    said += f", {costs} clearly {'costs' if costs == 1 else 'cost'} something" if costs else ""
    compared = [record.gain_over_structure for record in private if record.gain_over_structure is not None]
    if compared:
        better = sum(over.low is not None and over.low > 0 for over in compared)
        said += f", and {better or 'none'} clearly {'beats' if better < 2 else 'beat'} asking nobody"
    return said


def _largest(private: Sequence[Record]) -> str:
    best = max(private, key=lambda record: record.gain.mean if record.gain else 0.0)
    return f"the largest gain is that of {best.method} at {budget(best.epsilon)} on {best.data}, {gained(best.gain)} points"


def gain_verdict(record: Record) -> str | None:
    """Whether a result's features clearly add to its control or cost something; None where there is no control."""
    gain = record.gain
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
# What is looked for first stands first: a phone shows the first columns.
HEAD = (
    "method",
    "ε",
    "label ε",
    "link ε",
    "mean",
    "interval",
    "gain",
    "control",
    "structure",
    "volunteers alone",
    "verdict",
    "mechanism",
    "backbone",
    "privacy",
    "runs",
)
NUMBERS = frozenset({*HEAD[1:10], "runs"})


def write_report(
    out: Path,
    records: Sequence[Record],
    *,
    title: str = TITLE,
    energy: bool = True,
    hops: int = HOPS,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Write the page to a file."""
    write_whole(out, report_html(records, title=title, energy=energy, hops=hops, tell=tell))


def report_html(
    records: Sequence[Record],
    *,
    title: str = TITLE,
    energy: bool = True,
    hops: int = HOPS,
    tell: Callable[[str], None] = lambda _: None,
) -> str:
    """The page: the same results, in any order, give the same bytes.

    ``energy`` adds what hops do to such reports, from fresh simulated collections; it needs the graphs to be there.
    """
    shown = sorted(latest(records), key=_order)
    results: list[Section] = []
    energies: list[Section] = []
    graphs: dict[str, list[Record]] = {}
    for record in shown:
        graphs.setdefault(graph_name(record), []).append(record)
    for name, group in graphs.items():
        for task in sorted({record.task for record in group}):
            results.append(_results(name, task, [record for record in group if record.task == task]))
        if energy:
            energies += _energy(name, group, hops, tell)
    sections = [*results, READING, *([ENERGIES] if energies else []), *energies]
    return page(title, results_headline(shown), sections, FOOTER, about=_about(shown, len(graphs)))


def _energy(name: str, records: Sequence[Record], hops: int, tell: Callable[[str], None]) -> list[Section]:
    """What hops do to such reports; a result whose method or mechanism is not known here is left out."""
    specs = []
    for record in records:
        try:
            spec = experiment_of(record)
        except GraphveilError as error:
            tell(f"{record.method} on {name} has no energy here: {error}")
        else:
            specs += [] if spec is None else [spec]
    return smoothing(name, specs, hops, tell)


def graph_name(record: Record) -> str:
    """A graph with whatever its loader was told."""
    options = {**record.setup.data_options, **_below(record, DATA_PREFIX)}
    return record.data + _told(options)


def rows(records: Sequence[Record]) -> Table:
    """One row a result; columns that say nothing about any of them are left out."""
    cells = [dict(zip(HEAD, _cells(record), strict=True)) for record in records]
    optional = {"label ε", "link ε", "volunteers alone"}
    head = tuple(name for name in HEAD if name not in optional or any(row[name] != NONE for row in cells))
    return Table(head, ([row[name] for name in head] for row in cells), NUMBERS)


def lines(records: Sequence[Record]) -> list[Series]:
    """The curves of all methods that were run at more than one ε, with their controls, and the levels beside them."""
    series: dict[str, dict[float, Record]] = {}
    for record in sorted(records, key=lambda record: len(record.runs)):
        if record.epsilon is not None:
            # At the same ε, the result with the most runs counts.
            series.setdefault(_series(record), {})[record.epsilon] = record
    curves: list[Series] = []
    levels: dict[str, Series] = {}
    for name, by_epsilon in sorted(series.items()):
        if len(by_epsilon) < 2:
            continue
        ordered = [by_epsilon[epsilon] for epsilon in sorted(by_epsilon)]
        curves.append(_curve(name, [(record, record.scores) for record in ordered]))
        control = [(record, record.control) for record in ordered if record.control]
        if control:
            curves.append(_curve("its control (ε = 0)", control, "control"))
        for record in sorted(ordered, key=lambda record: len(record.runs)):
            if record.structure is not None:
                label = ", ".join([f"structure: {record.structure.name}", *_other_budgets(record)])
                levels[label] = Series(label, (), (_summary(record.structure),), role="structure")
    if curves:
        for record in records:
            if record.epsilon is None:
                role: Role = "structure" if record.method == "structure" else "no privacy"
                levels[_series(record)] = Series(_series(record), (), (_summary(record.scores),), role=role)
    return [*curves, *(levels[label] for label in sorted(levels))]


def _results(name: str, task: str, records: Sequence[Record]) -> Section:
    metric = records[0].metric
    drawn = lines(records)
    svg = epsilon_chart(drawn, f"{name}, {task}", metric).svg() if drawn else ""
    return Section(f"{name}: {metric}, {task}", (), svg, rows(records))


def _cells(record: Record) -> tuple[str, ...]:
    return (
        _method(record),
        *(NONE if number is None else f"{number:g}" for number in (record.epsilon, *_label_and_link(record))),
        points(record.scores.mean),
        low_to_high(record),
        gained(record.gain),
        _mean(record.control),
        _mean(record.structure),
        _mean(record.unasked),
        gain_verdict(record) or NONE,
        _mechanism(record),
        record.backbone or NONE,
        _privacy(record),
        f"{len(record.runs)}, interrupted" if record.interrupted else str(len(record.runs)),
    )


def _mean(scores: Scores | None) -> str:
    return NONE if scores is None else points(scores.mean)


def _privacy(record: Record) -> str:
    """What a user has spent, by subject."""
    spent = record.privacy
    if spent is not None and not spent.raw and _reads_features(record.method):
        # Results that were kept before records named what was read.
        spent = spent.model_copy(update={"raw": ["features"]})
    return NONE if spent is None else spent.cell


def _reads_features(method: str) -> bool:
    try:
        return find_method(method).reads_features
    except UnknownNameError:
        return False


def _method(record: Record) -> str:
    """A method with whatever it was set to."""
    prefixes = (MECHANISM_PREFIX, DATA_PREFIX)
    own = {key: value for key, value in record.setup.settings.items() if not key.startswith(prefixes)}
    return record.method + _told(own) + (f", seed {record.seed}" if record.seed else "")


def _mechanism(record: Record) -> str:
    if record.mechanism is None:
        return NONE
    setup = record.setup
    chosen: dict[str, object] = {
        "δ": setup.budgets.delta,
        "levels": setup.levels.levels,
        "budgets": setup.levels.budgets,
        "γ": setup.levels.gamma,
    }
    if setup.levels.level_distribution not in (None, "uniform"):
        chosen["distribution"] = setup.levels.level_distribution
    if not setup.turnout.complete:
        chosen |= {"participation": setup.turnout.participation, "silence": setup.turnout.silence}
    if setup.volunteers.panel is not None:
        chosen["panel"] = setup.volunteers.panel
    extra = {key: value for key, value in chosen.items() if value is not None}
    return record.mechanism + _told({**_below(record, MECHANISM_PREFIX), **extra})


def _below(record: Record, prefix: str) -> dict[str, object]:
    """Settings of one kind, without their prefix."""
    settings = record.setup.settings
    return {key[len(prefix) :]: value for key, value in settings.items() if key.startswith(prefix)}


def _told(options: dict[str, object]) -> str:
    """Options behind a name.

    >>> _told({"users": 400, "range": [0, 1]})
    ' (range=[0, 1], users=400)'
    """
    told = ", ".join(f"{key}={json.dumps(value, default=str)}" for key, value in sorted(options.items()))
    return f" ({told})" if told else ""


def _series(record: Record) -> str:
    """The name of a curve: all that two of its points have in common."""
    names = [
        _method(record),
        *(name for name in (_mechanism(record), record.backbone or NONE) if name != NONE),
    ]
    return ", ".join([*names, *_other_budgets(record)])


def _other_budgets(record: Record) -> list[str]:
    """The budgets of labels and links, where these are private."""
    budgets = zip(("label", "link"), _label_and_link(record), strict=True)
    return [f"{what} {budget(epsilon)}" for what, epsilon in budgets if epsilon is not None]


def _label_and_link(record: Record) -> tuple[float | None, float | None]:
    setup, spent = record.setup, record.privacy or Privacy()
    labels = setup.budgets.label_epsilon or (spent.labels.epsilon if spent.labels else None)
    links = setup.budgets.link_epsilon or (spent.links.epsilon if spent.links else None)
    return labels, links


def _curve(label: str, pairs: Sequence[tuple[Record, Scores]], role: Role = "method") -> Series:
    epsilons = tuple(record.epsilon for record, _ in pairs if record.epsilon is not None)
    return Series(label, epsilons, tuple(_summary(scores) for _, scores in pairs), role=role)


def _summary(scores: Scores) -> Summary:
    return Summary(scores.mean, scores.low, scores.high)


def _order(record: Record) -> tuple[object, ...]:
    """By graph, task, method and budget; never by where a result was found."""
    names = (graph_name(record), record.task, _series(record))
    return (*names, record.epsilon or 0.0, len(record.runs), record.identity, record.time or "")


def _about(records: Sequence[Record], graphs: int) -> str:
    versions = ", ".join(sorted({record.version for record in records if record.version}))
    times = sorted(record.time for record in records if record.time)
    lead = f"{counted(len(records), 'result')} on {counted(graphs, 'graph')}"
    lead += f", computed with graphveil {versions}" if versions else ""
    when = f" from {times[0]} to {times[-1]}" if times and times[0] != times[-1] else ""
    when = f" at {times[0]}" if times and not when else when
    return f"{lead}{when}."


NUMBER, GRAPH, TASK, TAGS, DATE = "no.", "graph", "task", "tags", "date"
RESULT, METHOD, SOURCE = "result", "method", "source"
# What a page has room for, and a terminal has not.
LONG = frozenset({"verdict", "privacy"})


def results_table(kept: Sequence[Kept], long: bool = False) -> Table:
    """One row a result, in this order; columns that say nothing about any of them are left out.

    A ``long`` one is for a page: it has verdict and privacy, the number beside the method, and neither graph nor task, which
    stand above it.
    """
    told = rows([each.record for each in kept])
    columns = {} if long else {NUMBER: [str(each.number) for each in kept]}
    if not long:
        columns[GRAPH] = [graph_name(each.record) for each in kept]
    if not long and any(each.record.task != "node" for each in kept):
        columns[TASK] = [each.record.task for each in kept]
    for place, name in enumerate(told.head):
        if long or name not in LONG:
            columns[name] = [row[place] for row in told.texts]
    if long:
        # One column, so that a narrow screen can keep both in sight.
        named = [f"{each.number} {method}" for each, method in zip(kept, columns.pop(METHOD), strict=True)]
        columns = {RESULT: named, **columns}
    if len({each.record.identity for each in kept}) < len(kept):
        # What tells results of the same experiment apart.
        columns[SOURCE] = [each.source[:SHOWN] or NONE for each in kept]
    if any(each.tags for each in kept):
        columns[TAGS] = [", ".join(each.tags) or NONE for each in kept]
    columns[DATE] = [(each.record.time or NONE)[: len("2026-01-01")] for each in kept]
    return Table(columns, zip(*columns.values(), strict=True), NUMBERS | {NUMBER, DATE})


def results_page(kept: Sequence[Kept], title: str) -> str:
    """Results on a page."""
    said = results_headline([each.record for each in kept])
    return page(
        title, said, [*_by_graph(kept), READING], FOOTER, about=f"{counted(len(kept), 'kept result')}."
    )


def comparison_page(comparison: Comparison, title: str) -> str:
    """How results compare, on a page, and below it the results."""
    kept = comparison.results
    about = f"{counted(len(kept), 'kept result')}, {counted(len(comparison.pairs), 'comparison')}."
    compared = Section("Comparison", table=comparison.table(), notes=tuple(comparison.sentences))
    return page(title, comparison.headline, [compared, *_by_graph(kept), READING], FOOTER, about=about)


def _by_graph(kept: Sequence[Kept]) -> list[Section]:
    """A figure, where there are several budgets, and a table for each graph and task, in the order in which they come."""
    groups: dict[str, list[Kept]] = {}
    for each in kept:
        record = each.record
        groups.setdefault(f"{graph_name(record)}: {record.metric}, {record.task}", []).append(each)
    return [
        Section(name, svg=_curves(name, group), table=results_table(group, long=True))
        for name, group in groups.items()
    ]


def _curves(name: str, kept: Sequence[Kept]) -> str:
    drawn = lines([each.record for each in kept])
    return epsilon_chart(drawn, name, kept[0].record.metric).svg() if drawn else ""
