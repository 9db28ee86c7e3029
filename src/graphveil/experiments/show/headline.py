"""What kept results say together, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from graphveil.experiments.runs.format import budget, counted, gained, points
from graphveil.experiments.runs.records import Record

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
