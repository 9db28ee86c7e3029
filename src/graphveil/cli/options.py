"""Options that several commands take, each declared once, and how they are read: groups of options are data classes."""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from graphveil.checks import short
from graphveil.engine.crew import EVERY
from graphveil.engine.engine import Engine
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.experiment_file import NONE, read_settings
from graphveil.methods import BACKBONE_NAMES
from graphveil.methods.tasks import find_task, task_names
from graphveil.methods.terms import Budgets, Levels, Machine, Turnout, Volunteers, record_fields
from graphveil.number_format import exact_text
from graphveil.plugins import plain_name


def all_settings(method: str, file: Path | None, pairs: list[str]) -> dict[str, Any]:
    """The settings of a file, if one is given, and over them those of --set."""
    return {**({} if file is None else read_settings(file, method)), **parse_settings(pairs)}


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """KEY=VALUE pairs, values as numbers, true, false, none, lists or text.

    >>> parse_settings(["epochs=20", "lr=0.1", "activation=relu", "mechanism.shares=[0.5, 0.5]"])
    {'epochs': 20, 'lr': 0.1, 'activation': 'relu', 'mechanism.shares': [0.5, 0.5]}
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise InputError(f"--set takes KEY=VALUE, got {pair!r}: for example --set epochs=20")
        key, text = key.strip(), text.strip()
        settings[key] = parse_list(key, text) if text.startswith("[") else parse_value(text)
    return settings


def parse_list(key: str, text: str) -> list[Any]:
    """A list, as TOML or JSON has it; single words need no quotes.

    >>> parse_list("sizes", "[16, 8]"), parse_list("names", "[sage, 'g c n']"), parse_list("pairs", "[[0, 1], []]")
    ([16, 8], ['sage', 'g c n'], [[0, 1], []])
    """
    # Bare words get quotes; numbers, and what has quotes, stay as they are.
    quoted = re.sub(QUOTED_OR_BARE, lambda found: found[1] or _written(found[2]), text)
    try:
        (value,) = tomllib.loads(f"value = {quoted}").values()
        return _without_none(value)
    except (ValueError, TypeError, RecursionError):
        raise InputError(
            f"--set {key} takes a list in brackets with commas between its values, got {short(text)}: for example --set "
            f"'{key}=[0.5,0.5]'"
        ) from None


# A text in quotes, or a word without.
QUOTED_OR_BARE = re.compile(r"""("[^"]*"|'[^']*')|([^\s,\[\]"'=#]+)""")


def _written(word: str) -> str:
    """A bare word as TOML has it."""
    value = parse_value(word)
    return json.dumps(NONE if value is None else value)


def _without_none(values: list[Any]) -> list[Any]:
    return [
        _without_none(value) if isinstance(value, list) else None if value == NONE else value
        for value in values
    ]


def parse_value(text: str) -> Any:
    """A number, true, false, none, or the text itself."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parse_numbers(option: str, text: str | None) -> tuple[float, ...] | None:
    """E1,E2,… behind an option as numbers.

    >>> parse_numbers("budgets", "0.5,1,2")
    (0.5, 1.0, 2.0)
    """
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"--{option} takes numbers with commas between them, got {text!r}: for example --{option} 1,2,4"
        ) from None


def parse_range(text: str) -> tuple[float, float]:
    """LOW,HIGH as two numbers."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"--range takes LOW,HIGH, two numbers, got {text!r}: for example --range 0,1"
        ) from None
    return low, high


def range_option(text: str | None) -> dict[str, Any]:
    """What the loader is told of --range: nothing, where it is not given.

    >>> range_option("0,1")
    {'range': (0.0, 1.0)}
    """
    return {} if text is None else {"range": parse_range(text)}


# The type of an option that takes several numbers: it is written as text, with commas between them.
NUMBERS = tuple[float, ...] | None


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters may be data classes: it takes their fields as options, in that place, and puts them together.

    A field may be a data class itself. What `--help` says of a field stands in its metadata, or in its type as typer has it.
    Where the command has a parameter of the same name, that one is the option, and the field has its default.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Place:
    ...     street: str
    ...     number: int = 1
    >>> @grouped
    ... def visit(*, name: str, place: Place) -> None:
    ...     print(name, place)
    >>> visit(name="Ada", street="Long Lane", number=2)
    Ada Place(street='Long Lane', number=2)
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    taken_by_command = inspect.signature(command).parameters
    # A group may be called like one of its fields.
    own = [name for name in taken_by_command if name not in groups]
    for name, parameter in taken_by_command.items():
        if name in groups:
            parameters += [option for option in _options(groups[name]) if option.name not in own]
        else:
            parameters.append(_option(name, parameter.default, hints[name]))

    @wraps(command)
    def call(**given: Any) -> None:
        taken = {name: given.pop(name) for name in own if name in given}
        command(**taken, **{name: _together(kind, given) for name, kind in groups.items()})

    call.__dict__["__signature__"] = inspect.Signature(parameters)
    return call


def _options(group: Any) -> list[inspect.Parameter]:
    """The options of all fields of a data class, those of data classes inside it in their place."""
    hints = get_type_hints(group, include_extras=True)
    options = []
    for each in fields(group):
        kind = hints[each.name]
        if is_dataclass(kind):
            options += _options(kind)
            continue
        default = inspect.Parameter.empty if each.default is MISSING else each.default
        if "help" in each.metadata:
            written = str | None if kind == NUMBERS else kind
            shown = default not in (None, "")
            kind = Annotated[written, typer.Option(help=each.metadata["help"], show_default=shown)]
        options.append(_option(each.name, default, kind))
    return options


def _together(group: Any, given: dict[str, Any]) -> Any:
    """An instance of a data class from the options that were given, which are taken out; others have their default."""
    hints = get_type_hints(group)
    values = {}
    for each in fields(group):
        kind = hints[each.name]
        if is_dataclass(kind):
            values[each.name] = _together(kind, given)
            continue
        if each.name not in given:
            continue
        value = given.pop(each.name)
        values[each.name] = parse_numbers(each.name, value) if kind == NUMBERS else value
    return group(**values)


def _option(name: str, default: Any, kind: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


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
AllRuns = Annotated[
    bool,
    typer.Option(
        "--all",
        help="All runs and epochs of slow cells too: those where every user answers every value of a large graph.",
    ),
]
AnyVersion = Annotated[
    bool,
    typer.Option("--any-version", help="Reuse what another version of graphveil has computed, and say so."),
]


def chosen_engine(
    engine: str, workers: int | None, jobs: int | None, checkpoint_every: int = EVERY
) -> Engine:
    """The engine of --engine and --workers; how many --jobs it is to compute at a time is checked too."""
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs}")
    if jobs is not None and workers is not None:
        raise InputError(
            "--workers share one run after the other, so --jobs has no meaning beside it: leave one of them out"
        )
    return Engine.of(engine, workers, checkpoint_every)


@dataclass(frozen=True)
class Asked:
    """What is run, on what, at which budget."""

    method: MethodName
    data: DataName
    budgets: Budgets
    backbone: BackboneName = ""
    task: TaskName = "node"


@dataclass(frozen=True)
class Terms:
    """On which terms: settings, levels, who answers, who volunteers, and the machine."""

    levels: Levels
    turnout: Turnout
    volunteers: Volunteers
    machine: Machine
    setting: SettingPairs = None
    settings_file: SettingsFile = None
    public_range: RangePair = None


def experiment_of(asked: Asked, terms: Terms, **others: Any) -> Experiment:
    """The spec of these options; ``others`` are fields of a spec that only some commands set."""
    given = {**vars(asked), **vars(terms), **others}
    settings = all_settings(asked.method, given.pop("settings_file"), given.pop("setting") or [])
    options = range_option(given.pop("public_range"))
    return Experiment(**given, settings=settings, data_options=options).resolved()


# What options are called in the name of a file.
SHORT = {
    "epsilon": "eps",
    "mechanism": "",
    "backbone": "",
    "task": "",
    "label_epsilon": "labels",
    "link_epsilon": "links",
    "norm_epsilon": "norms",
    "level_distribution": "by",
}


def default_file(spec: Experiment, suffix: str = ".toml", budgets: Sequence[float] = ()) -> Path:
    """METHOD-DATA-epsE.toml in this folder, with whatever else is not as usual in its name; ``budgets`` where there are several.

    >>> str(default_file(Experiment.of("base", "folder/my.npz", epsilon=0.5)))
    'base-my-eps0.5.toml'
    >>> str(default_file(Experiment.of("base", "town", epsilon=1.0), ".svg", (1.0, 2.5)))
    'base-town-eps1_2.5.svg'
    """
    data = Path(spec.data).stem if spec.data.endswith(".npz") else plain_name(spec.data)
    plain, chosen = spec.defaults, spec.chosen
    # What decides nothing here, and a file of levels by its name alone.
    unused = [*record_fields("machine"), *(("mechanism", "delta") if spec.budgets.epsilon is None else ())]
    if "level_distribution" in chosen:
        by = Path(chosen["level_distribution"]).stem
        unused += [] if spec.has_levels and by != "uniform" else ["level_distribution"]
        chosen["level_distribution"] = by
    told = {name: value for name, value in chosen.items() if name not in unused}
    first: dict[str, Any] = {name: told.pop(name) for name in ("epsilon", "mechanism") if name in told}
    first |= {"epsilon": tuple(budgets)} if budgets else {}
    for name in ("mechanism",):
        first |= {name: plain_name(first[name])} if name in first else {}
    own: dict[str, Any] = {name: getattr(spec, name) for name in ("backbone", "task")}
    first |= {name: plain_name(value) for name, value in own.items() if value != getattr(plain, name)}
    words = [f"-{SHORT.get(name, name)}{exact_text(value, '_')}" for name, value in {**first, **told}.items()]
    return Path(f"{plain_name(spec.method)}-{data}{''.join(words)}{suffix}")
