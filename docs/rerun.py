"""Compute lines of the documentation's tables again, through graphveil's own experiments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from docs import veil_lines
from docs.printed import PRINTED, lines
from docs.results_file import Row, experiment, names, read, source_digest, write
from graphveil import __version__
from graphveil.attacks import Campaign
from graphveil.audit.findings import ExactText
from graphveil.experiments.attribute_study import compare_rankings
from graphveil.experiments.demo import EPOCHS, MECHANISM, Demo, run_demo
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.measures import SCORE, Reading, find_measure
from graphveil.experiments.runner import RunOptions, run_study
from graphveil.experiments.study import Cell, Study
from graphveil.number_format import Unit
from graphveil.statistics import SPREADS, Summary
from reproduce.attack_family import reports_case, sound_cases

# Tables that are not lines of `graphveil run`.
DEMO, ATTRIBUTES, ATTACKS, BOUNDS = "demo", "attributes", "attacks", "attack-bounds"
DEMO_RUNS = 5


def rerun(name: str, jobs: int, data: Sequence[str] = ()) -> None:
    """Compute a table again, or its lines on some graphs alone, and write its file after every line."""
    if name in (DEMO, ATTACKS):
        rows = _demo(jobs) if name == DEMO else _attacks()
        write(name, [signed_off(row) for row in rows])
        return
    if name == BOUNDS:
        rows = []
        for case in (*sound_cases(), reports_case("level", "ppm-printed")):
            rows += [signed_off(row) for row in bound_rows(case.name, case.campaign())]
            write(name, rows)
        return
    again = _ranked if name == ATTRIBUTES else _run
    rows = lines(PRINTED[name].printed) if name in PRINTED and name not in names() else []
    rows = rows or (veil_lines.declared(name) if name in veil_lines.TABLES else read(name))
    for place, row in enumerate(rows):
        if not data or row["data"] in data:
            rows[place] = signed_off(again(row, jobs))
            write(name, veil_lines.computed(rows) if name in veil_lines.TABLES else rows)


def signed_off(row: Row) -> Row:
    """A line with the code that computed it."""
    return {**row, "version": __version__, "source": source_digest()}


def percent(value: float | None) -> str:
    """A score or a difference of scores as files have it.

    >>> percent(0.84713), percent(None)
    ('84.71', '')
    """
    return "" if value is None else f"{100 * value:.2f}"


def summarized(told: dict[str, Any]) -> Row:
    """What a file has of a result, from what `graphveil run --json` prints of it."""
    row = {key: percent(told[key]) for key in ("mean", "low", "high")}
    for part in ("control", "structure", "gain"):
        if told[part] is not None:
            row[part] = percent(told[part]["mean"])
            row |= {f"{part}_{end}": percent(told[part][end]) for end in ("low", "high")}
    for part in ("structure", "unasked"):
        if (over := told.get(f"gain_over_{part}")) is not None:
            row |= gained(part, Summary(over["mean"], over["low"], over["high"]))
    if "unasked" in told:
        row["unasked"] = percent(told["unasked"]["mean"])
    if "edgeless" in told:
        row["edgeless"] = percent(told["edgeless"]["mean"])
        over = told["gain_over_edgeless"]
        row |= {
            "edge_gain": percent(over["mean"]),
            **{f"edge_gain_{end}": percent(over[end]) for end in ("low", "high")},
        }
    return row | {name: f"{found['mean']:.4f}" for name, found in told.get("also", {}).items()}


def gained(part: str, over: Summary | None) -> Row:
    """What a file has of a gain over another part than the control."""
    if over is None:
        return {}
    ends = {f"over_{part}_{end}": percent(getattr(over, end)) for end in ("low", "high")}
    return {f"over_{part}": percent(over.mean), **ends}


def read_off(reading: Reading, unit: Unit) -> Row:
    """What a file has of another measure than the score, in its unit."""
    row = {"note": reading.note}
    for part, summary in reading.parts.items():
        names = {"mean": part, **{end: f"{part}_{end}" for end in ("low", "high")}}
        for key, name in names.items():
            value = getattr(summary, key)
            row[key if part == "method" else name] = "" if value is None else f"{unit.factor * value:.6g}"
    return row


def _run(row: Row, jobs: int) -> Row:
    """A line computed again; runs that this very source has finished before are taken as they are."""
    measure, spec = find_measure(row.get("measure") or SCORE), Experiment.of(**experiment(row))
    if measure.read is None:
        return row | read_off(measure.of(spec), measure.unit)
    study = Study("line", "a line", (Cell(spec, measure=measure),))
    (outcome,) = run_study(study, RunOptions(jobs)).outcomes
    result = outcome.result
    if result is None:
        raise KeyboardInterrupt
    if measure.name != SCORE:
        return row | read_off(outcome.reading, measure.unit)
    form = row.get("spread_form")
    spread = {"spread": percent(SPREADS[form].of(result.scores("method")))} if form else {}
    return row | summarized(result.to_dict()) | spread


def _ranked(row: Row, jobs: int) -> Row:
    top = int(row["top"])
    told = compare_rankings(Experiment.of(**experiment(row)), top=top).to_dict()
    agreed, stable = told["agreement"], told["stability"]
    found = {"agreement": agreed["share"], "agreement_control": agreed["control"]}
    found |= {"agreement_chance": agreed["chance"]}
    return row | {
        **{key: f"{top * share:.3f}" for key, share in found.items()},
        "jaccard": f"{stable['jaccard']:.4f}",
        "jaccard_control": f"{stable['control']:.4f}",
        "jaccard_chance": f"{stable['chance']:.4f}",
    }


def _demo(jobs: int) -> list[Row]:
    """The README's table."""
    *_, demo = run_demo(DEMO_RUNS, jobs, lambda what, done, total: None)
    return demo_rows(demo)


def demo_rows(demo: Demo) -> list[Row]:
    """The demonstration's lines, the largest budget first."""
    assert demo.plain is not None and demo.structure is not None
    shared = {"data": "town", "runs": str(DEMO_RUNS), "seed": "0", "task": "node"}
    epochs = {"settings": {"epochs": EPOCHS}}
    plain = {"line": "none", "method": "nonprivate", "more": json.dumps(epochs), "exact": "no privacy"}
    over = gained("structure", demo.plain_gain)
    rows = [shared | plain | summarized(demo.plain.to_dict()) | over]
    for result in sorted(demo.private, key=lambda result: -(result.epsilon or 0)):
        epsilon, method = result.epsilon, result.method
        more = {"mechanism": MECHANISM} | (epochs if method == "base" else {})
        line = {
            "line": f"ε = {epsilon:g}",
            "method": method,
            "epsilon": f"{epsilon:g}",
            "more": json.dumps(more),
        }
        over = gained("structure", result.gain_over_structure)
        exact = demo.exact(result)
        digits = exact.digits if isinstance(exact, ExactText) else exact
        rows.append(shared | line | summarized(result.to_dict()) | over | {"exact": digits})
    numbers = {key: percent(getattr(demo.structure, key)) for key in ("mean", "low", "high")}
    line = {"line": "-", "method": "structure", "exact": "nobody asked"}
    return [*rows, shared | line | numbers]


def _attacks() -> list[Row]:
    """Attribute inference from neighbours' reports at ε = 5: split by seed 0, reports by seed 1."""
    import graphveil as gv
    from graphveil.attacks import attribute_inference

    rows = []
    for data in ("cora", "town"):
        graph, users = gv.load(data, seed=0)
        plan = gv.Plan(
            mechanism="piecewise",
            epsilon=5.0,
            dims=graph.feature_count,
            range=(graph.public_range.low, graph.public_range.high),
            binary=True,
        )
        reports = users.declare(5.0, seed=1).report(plan)
        blind = users.declare(5.0, seed=1, blind=True).report(plan)
        found = {
            "reports": attribute_inference(graph, users, reports),
            "the control: blinded reports": attribute_inference(graph, users, blind),
            "no privacy": attribute_inference(graph, users, None),
        }
        commonest = {"accuracy": found["reports"].commonest, "balanced": 0.5}
        numbers = {"always the commonest value": commonest}
        numbers |= {line: {"accuracy": one.accuracy, "balanced": one.balanced} for line, one in found.items()}
        for line, each in numbers.items():
            for measure, value in each.items():
                about = {"line": line, "column": f"{data}, {measure}", "data": data, "epsilon": "5"}
                rows.append(about | {"runs": "1", "seed": "0", "mean": percent(value)})
    return rows


def bound_rows(name: str, campaign: Campaign) -> list[Row]:
    """An attack over its budgets, beside control, chance and bound."""
    rows = []
    for told in (point.to_dict() for point in campaign.points):
        row = {"line": name, "column": f"ε = {told['epsilon']:g}", "data": campaign.data}
        row |= {"epsilon": f"{told['epsilon']:g}", "runs": str(len(told["runs"])), "seed": str(campaign.seed)}
        row |= {key: percent(told[key]) for key in ("mean", "low", "high", "chance", "bound")}
        row |= {"control": percent(told["control"]["mean"])}
        rows.append(row | {"right": str(told["right"]), "guesses": str(told["guesses"])})
    return rows
