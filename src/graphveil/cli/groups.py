"""Groups of options: a command takes a data class of them as one parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters may be data classes: it takes their fields as options, in that place, and puts them together.

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
    parameters = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _options(groups[name])
        else:
            parameters.append(_option(name, parameter.default, hints[name]))

    @wraps(command)
    def call(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in fields(kind)})
        command(**given)

    call.__dict__["__signature__"] = inspect.Signature(parameters)
    return call


def _options(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        _option(
            each.name, inspect.Parameter.empty if each.default is MISSING else each.default, hints[each.name]
        )
        for each in fields(group)
    ]


def _option(name: str, default: Any, kind: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
