"""A result as a table and in sentences, as a terminal prints it and Python shows it."""

from __future__ import annotations

from typing import Any

from graphveil.experiments.runs.format import (
    ONE_RUN,
    budget,
    counted,
    gained,
    low_to_high,
    percent,
    points,
    rounded,
)
from graphveil.experiments.runs.privacy_record import Privacy
from graphveil.experiments.runs.statistics import Summary
from graphveil.experiments.table import Table

Row = tuple[str, str, str]


def result_text(fields: dict[str, Any]) -> str:
    """Table and sentences as plain text; ``fields`` are those of `Result.to_dict`."""
    return "\n".join([result_table(fields).text(), *result_sentences(fields)])


def result_table(fields: dict[str, Any]) -> Table:
    """What it is, its mean, and its interval: a row for the method and for all that it is compared with."""
    head, *rows = result_rows(fields)
    return Table.of(head, rows)


def result_summary(fields: dict[str, Any], interrupted: bool = False) -> str:
    """A result in a line or two: what it is, what it reached beside its control, and the verdict."""
    if "mean" not in fields:
        return f"Result({fields['method']} on {fields['data']}: no run is finished)"
    mean, interval = numbers(fields)
    runs = counted(len(fields["runs"]), "run")
    told = f"{fields['metric']} {mean} ({runs if interval == ONE_RUN else f'{interval}, {runs}'}"
    told += ", interrupted)" if interrupted else ")"
    if fields["control"]:
        told += f", control {numbers(fields['control'])[0]}"
    if fields["gain"]:
        told += f", gain {gained(Summary(**fields['gain']))}"
    at = "" if fields["epsilon"] is None else f", {_budget(fields)}"
    verdict = f"\n{fields['verdict']}" if fields["verdict"] else ""
    return f"Result({fields['method']} on {fields['data']}{at}: {told}){verdict}"


def result_rows(fields: dict[str, Any]) -> list[Row]:
    """The lines of the table, the head first: what it is, its mean, and its interval."""
    rows: list[Row] = [(f"{fields['metric']} on {fields['data']}", "mean", "95% interval")]
    name = fields["method"]
    if fields["epsilon"] is not None:
        name = f"{name}, {fields['mechanism']}, {_budget(fields)}"
    rows.append((name, *numbers(fields)))
    if fields["control"]:
        rows.append(("control, ε = 0", *numbers(fields["control"])))
    if fields["structure"]:
        rows.append((f"structure ({fields['structure']['name']})", *numbers(fields["structure"])))
    if fields["gain"]:
        rows.append(("gain over the control", *numbers(fields["gain"], signed=True)))
    if "edgeless" in fields:
        some = fields["also"].get("links_public", {"mean": 0})["mean"] > 0
        same, other = ("with public links alone", "public links") if some else ("without edges", "no edges")
        rows.append((f"the same {same}", *numbers(fields["edgeless"])))
        rows.append((f"gain over {other}", *numbers(fields["gain_over_edgeless"], signed=True)))
    if "unasked" in fields:
        rows.append(("the same with volunteers alone", *numbers(fields["unasked"])))
        rows.append(("gain over volunteers alone", *numbers(fields["gain_over_unasked"], signed=True)))
    if fields["gain_over_structure"]:
        rows.append(("gain over structure", *numbers(fields["gain_over_structure"], signed=True)))
    return rows


def result_sentences(fields: dict[str, Any]) -> list[str]:
    """What stands below the table: the verdict, what was measured besides, who answered, and what it cost."""
    told = [fields["verdict"]] if fields["verdict"] else []
    also = fields.get("also", {})
    if "norm_error" in also:
        told.append(norm_line(fields))
    if "links_kept" in also:
        told.append(links_line(also))
    if "workers" in also:
        told.append(workers_line(also))
    if fields["answered"]["answered"] < fields["answered"]["asked"]:
        told.append(turnout_line(fields))
    if fields["privacy"] is not None:
        told.append(Privacy.model_validate(fields["privacy"]).sentence)
    return told


def _budget(fields: dict[str, Any]) -> str:
    """The ε of a result; where users choose a level, from the strictest to the most relaxed."""
    features = (fields["privacy"] or {}).get("features") or {}
    levels = features.get("per_level")
    return f"{budget(levels[0])} to {levels[-1]:g} by level" if levels else budget(fields["epsilon"])


def links_line(also: dict[str, Any]) -> str:
    """How many pairs the private graph has, and what is known of the others."""
    kept, left_out = (also[name]["mean"] for name in ("links_kept", "links_left_out"))
    if "links_public" in also:
        public = also["links_public"]["mean"]
        return f"private graph: {kept:,.0f} pairs, {public:,.0f} of them public links"
    return f"private graph: {kept:,.0f} pairs; {left_out:,.1f} links are expected among reported pairs that were left out"


def workers_line(also: dict[str, Any]) -> str:
    """How many workers shared each run, and the memory and the traffic of each."""
    count = round(also["workers"]["mean"])

    def each(name: str) -> str:
        return ", ".join(f"{also[f'worker_{rank}_{name}']['mean']:,.0f}" for rank in range(count))

    if count == 1:
        return f"one worker held the whole graph, in {each('peak_mb')} MB, {each('beyond_mb')} of them beyond libraries"
    return (
        f"{count} workers shared each run: peaks {each('peak_mb')} MB, beyond libraries {each('beyond_mb')} MB, for {each('users')} "
        f"users of their own and {each('halo_rows')} rows sent for a hop; sent {each('sent_mb')} MB"
    )


def norm_line(fields: dict[str, Any]) -> str:
    """How well norms were predicted, beside the control and one guess for everybody."""
    error, control = fields["also"]["norm_error"], fields["control"]
    interval = "" if error["low"] is None else f" ({rounded(error['low'])} to {rounded(error['high'])})"
    beside = "" if control is None else f", control {rounded(control['also']['norm_error']['mean'])}"
    constant = rounded(fields["also"]["norm_constant"]["mean"])
    return f"norm: mean absolute error {rounded(error['mean'])}{interval}{beside}, constant guess {constant}"


def turnout_line(fields: dict[str, Any]) -> str:
    """Who answered, and how they differ from all."""
    asked, answered, also = fields["answered"]["asked"], fields["answered"]["answered"], fields["also"]
    degrees = percent(also["degree_bias"]["mean"], "+.1f")
    # Where users have several labels each, there is no class to differ by.
    differ = f"their links differ from everybody's by {degrees}"
    if "class_bias" in also:
        differ = f"their classes differ from everybody's by {percent(also['class_bias']['mean'])}, their links by {degrees}"
    return f"{answered:,} of {asked:,} users who were asked answered, and all were charged; {differ}"


def numbers(fields: dict[str, Any], signed: bool = False) -> tuple[str, str]:
    """Mean and interval in points."""
    summary = Summary(fields["mean"], fields["low"], fields["high"])
    return points(summary.mean, signed), low_to_high(summary, signed)
