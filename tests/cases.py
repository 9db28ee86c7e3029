"""Several cases in one test: all of them are tried, and the failure names each that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def each(cases: Iterable[Any], check: Callable[[Any], None]) -> None:
    """Check every case; a name longer than 60 characters is cut."""
    failed = []
    for case in cases:
        try:
            check(case)
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - one that breaks must not hide the others
            failed.append(f"{str(case)[:60]}: {type(error).__name__}: {error}")
    assert not failed, f"{len(failed)} failed:\n" + "\n".join(failed)
