"""Many things that are refused, in one test that names each that was not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from graphveil.errors import InputError


def not_refused(call: Callable[..., Any], cases: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Call with what each case gives; it ends with words of the refusal. Return those with another end, and what that was."""
    wrong = []
    for *given, words in cases:
        try:
            end = call(*given)
        except Exception as error:  # noqa: BLE001 -- the caller is told which
            said = re.search(words, str(error)) if isinstance(words, re.Pattern) else words in str(error)
            if said and isinstance(error, InputError):
                continue
            end = error
        wrong.append((*given, repr(end)))
    return wrong
