"""Options that several commands take, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphveil.methods import BACKBONE_NAMES

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
Epsilon = Annotated[float | None, typer.Option(help="The budget for features.")]
Delta = Annotated[float | None, typer.Option(help="The δ of Gaussian mechanisms; 1e-5 by default.")]
MechanismName = Annotated[
    str,
    typer.Option(
        help="A name from `graphveil mechanisms`, or FILE.py:NAME; the method's own by default.",
        show_default=False,
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
    str, typer.Option("--task", help="What to predict: node (classes of users) or link (held-out links).")
]
SettingPairs = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="KEY=VALUE, a setting of the method; mechanism.KEY and data.KEY are the mechanism's and the loader's.",
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
LinkEpsilon = Annotated[
    float | None,
    typer.Option(help="Make links private too, where a method asks for them: the budget a link."),
]
LinkMechanismName = Annotated[str, typer.Option(help="How users report their links.")]
LevelCount = Annotated[
    int | None,
    typer.Option(
        "--levels", help="How many privacy levels users choose from; the strictest one's budget is --epsilon."
    ),
]
LevelBudgets = Annotated[
    str | None,
    typer.Option("--budgets", help="E1,E2,…: the budgets of the levels; ε, 2ε, 4ε, … by default."),
]
Gamma = Annotated[
    float | None,
    typer.Option(help="The share of the strictest budget that hides the level; 0.1 by default."),
]
LevelDistribution = Annotated[
    str,
    typer.Option(help="Which levels users choose: uniform, strict, relaxed, bimodal, or a file of levels."),
]
NormEpsilon = Annotated[
    float | None,
    typer.Option(
        help="Also learn to predict how long each user's row of features is (its norm): "
        "reports of training and validation users cost this much more."
    ),
]
NormBound = Annotated[
    float | None,
    typer.Option(help="What norms are publicly known not to exceed; by default what the range allows."),
]
RangePair = Annotated[
    str | None, typer.Option("--range", help="LOW,HIGH: the public range, where the data names none.")
]
MaxMemory = Annotated[float | None, typer.Option(help="Refuse a dense matrix above so many gigabytes.")]
Device = Annotated[str, typer.Option(help="auto (a GPU if there is one), cpu or cuda.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
