"""Options of commands: generated from the fields of data classes, an experiment's first of all, and how they are read.

A new option of all commands that run experiments is a new field of `Experiment` or of one of its records.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

import typer

from graphveil.checks import short
from graphveil.errors import InputError, option_name
from graphveil.experiments.engine import AUTO, CHECKPOINT_EVERY, Engine, Jobs, check_jobs, read_jobs
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.experiment_file import read_settings
from graphveil.files import FIGURES, PAGES, check_output
from graphveil.methods.terms import option, record_fields
from graphveil.number_format import exact_text
from graphveil.plugins import plain_name


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """Parse KEY=VALUE pairs: values as numbers, true, false, none, lists or text.

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
    """Parse a list, as TOML or JSON has it; single words need no quotes.

    >>> parse_list("sizes", "[16, 8]"), parse_list("names", "[sage, 'g c n']"), parse_list("pairs", "[[0, 1], []]")
    ([16, 8], ['sage', 'g c n'], [[0, 1], []])
    """
    try:
        value: list[Any] = json.loads(LIST_PART.sub(_as_json, text))
        return value
    except (ValueError, RecursionError):
        raise InputError(
            f"--set {key} takes a list in brackets with commas between its values, got {short(text)}: for example --set "
            f"'{key}=[0.5,0.5]'"
        ) from None


# A text in quotes, which stays as it is or changes its quotes; a word without; a last comma.
LIST_PART = re.compile(
    r"""(?P<text>"[^"]*")|'(?P<literal>[^']*)'|(?P<word>[^\s,\[\]"'=#]+)|(?<=[^\[,\s]),(?=\s*\])"""
)


def _as_json(part: re.Match[str]) -> str:
    if part["word"] is not None:
        return json.dumps(parse_value(part["word"]), allow_nan=False)
    return part["text"] or ("" if part["literal"] is None else json.dumps(part["literal"]))


def parse_value(text: str) -> Any:
    """Return a number, true, false, none, or the text itself."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parse_numbers(name: str, text: str | None) -> tuple[float, ...] | None:
    """Parse E1,E2,… of an option as numbers.

    >>> parse_numbers("--budgets", "0.5,1,2")
    (0.5, 1.0, 2.0)
    """
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{name} takes numbers with commas between them, like 1,2,4, got {text!r}") from None


def range_option(text: str | None) -> dict[str, Any]:
    """Parse LOW,HIGH of --range as an option of the loader; none where it is not given.

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


@dataclass(frozen=True)
class Written:
    """The form in which an option is written: the type that typer reads, and the function from the option's name and that to a value.

    ``default`` is what is read where a parameter of this form has no default of its own.
    """

    kind: Any
    read: Callable[[str, Any], Any]
    default: Any = None


# Numbers with commas between them, and two of them as a range, wherever a field or an option has these types.
NUMBERS = tuple[float, ...] | None
FORMS = {
    NUMBERS: Written(str | None, parse_numbers),
    tuple[float, float] | None: Written(str | None, lambda name, text: range_option(text).get("range")),
}


def output(*formats: str) -> Written:
    """Return the form of an option that names a file to write, which is refused at once if it could not be written.

    Used as `out: Annotated[Path | None, output(*FIGURES)]`.
    """
    return Written(Path | None, lambda name, file: file and check_output(file, formats, name))


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

    Parameters
    ----------
    each
        The field, whose metadata is that of `graphveil.methods.terms.option`.
    group
        The data class whose ``title`` is the panel in `--help`.
    text
        Replaces the field's help.
    """
    about = each.metadata
    shown_as = {"help": text or about["help"], **about.get("typer", {})}
    if about.get("positional"):
        return typer.Argument(**shown_as)
    shown = each.default not in (MISSING, None, "")
    panel = getattr(group, "title", None)
    return typer.Option(*about.get("names", ()), show_default=shown, rich_help_panel=panel, **shown_as)


def experiment_option(name: str) -> Any:
    """Return the typer option of one field of an experiment, for a command that takes it alone."""
    return option_info(_EXPERIMENT[name])


_EXPERIMENT = {each.name: each for each in fields(Experiment)}
_PAIRS = Written(list[str] | None, lambda name, pairs: parse_settings(pairs or []))
_RANGE = Written(str | None, lambda name, text: range_option(text))
DataName = Annotated[str, experiment_option("data")]
# KEY=VALUE pairs of --set, those of the loader and the mechanism among them.
Pairs = Annotated[dict[str, Any], _PAIRS]
SettingPairs = Annotated[Pairs, experiment_option("settings")]
# The loader's option of --range.
RangePair = Annotated[dict[str, Any], _RANGE, experiment_option("data_options")]
Figure = Annotated[Path | None, output(*FIGURES)]
Page = Annotated[Path | None, output(*PAGES)]
FigureOrPage = Annotated[Path | None, output(*FIGURES, *PAGES)]
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


# Fields of an experiment that are written in another form than they have, and the file of settings that --set overrides.
FILE = "settings_file"
SPELLINGS = {
    "settings": _PAIRS,
    "data_options": _RANGE,
    "control": Written(bool, lambda name, skipped: not skipped, default=False),
}
Given = dict[str, Any]


@dataclass(frozen=True)
class Argument:
    """An argument of a command: its options, and the function that reads it from all values that were given."""

    options: list[inspect.Parameter]
    read: Callable[[Given], Any]


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the fields of its data classes as options, in their place, and puts them together.

    A parameter of the command may be a data class, or `Annotated` with `Options` that say which of its fields are taken; its own
    options are parameters whose default is an `option`. What `--help` says of a field stands in its metadata, or in its type as typer
    has it. Where the command has a parameter of the same name, that one is the option, and the field has its default. An option
    of type `NUMBERS`, or `Annotated` with how it is `Written`, reaches the command as its value. An experiment comes resolved.

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
    taken = inspect.signature(command).parameters
    groups = {name: group for name in taken if (group := _data_class(hints[name]))}
    # A group may be called like one of its fields.
    own = taken.keys() - groups.keys()
    arguments = {
        name: _group(*groups[name], own) if name in groups else _option(name, hints[name], parameter.default)
        for name, parameter in taken.items()
    }

    @wraps(command)
    def call(**given: Any) -> None:
        command(**{name: argument.read(given) for name, argument in arguments.items()})

    parameters = [each for argument in arguments.values() for each in argument.options]
    call.__dict__["__signature__"] = inspect.Signature(parameters)
    return call


def _data_class(hint: Any, options: Options | None = None) -> tuple[Any, Options] | None:
    """Return the data class of a parameter or field and the options that are taken of it; None where it is something else."""
    kind, *about = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if not is_dataclass(kind):
        return None
    return kind, next((each for each in about if isinstance(each, Options)), options or Options())


def _option(name: str, hint: Any, default: Any, info: Any = None) -> Argument:
    """Return an argument that is one option; ``info`` is its typer option where its type has none."""
    spelled = option_name(name)
    if isinstance(default, Field):
        spelled = next(iter(default.metadata["names"]), spelled)
        default, info = default.default, option_info(default)
    kind, *about = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    form = next((each for each in about if isinstance(each, Written)), FORMS.get(kind))
    infos = [each for each in about if each is not form] or [info]
    shown = kind if form is None else form.kind
    empty = inspect.Parameter.empty
    if default is empty and form is not None:
        default = form.default
    elif default is ...:
        default = empty
    annotation = shown if infos == [None] else Annotated[shown, *infos]
    parameter = inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )

    def read(given: Given) -> Any:
        value = given.get(name, default)
        return value if form is None else form.read(spelled, value)

    return Argument([parameter], read)


def _group(kind: Any, options: Options, own: Collection[str]) -> Argument:
    """Return an argument that is a data class: an option for each field that is taken and is no option of the command's ``own``."""
    hints = get_type_hints(kind, include_extras=True)
    arguments: dict[str, Argument] = {}
    for each in fields(kind):
        name, help_text = each.name, options.help.get(each.name)
        if name in options.without:
            continue
        if inner := _data_class(hints[name], options.inside(name)):
            arguments[name] = _group(*inner, own)
        elif options.take(name) and name not in own:
            info = option_info(each, kind, help_text) if "help" in each.metadata else None
            form = SPELLINGS.get(name) if kind is Experiment else None
            hint = hints[name] if form is None else Annotated[hints[name], form]
            unset = form is not None or each.default is MISSING
            default = options.default.get(name, inspect.Parameter.empty if unset else each.default)
            arguments[name] = _option(name, hint, default, info)
            if form is _PAIRS:
                arguments[FILE] = _option(FILE, SettingsFile, None)
    fixed = {name: value for name, value in options.fixed.items() if name in hints}

    def read(given: Given) -> Any:
        values = {**fixed, **{name: argument.read(given) for name, argument in arguments.items()}}
        if file := values.pop(FILE, None):
            values["settings"] = {**read_settings(file, values["method"]), **values["settings"]}
        group = kind(**values)
        return group.resolved() if isinstance(group, Experiment) else group

    return Argument([each for argument in arguments.values() for each in argument.options], read)


class CommandGroup(typer.Typer):
    """A group of commands that take their options by `with_options`; without one, it shows its help unless ``no_args_is_help`` is False."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"no_args_is_help": True, **settings})

    def command(self, name: str | None = None, **settings: Any) -> Callable[..., Any]:
        """Return a decorator that adds a command."""
        add = super().command(name, **settings)
        return lambda function: add(with_options(function))


JOBS = Written(str, lambda name, written: read_jobs(written))
JOBS_HELP = "How many processes; it changes no number. auto: as many as there are idle processors, one where there is little to do, on Ray as many as it has."
Processes = Annotated[Jobs, JOBS, typer.Option(help=JOBS_HELP)]


@dataclass(frozen=True)
class Computing:
    """Options for where runs are computed, and which of them are reused."""

    title: ClassVar[str] = "Computing"
    jobs: Annotated[Jobs, JOBS] = option(AUTO, JOBS_HELP)
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
        check_jobs(self.jobs)
        if self.jobs not in (AUTO, None) and self.workers is not None:
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

    Parameters
    ----------
    spec
        The experiment.
    suffix
        The suffix of the file.
    budgets
        Several budgets, in place of the experiment's ε.

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
