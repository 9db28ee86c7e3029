"""Many values in one case, where a case for each would cost more than it says."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest


def together(
    names: str | Sequence[str], values: Iterable[Any], ids: Iterable[str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like `pytest.mark.parametrize`, but one case: the test runs with all values, and each that fails is named with its failure.

    Fixtures are made once for all values.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    sets = [_named(value, len(names)) for value in values]
    if ids is not None:
        sets = [(name, given) for name, (_, given) in zip(ids, sets, strict=True)]
    assert sets, "there are no values"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        left = [each for name, each in signature.parameters.items() if name not in names]
        assert len(left) + len(names) == len(signature.parameters), f"{test} does not take {names}"

        @wraps(test)
        def tried(**fixtures: Any) -> None:
            failed = []
            for name, given in sets:
                try:
                    test(**dict(zip(names, given, strict=True)), **fixtures)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - said below, by name
                    failed.append(f"{name}: {type(error).__name__}: {error}")
            if failed:
                pytest.fail(f"{len(failed)} of {len(sets)} fail:\n" + "\n".join(failed))

        tried.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return tried

    return decorate


def _named(value: Any, count: int) -> tuple[str, tuple[Any, ...]]:
    """Values of one run, and what they are called."""
    if isinstance(value, type(pytest.param())):
        return value.id or repr(value.values), tuple(value.values)
    return repr(value), (value,) if count == 1 else tuple(value)


def each(cases: Iterable[Any], check: Callable[[Any], None]) -> None:
    """Check every case; a name longer than 60 characters is cut."""
    failed = []
    for case in cases:
        try:
            check(case)
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - it must not hide the others
            failed.append(f"{str(case)[:60]}: {type(error).__name__}: {error}")
    assert not failed, f"{len(failed)} failed:\n" + "\n".join(failed)
