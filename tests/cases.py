"""Several cases in one test: all of them are tried, and the failure names each that failed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import pytest


def together(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[..., Any]:
    """Like ``pytest.mark.parametrize``, for cases that fail together: one test tries them all."""
    names = (names,) if isinstance(names, str) else names
    cases = list(cases)
    assert cases, "there is nothing to try"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def try_all(**fixtures: Any) -> None:
            failed = []
            for case in cases:
                values = (case,) if len(names) == 1 else case
                try:
                    test(**fixtures, **dict(zip(names, values, strict=True)))
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - it must not hide the others
                    failed.append(f"{str(case)[:120]}: {type(error).__name__}: {error}")
            assert not failed, f"{len(failed)} of {len(cases)} failed:\n" + "\n".join(failed)

        whole = inspect.signature(test)
        left = [parameter for name, parameter in whole.parameters.items() if name not in names]
        try_all.__signature__ = whole.replace(parameters=left)  # type: ignore[attr-defined]
        return try_all

    return decorate
