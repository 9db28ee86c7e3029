"""Many things that are refused, in one test that names each that was not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from graphveil.errors import InputError


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
