"""Named checks: a suite is a series of them, so that each can be a separate test."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """A property that must hold: ``run`` raises an AssertionError with a sentence if it does not."""

    name: str
    run: Callable[[], None]


def run_checks(title: str, checks: Iterable[Check]) -> None:
    """Run all checks of a suite; one AssertionError names all that failed.

    >>> def uneven():
    ...     raise AssertionError("3 is odd")
    >>> run_checks("the number", [Check("positive", lambda: None), Check("even", uneven)])
    Traceback (most recent call last):
        ...
    AssertionError: the number fails 1 of 2 checks:
    even: 3 is odd
    """
    failed: list[tuple[str, Exception]] = []
    count = 0
    for check in checks:
        count += 1
        try:
            check.run()
        except AssertionError as error:
            failed.append((f"{check.name}: {error}", error))
        except Exception as error:  # noqa: BLE001 - one check that breaks must not hide the others
            failed.append((f"{check.name}: {type(error).__name__}: {error}", error))
    if failed:
        sentences = "\n".join(sentence for sentence, _ in failed)
        raise AssertionError(f"{title} fails {len(failed)} of {count} checks:\n{sentences}") from failed[0][1]
