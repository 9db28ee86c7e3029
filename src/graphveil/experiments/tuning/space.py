"""Space: what a search may try, and what it starts from."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from graphveil.errors import InputError
from graphveil.experiments.specs.spec import MECHANISM_PREFIX, Spec
from graphveil.mechanisms import entry
from graphveil.methods import find_method, method_names
from graphveil.methods.method_settings import LABEL_GRID, LEVEL_GRID

Point = dict[str, Any]


@dataclass(frozen=True)
class Space:
    """The values of each setting that is searched; the default of each is one of them."""

    values: dict[str, tuple[Any, ...]]
    defaults: Point

    @classmethod
    def of(cls, spec: Spec) -> Space:
        """The grid of the spec's method for what is private here, without the settings that the spec fixes."""
        method = find_method(spec.method)
        if not method.grid:
            searchable = [name for name in method_names() if find_method(name).grid]
            raise InputError(
                f"{spec.method} has no settings to search: tune one of {', '.join(searchable)} instead"
            )
        grid = dict(method.grid)
        if spec.budgets.label_epsilon is not None:
            grid |= LABEL_GRID
        if spec.budgets.link_epsilon is not None:
            grid |= method.link_grid
        if spec.has_levels and spec.levels.gamma is None:
            grid |= LEVEL_GRID
        free = {key: values for key, values in grid.items() if key not in spec.settings}
        if not free:
            raise InputError(
                f"all settings of {spec.method} that are searched are fixed: leave one of {', '.join(grid)} free"
            )
        start = spec.full_settings()
        defaults = {
            key: _mechanism_default(spec.budgets.mechanism, key)
            if key.startswith(MECHANISM_PREFIX)
            else getattr(start, key)
            for key in free
        }
        return cls({key: _with(values, defaults[key]) for key, values in free.items()}, defaults)

    @property
    def size(self) -> int:
        """How many points there are."""
        return prod(len(values) for values in self.values.values())

    def points(self) -> Iterator[Point]:
        """All points, the defaults first."""
        yield self.defaults
        for chosen in product(*self.values.values()):
            point = dict(zip(self.values, chosen, strict=True))
            if point != self.defaults:
                yield point


def _mechanism_default(mechanism: str, key: str) -> Any:
    """What a mechanism takes where an option of its own, like mechanism.gamma, is not given."""
    return inspect.signature(entry(mechanism).build).parameters[key.removeprefix(MECHANISM_PREFIX)].default


def _with(values: tuple[Any, ...], default: Any) -> tuple[Any, ...]:
    return values if default in values else (*values, default)
