"""Several things that must be refused in one test, which names all that are not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from graphveil.errors import InputError


def not_refused(
    call: Callable[[Any], Any], cases: Iterable[tuple[Any, str]], kind: type[Exception] = InputError
) -> list[str]:
    """What `call` takes although it should not, refuses in words without the given ones, or fails with otherwise."""
    failed = []
    for given, words in cases:
        try:
            call(given)
        except Exception as error:  # noqa: BLE001 - one that fails must not hide the others
            if not isinstance(error, kind) or not re.search(words, str(error)):
                failed.append(f"{given}: {type(error).__name__}: {error}")
        else:
            failed.append(f"{given}: taken")
    return failed
