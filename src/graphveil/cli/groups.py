"""Groups of options: a command takes a data class of them as one parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from graphveil.cli.parse import parse_numbers

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
