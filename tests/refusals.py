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


def check_refused(call: Callable[..., Any], cases: Iterable[tuple[Any, ...]]) -> None:
    """Call with what each case gives: it is refused in the words that the case ends with, or in words of that pattern."""
    wrong = []
    for *given, words in cases:
        try:
            end = call(*given)
        except Exception as error:  # noqa: BLE001 -- all that went wrong is told below
            said = re.search(words, str(error)) if isinstance(words, re.Pattern) else words in str(error)
            if said and isinstance(error, InputError):
                continue
            end = error
        wrong.append(f"{given}: not {words!r} but {end!r}")
    assert not wrong, "\n".join(wrong)
