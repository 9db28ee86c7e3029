"""Options that several commands take, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphveil.methods import BACKBONE_NAMES
from graphveil.methods.tasks import find_task, task_names

MethodName = Annotated[
    str, typer.Argument(help="A name from `graphveil methods`, or FILE.py:NAME for one of your own.")
]
DataName = Annotated[
    str,
    typer.Option(
        "--data",
        help="A name from `graphveil data list`, the path of an .npz file, or a function as FILE.py:NAME.",
    ),
]
BackboneName = Annotated[
    str,
    typer.Option(
        help=f"One of {', '.join(BACKBONE_NAMES)}, or FILE.py:NAME; the method's own by default.",
        show_default=False,
    ),
]
TaskName = Annotated[
    str,
    typer.Option(
        "--task",
        help=f"What to predict: {' or '.join(f'{name} ({find_task(name).summary})' for name in task_names())}.",
    ),
]
SettingPairs = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="KEY=VALUE, a setting of the method; mechanism.KEY and data.KEY are the mechanism's and the loader's. A list stands in "
        "brackets: 'mechanism.shares=[0.5,0.5]'.",
    ),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        help="A TOML or JSON file of settings, as `graphveil tune` writes it; --set overrides it.",
    ),
]
LabelEpsilon = Annotated[
    float | None, typer.Option(help="Make labels private too: the budget of training and validation labels.")
]
RangePair = Annotated[
    str | None, typer.Option("--range", help="LOW,HIGH: the public range, where the data names none.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        help="How many processes; it changes no number. One by default, on Ray as many as it has processors.",
        show_default=False,
    ),
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        help="What computes: local (processes of this machine), ray (started for this command), ray://HOST:PORT or ray://auto (one that "
        "is running). It changes no number.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        help="How many workers share the learning of one run, a part of the graph each: processes of this machine, or of Ray with --engine ray."
    ),
]
CheckpointEvery = Annotated[
    int,
    typer.Option(
        help="With --workers: each so many epochs they write down how far they are, so that a run goes on where one of them, or this command, was lost.",
    ),
]
Resume = Annotated[
    bool,
    typer.Option("--resume/--fresh", help="Reuse runs that are finished already, or compute all anew."),
]
AnyVersion = Annotated[
    bool,
    typer.Option("--any-version", help="Reuse what another version of graphveil has computed, and say so."),
]
