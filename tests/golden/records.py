"""Commands, wrong ones too, with all that they print and write: a redesign must leave it as it was.

`python -m tests.golden.records [NAME …]` records them anew. A commit that changes a record says why.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

# As in all tests: sums of several threads differ in their last digit.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from tests.golden.commands import processor

HERE = Path(__file__).parent / "records"
TOWN, CORA = ["--data", "town", "--set", "data.users=400"], ["--data", "cora"]
RUN = ["--runs", "2", "--seed", "3", "--json"]
SHORT = ["--set", "epochs=4", *RUN]
ASKED = {
    "base": "1",
    "lpgnn": "1",
    "solitude": "1",
    "ldpge": "1",
    "upgnet": "1",
    "ppgnn": "1",
    "togl": "4",
    "heterorr": "2",
}

RUNS: dict[str, list[str]] = {
    **{f"{name}-{data[1]}": ["run", name, *data, *SHORT] for name in ("nonprivate", "ldpge-raw") for data in (TOWN, CORA)},
    **{
        f"{name}-{data[1]}": ["run", name, *data, "--epsilon", epsilon, *SHORT]
        for name, epsilon in ASKED.items()
        for data in (TOWN, CORA)
    },
    "structure-town": ["run", "structure", *TOWN, *RUN],
    "structure-cora": ["run", "structure", *CORA, "--runs", "1", "--json"],
    "veil-town": ["run", "veil", *TOWN, "--epsilon", "4", *RUN],
    "veil-cora": ["run", "veil", *CORA, "--epsilon", "4", "--runs", "1", "--json"],
    "levels": ["run", "ppgnn", *TOWN, "--epsilon", "0.5", "--budgets", "0.5,1,2", "--level-distribution", "strict", *SHORT],
    "levels-kprop": ["run", "ppgnn", *TOWN, "--epsilon", "1", "--levels", "3", "--gamma", "0.2", "--set", "aggregator=kprop", *SHORT],
    "private-labels": ["run", "lpgnn", *TOWN, "--epsilon", "1", "--label-epsilon", "2", *SHORT],
    "private-links": ["run", "solitude", *TOWN, "--epsilon", "1", "--link-epsilon", "8", *SHORT],
    "blink": ["run", "base", *TOWN, "--epsilon", "1", "--link-epsilon", "8", "--link-mechanism", "blink", *SHORT],
    "curator": ["run", "base", *TOWN, "--epsilon", "1", "--link-epsilon", "4", "--link-mechanism", "lapgraph", *SHORT],
    "panel": ["run", "veil", *TOWN, "--epsilon", "2", "--panel", "12", *RUN],
    "silence": ["run", "base", *TOWN, "--epsilon", "1", "--participation", "0.7", "--silence", "degree", *SHORT],
    "link-task": ["run", "ldpge", *TOWN, "--epsilon", "1", "--task", "link", *SHORT],
    "several-labels": ["run", "base", "--data", "town-labels", "--set", "data.users=400", "--epsilon", "4", *SHORT],
    "norms": ["run", "base", *TOWN, "--epsilon", "1", "--norm-epsilon", "1", *SHORT],
    "no-control": ["run", "base", *TOWN, "--epsilon", "1", "--no-control", *SHORT],
    "gaussian": ["run", "base", *TOWN, "--epsilon", "1", "--mechanism", "analytic-gaussian", *SHORT],
    "backbone": ["run", "upgnet", *TOWN, "--epsilon", "1", "--backbone", "gat", *SHORT],
    "budgets": ["run", "base", *TOWN, "--epsilon", "1,4", *SHORT],
}  # fmt: skip

SWEEPS = {
    f"sweep-{name}": ["sweep", name, "--quick", "--json", "--out", "{out}/figure.svg"]
    for name in ("heterorr-gamma", "inference", "silence", "togl-pool", "ppgnn-weights")
}
PAPERS = {
    f"paper-{name.replace('/', '-')}": ["paper", name, "--quick", "--json", *more]
    for name, more in {
        "heterorr/fig10": ["--out", "{out}/figure.svg"],
        "ldpge/table3": ["--data", "cora", "--column", "ε = 1"],
        "ppgnn/table3": ["--data", "cora"],
        "togl/table9": [],
        "upgnet/table2": ["--data", "cora", "--column", "ε = 1"],
    }.items()
}
LEARNED = ["base", *TOWN, "--epsilon", "4", "--set", "epochs=4"]
OTHERS: dict[str, list[list[str]]] = {
    "tune": [["tune", "base", *TOWN, "--epsilon", "4", "--set", "epochs=4", "--trials", "3", "--runs", "2", "--out", "{out}/best.toml", "--json"]],
    **{f"attack-{kind}": [["attack", kind, *TOWN, *more, "--runs", "2", "--json"]] for kind, more in {
        "attribute": ["--epsilon", "2"],
        "level": ["--mechanism", "ppm-printed", "--epsilon", "0.5"],
        "link": ["--mechanism", "link-rr", "--epsilons", "1,4"],
        "label": ["--epsilon", "1"],
        "membership": ["--feature-epsilon", "4", "--epsilon", "1", "--set", "epochs=4", "--set", "data.labelled=0.3"],
    }.items()},
    "attributes": [["attributes", *TOWN, "--epsilon", "4", "--top", "8", "--runs", "2", "--json"]],
    "advise-budget": [["advise", "budget", *TOWN, "--epsilon", "1,4", "--json"]],
    "advise-levels": [["advise", "levels", "--data", "town", "--epsilon", "0.5", "--levels", "4", "--json"]],
    "advise-poisoning": [["advise", "poisoning", *TOWN, "--epsilon", "2", "--share", "0.05", "--set", "epochs=4", "--json"]],
    "kept-results": [
        ["run", *LEARNED, "--runs", "3"],
        ["run", "lpgnn", *TOWN, "--epsilon", "4", "--set", "epochs=4", "--runs", "3"],
        ["results"],
        ["results", "--json"],
        ["results", "--out", "{out}/results.csv"],
        ["results", "--out", "{out}/results.json"],
        ["results", "--out", "{out}/results.html"],
        ["compare", "base", "lpgnn", "--json"],
        ["compare", "1", "2"],
        ["report", "--no-energy", "--out", "{out}/report.html"],
    ],
    "predict": [["predict", *LEARNED, "--out", "{out}/predictions.csv", "--json"]],
    "embed": [["embed", *LEARNED, "--dims", "4", "--out", "{out}/embedding.npz", "--json"]],
}  # fmt: skip

# Wrong calls: each ends with status 2 and a sentence.
WRONG: list[list[str]] = [
    ["run"],
    ["run", "bas", *TOWN, "--epsilon", "1"],
    ["run", "base", *TOWN],
    ["run", "base", "--epsilon", "1"],
    ["run", "structure", *TOWN, "--epsilon", "1"],
    ["run", "base", "--data", "nowhere", "--epsilon", "1"],
    ["run", "base", "--data", "{out}/nothing.npz", "--epsilon", "1"],
    ["run", "base", *TOWN, "--epsilon", "-1"],
    ["run", "base", *TOWN, "--epsilon", "nan"],
    ["run", "base", *TOWN, "--epsilon", "one"],
    ["run", "base", *TOWN, "--epsilon", "1", "--mechanism", "multibits"],
    ["run", "base", *TOWN, "--epsilon", "1", "--mechanism", "krr"],
    ["run", "base", *TOWN, "--epsilon", "1", "--backbone", "gnc"],
    ["run", "base", *TOWN, "--epsilon", "1", "--task", "edges"],
    ["run", "base", *TOWN, "--epsilon", "1", "--runs", "0"],
    ["run", "base", *TOWN, "--epsilon", "1", "--set", "epoch=3"],
    ["run", "base", *TOWN, "--epsilon", "1", "--set", "epochs=many"],
    ["run", "base", *TOWN, "--epsilon", "1", "--set", "epochs"],
    ["run", "base", *TOWN, "--epsilon", "1", "--settings", "{out}/nothing.toml"],
    ["run", "base", *TOWN, "--epsilon", "1", "--range", "1,0"],
    ["run", "base", *TOWN, "--epsilon", "1", "--link-epsilon", "1", "--link-mechanism", "blank"],
    ["run", "base", *TOWN, "--epsilon", "1", "--participation", "2"],
    ["run", "base", *TOWN, "--epsilon", "1", "--levels", "3"],
    ["run", "base", *TOWN, "--epsilon", "1", "--panel", "5"],
    ["run", "base", *TOWN, "--epsilon", "1", "--delta", "0.1"],
    ["run", "base", *TOWN, "--epsilon", "1", "--jobs", "0"],
    ["run", "base", *TOWN, "--epsilon", "1", "--engine", "spark"],
    ["run", "base", *TOWN, "--epsilon", "1", "--unknown"],
    ["sweep", "nothing"],
    ["sweep", "silence", "--measure", "beauty"],
    ["paper", "upgnet/table9"],
    ["paper", "nobody"],
    ["tune", "base", *TOWN, "--epsilon", "1", "--trials", "0"],
    ["attack", "attribute", *TOWN],
    ["attack", "level", *TOWN, "--mechanism", "multibit", "--epsilon", "1"],
    ["attributes", *TOWN, "--epsilon", "4", "--analysis", "guess"],
    ["advise", "levels", "--data", "town", "--epsilon", "1", "--levels", "0"],
    ["compare", "base", "upgnet"],
    ["results", "99"],
    ["results", "--sort", "beauty"],
    ["predict", *LEARNED, "--out", "{out}/predictions.xls"],
    ["embed", *LEARNED, "--out", "{out}/embedding.doc"],
    ["report", "{out}/nothing", "--out", "{out}/report.html"],
    ["audit", "multibits"],
    ["frobnicate"],
]  # fmt: skip

SESSIONS: dict[str, list[list[str]]] = {
    **{name: [call] for name, call in {**RUNS, **SWEEPS, **PAPERS}.items()},
    **OTHERS,
    "wrong-calls": WRONG,
}
# What differs from one run, or one version, to the next.
MEASURED = frozenset({"seconds", "peak_mb", "version", "source", "date", "at", "made", "time", "took"})
TIMES = re.compile(r"\d+(\.\d+)? ?(s|ms|min|h|MB|GB)\b|\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?)?")


def needs(name: str) -> str | None:
    """The graph that a session needs beside the town, if any."""
    return (
        "cora" if any("cora" in word for call in SESSIONS[name] for word in call) or name in OF_CORA else None
    )


# Sessions whose files name cora.
OF_CORA = ("paper-togl-table9",)


def surface() -> dict[str, list[str]]:
    """Every command with its options, and the names that `graphveil` exports."""
    import typer

    import graphveil
    from graphveil.cli import app

    found: dict[str, list[str]] = {"graphveil": sorted(graphveil.__all__)}

    def walk(command: Any, path: str) -> None:
        options = [name for each in command.params for name in (*each.opts, *each.secondary_opts)]
        found[path] = sorted(options)
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, f"{path} {name}")

    walk(typer.main.get_command(app), "$")
    return found


def outcome(name: str, folder: Path) -> list[dict[str, Any]]:
    """What each call of a session gives: exit status, what it prints, and what it writes to the folder."""
    return [_called([word.replace("{out}", str(folder)) for word in call], folder) for call in SESSIONS[name]]


def _called(call: list[str], folder: Path) -> dict[str, Any]:
    from graphveil.cli import status

    printed, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said), contextlib.chdir(folder):
        code = status(call)
    told: dict[str, Any] = {"exit": code}
    text = printed.getvalue()
    parsed = "--json" in call and code == 0
    told["printed"] = (
        cleaned(json.loads(text.replace(str(folder), "{out}"))) if parsed else _lines(text, folder)
    )
    if code:
        told["said"] = _lines(said.getvalue(), folder)
    told["files"] = {file.name: _content(file) for file in sorted(folder.glob("*.*")) if file.is_file()}
    for file in folder.glob("*.*"):
        if file.is_file():
            file.unlink()
    return told


def cleaned(value: Any) -> Any:
    """JSON without what is measured."""
    if isinstance(value, dict):
        return {key: cleaned(each) for key, each in value.items() if key not in MEASURED}
    if isinstance(value, list):
        return [cleaned(each) for each in value]
    return value


def _lines(text: str, folder: Path) -> list[str]:
    text = text.replace(str(folder), "{out}").replace(os.environ["GRAPHVEIL_CACHE"], "{cache}")
    text = TIMES.sub("#", text)
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def _content(file: Path) -> Any:
    """What a file says, as far as it is the same each time."""
    if file.suffix == ".npz":
        with np.load(file) as arrays:
            return {key: _digest(arrays[key]) for key in arrays.files if arrays[key].dtype.kind != "U"}
    text = file.read_text(encoding="utf-8").replace(str(file.parent), "{out}")
    if file.suffix == ".json":
        return cleaned(json.loads(text))
    if file.suffix in (".html", ".svg"):
        return re.findall(r"<(?:h1|h2|h3|th|title)[^>]*>([^<]+)<", text)
    if file.suffix == ".csv":
        return _columns(text)
    return TIMES.sub("#", text).splitlines()


def _columns(text: str) -> dict[str, list[str]]:
    import csv

    rows = list(csv.DictReader(io.StringIO(text)))
    columns = {key: [row[key] for row in rows[:20]] for key in (rows[0] if rows else {})}
    return {key: each for key, each in columns.items() if not any(word in key for word in MEASURED)}


def _digest(array: Any) -> list[Any]:
    rounded = np.round(array, 5) + 0.0 if array.dtype.kind == "f" else array
    return [list(array.shape), str(array.dtype), hashlib.sha256(rounded.tobytes()).hexdigest()[:16]]


def record(names: list[str]) -> None:
    """Write what some sessions give, or all."""
    HERE.mkdir(exist_ok=True)
    os.environ.setdefault("COLUMNS", "120")
    if not names:
        written = json.dumps(surface(), indent=1, ensure_ascii=False)
        (HERE / "surface.json").write_text(written + "\n", encoding="utf-8")
    for name in names or SESSIONS:
        with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as folder:
            os.environ["GRAPHVEIL_CACHE"] = cache
            told = {"processor": processor(), "calls": outcome(name, Path(folder))}
        (HERE / f"{name}.json").write_text(
            json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        print(name, [call["exit"] for call in told["calls"]], flush=True)


if __name__ == "__main__":
    record(sys.argv[1:])
