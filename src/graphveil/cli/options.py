"""Options of commands: generated from the fields of data classes, an experiment's first of all, and how they are read.

A new option of all commands that run experiments is a new field of `Experiment` or of one of its records.
"""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

import typer

from graphveil.checks import check_whole, short
from graphveil.errors import InputError
from graphveil.experiments.engine import CHECKPOINT_EVERY, Engine
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.experiment_file import NONE, read_settings
from graphveil.methods.terms import option, record_fields
from graphveil.number_format import exact_text
from graphveil.plugins import plain_name


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
            f"--{option} takes numbers with commas between them, like 1,2,4, got {text!r}"
        ) from None


def range_option(text: str | None) -> dict[str, Any]:
    """LOW,HIGH as what the loader is told of --range: nothing, where it is not given.

    >>> range_option("0,1")
    {'range': (0.0, 1.0)}
    """
    if text is None:
        return {}
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--range takes LOW,HIGH, two numbers like 0,1, got {text!r}") from None
    return {"range": (low, high)}


# The type of an option that takes several numbers: it is written as text, with commas between them.
NUMBERS = tuple[float, ...] | None


@dataclass(frozen=True)
class Options:
    """The fields of a data class that are options of a command.

    Used as `experiment: Annotated[Experiment, Options(without=("runs",))]`.

    Parameters
    ----------
    only, without
        The only fields that are options, or fields that are not. A record's name stands for all its fields.
    fixed
        Values of fields that are not options.
    default
        Defaults that replace a field's own; ``...`` if the option is required.
    help
        Help texts that replace a field's own.
    """

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    default: Mapping[str, Any] = field(default_factory=dict)
    help: Mapping[str, str] = field(default_factory=dict)

    def take(self, name: str) -> bool:
        """Return whether a field is an option, or a record is taken as a whole."""
        return name not in self.without and name not in self.fixed and (not self.only or name in self.only)

    def inside(self, record: str) -> Options:
        """Return which fields of a record are options."""
        return replace(self, only=()) if self.take(record) else self


def option_info(each: Field[Any], group: Any = None, text: str | None = None) -> Any:
    """Return the typer option or argument of a field: its names, its help, and the panel of its group.

    ``text`` replaces the field's help.
    """
    about = each.metadata
    if about.get("positional"):
        return typer.Argument(help=text or about["help"])
    shown = each.default not in (MISSING, None, "")
    panel = getattr(group, "title", None)
    return typer.Option(
        *about.get("names", ()), help=text or about["help"], show_default=shown, rich_help_panel=panel
    )


def experiment_option(name: str) -> Any:
    """Return what typer is told of one field of an experiment, for a command that takes it alone."""
    return option_info(_EXPERIMENT[name])


_EXPERIMENT = {each.name: each for each in fields(Experiment)}
DataName = Annotated[str, experiment_option("data")]
SettingPairs = Annotated[list[str] | None, experiment_option("settings")]
RangePair = Annotated[str | None, experiment_option("data_options")]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        help="A TOML or JSON file of settings, as `graphveil tune` writes it; --set overrides it.",
    ),
]
AllRuns = Annotated[
    bool,
    typer.Option(
        "--all",
        help="All runs and epochs of slow cells too: those where every user answers every value of a large graph.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def _read_settings(method: str, setting: list[str] | None, settings_file: Path | None) -> dict[str, Any]:
    """The settings of a file, if one is given, and over them those of --set."""
    stored = {} if settings_file is None else read_settings(settings_file, method)
    return {**stored, **parse_settings(setting or [])}


# Fields of an experiment that are written in another form than they have: their parameters, and how they are read for a method.
SPELLINGS: dict[str, tuple[dict[str, Any], Callable[..., Any]]] = {
    "settings": ({"setting": list[str] | None, "settings_file": SettingsFile}, _read_settings),
    "data_options": ({"public_range": str | None}, lambda method, public_range: range_option(public_range)),
    "control": ({"no_control": bool}, lambda method, no_control: not no_control),
}


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the fields of its data classes as options, in their place, and puts them together.

    A parameter of the command may be a data class, or `Annotated` with `Options` that say which of its fields are taken; its own
    options are parameters whose default is an `option`. What `--help` says of a field stands in its metadata, or in its type as typer
    has it. Where the command has a parameter of the same
    name, that one is the option, and the field has its default. An experiment comes resolved.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Place:
    ...     street: str
    ...     number: int = 1
    >>> @with_options
    ... def visit(*, name: str, place: Place) -> None:
    ...     print(name, place)
    >>> visit(name="Ada", street="Long Lane", number=2)
    Ada Place(street='Long Lane', number=2)
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: group for name, hint in hints.items() if (group := _group(hint))}
    taken = inspect.signature(command).parameters
    # A group may be called like one of its fields.
    own = [name for name in taken if name not in groups]
    parameters: list[inspect.Parameter] = []
    for name, parameter in taken.items():
        default: Any = parameter.default
        if name in groups:
            parameters += [each for each in _parameters(*groups[name]) if each.name not in own]
        elif isinstance(default, Field):
            parameters.append(_parameter(name, default.default, Annotated[hints[name], option_info(default)]))
        else:
            parameters.append(_parameter(name, default, hints[name]))
    defaults = {each.name: each.default for each in parameters}

    @wraps(command)
    def call(**given: Any) -> None:
        values = {name: given.pop(name, defaults[name]) for name in own}
        for name, (group, options) in groups.items():
            values[name] = _instance(group, options, given)
        command(**values)

    call.__dict__["__signature__"] = inspect.Signature(parameters)
    return call


def _group(hint: Any, options: Options | None = None) -> tuple[Any, Options] | None:
    """Return the data class of a parameter or field and the options that are taken of it; None where it is something else."""
    kind, *about = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if not is_dataclass(kind):
        return None
    return kind, next((each for each in about if isinstance(each, Options)), options or Options())


def _parameters(group: Any, options: Options) -> Iterator[inspect.Parameter]:
    """Yield the options of a data class, those of data classes inside it in their place."""
    hints = get_type_hints(group, include_extras=True)
    for each in fields(group):
        kind = hints[each.name]
        if each.name in options.without:
            continue
        if inner := _group(kind, options.inside(each.name)):
            yield from _parameters(*inner)
        elif not options.take(each.name):
            continue
        elif group is Experiment and each.name in SPELLINGS:
            info = option_info(each, group, options.help.get(each.name))
            for name, written in SPELLINGS[each.name][0].items():
                default = False if written is bool else None
                shown = written if get_origin(written) is Annotated else Annotated[written, info]
                yield _parameter(name, default, shown)
        else:
            default = options.default.get(each.name, ... if each.default is MISSING else each.default)
            if "help" in each.metadata:
                written = str | None if kind == NUMBERS else kind
                kind = Annotated[written, option_info(each, group, options.help.get(each.name))]
            yield _parameter(each.name, default, kind)


def _parameter(name: str, default: Any, kind: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if default is ... else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _instance(group: Any, options: Options, given: dict[str, Any]) -> Any:
    """Return an instance of a data class from the options that were given, which are taken out; others have their default."""
    hints = get_type_hints(group, include_extras=True)
    values: dict[str, Any] = {}
    for each in fields(group):
        kind = hints[each.name]
        if each.name in options.without:
            continue
        if inner := _group(kind, options.inside(each.name)):
            values[each.name] = _instance(*inner, given)
        elif each.name in options.fixed:
            values[each.name] = options.fixed[each.name]
        elif not options.take(each.name):
            continue
        elif group is Experiment and each.name in SPELLINGS:
            names, read = SPELLINGS[each.name]
            written = {name: given.pop(name) for name in names if name in given}
            if len(written) == len(names):
                values[each.name] = read(values["method"], **written)
        elif each.name in given:
            value = given.pop(each.name)
            values[each.name] = parse_numbers(each.name, value) if kind == NUMBERS else value
    made = group(**values)
    return made.resolved() if isinstance(made, Experiment) else made


@dataclass(frozen=True)
class Computing:
    """Options for where runs are computed, and which of them are reused."""

    title: ClassVar[str] = "Computing"
    jobs: int | None = option(
        None, "How many processes; it changes no number. One by default, on Ray as many as it has processors."
    )
    engine: str = option(
        "local",
        "What computes: local (processes of this machine), ray (started for this command), ray://HOST:PORT or ray://auto (one that "
        "is running). It changes no number.",
    )
    workers: int | None = option(
        None,
        "How many workers share the learning of one run, a part of the graph each: processes of this machine, or of Ray with --engine ray.",
    )
    checkpoint_every: int = option(
        CHECKPOINT_EVERY,
        "With --workers: each so many epochs they write down how far they are, so that a run goes on where one of them, or this command, "
        "was lost.",
    )
    resume: bool = option(
        True, "Reuse runs that are finished already, or compute all anew.", "--resume/--fresh"
    )
    any_version: bool = option(
        False, "Reuse what another version of graphveil has computed, and say so.", "--any-version"
    )

    @cached_property
    def resolved_engine(self) -> Engine:
        """The engine of --engine and --workers, where these options go together."""
        check_whole(1 if self.jobs is None else self.jobs, "--jobs", least=1)
        if self.jobs is not None and self.workers is not None:
            raise InputError("--workers share one run after the other: leave out --jobs, or --workers")
        if self.any_version and not self.resume:
            raise InputError("--any-version has no meaning where all is computed anew: leave out --fresh")
        return Engine.of(self.engine, self.workers, self.checkpoint_every)


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


NAMED = ("backbone", "task")


def default_file(spec: Experiment, suffix: str = ".toml", budgets: Sequence[float] = ()) -> Path:
    """Return METHOD-DATA-epsE.toml in this folder, with everything that is not the default in its name.

    ``budgets`` replace the experiment's ε if there are several.
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
    chosen |= {"epsilon": tuple(budgets)} if budgets else {}
    chosen |= {name: getattr(spec, name) for name in NAMED if getattr(spec, name) != getattr(plain, name)}
    first = {name: chosen[name] for name in ("epsilon", "mechanism", *NAMED) if name in chosen}
    shown = {name: value for name, value in (first | chosen).items() if name not in unused}
    shown |= {name: plain_name(shown[name]) for name in ("mechanism", *NAMED) if name in shown}
    words = [f"-{SHORT.get(name, name)}{exact_text(value, '_')}" for name, value in shown.items()]
    return Path(f"{plain_name(spec.method)}-{data}{''.join(words)}{suffix}")
