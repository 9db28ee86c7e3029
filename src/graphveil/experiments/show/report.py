"""A report: many results on one page, each beside its control."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from graphveil.errors import GraphveilError, UnknownNameError
from graphveil.experiments.runs.export import write_whole
from graphveil.experiments.runs.format import NONE, budget, counted, gained, low_to_high, points
from graphveil.experiments.runs.privacy_record import Privacy
from graphveil.experiments.runs.records import Record, Scores, latest
from graphveil.experiments.runs.statistics import Summary
from graphveil.experiments.show.headline import gain_verdict, results_headline
from graphveil.experiments.show.line_styles import Role
from graphveil.experiments.show.page import Section, page
from graphveil.experiments.show.plot import Line, accuracy_over_epsilon
from graphveil.experiments.show.smoothing import HOW, MEANING, THEOREM, smoothing, spec_of
from graphveil.experiments.specs.spec import DATA_PREFIX, MECHANISM_PREFIX
from graphveil.experiments.table import Table
from graphveil.methods import find_method

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
    write_whole(out, report_html(records, title=title, energy=energy, hops=hops, tell=tell).encode())


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
            spec = spec_of(record)
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
    return Table(head, tuple(tuple(row[name] for name in head) for row in cells), NUMBERS)


def lines(records: Sequence[Record]) -> list[Line]:
    """The curves of all methods that were run at more than one ε, with their controls, and the levels beside them."""
    series: dict[str, dict[float, Record]] = {}
    for record in sorted(records, key=lambda record: len(record.runs)):
        if record.epsilon is not None:
            # At the same ε, the result with the most runs counts.
            series.setdefault(_series(record), {})[record.epsilon] = record
    curves: list[Line] = []
    levels: dict[str, Line] = {}
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
                levels[label] = Line(label, (), (_summary(record.structure),), "structure")
    if curves:
        for record in records:
            if record.epsilon is None:
                role: Role = "structure" if record.method == "structure" else "no privacy"
                levels[_series(record)] = Line(_series(record), (), (_summary(record.scores),), role)
    return [*curves, *(levels[label] for label in sorted(levels))]


def _results(name: str, task: str, records: Sequence[Record]) -> Section:
    metric = records[0].metric
    drawn = lines(records)
    svg = accuracy_over_epsilon(drawn, f"{name}, {task}", metric) if drawn else ""
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


def _curve(label: str, pairs: Sequence[tuple[Record, Scores]], role: Role = "method") -> Line:
    epsilons = tuple(record.epsilon for record, _ in pairs if record.epsilon is not None)
    return Line(label, epsilons, tuple(_summary(scores) for _, scores in pairs), role)


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
