"""The suite of a method as parameters: one test a check."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest

from graphveil.methods import method_checks
from graphveil.suites import Check


@lru_cache(maxsize=1)  # the tests of one method and its settings follow each other, and share their runs
def _suite(name: str, settings: tuple[tuple[str, Any], ...]) -> dict[str, Check]:
    return {check.name: check for check in method_checks(name, **dict(settings))}


def every_check(name: str, **settings: Any) -> list[Any]:
    """The parameters of `run_check`, one for each check of a method with these settings."""
    given = tuple(settings.items())
    title = ", ".join([name, *(f"{key}={value}" for key, value in given)])
    return [pytest.param(name, given, check, id=f"{title}: {check}") for check in _suite(name, given)]


def run_check(name: str, settings: tuple[tuple[str, Any], ...], check: str) -> None:
    """Run one check of a suite."""
    _suite(name, settings)[check].run()
