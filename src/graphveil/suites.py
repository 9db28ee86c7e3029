"""Named checks: a suite is a series of them, so that each can be a test of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One thing that must hold: ``run`` raises an AssertionError with a sentence where it does not."""

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
    outcomes = [(check.name, _failure(check)) for check in checks]
    failed = [(name, error) for name, error in outcomes if error is not None]
    if failed:
        sentences = "\n".join(f"{name}: {_sentence(error)}" for name, error in failed)
        raise AssertionError(
            f"{title} fails {len(failed)} of {len(outcomes)} checks:\n{sentences}"
        ) from failed[0][1]


def _failure(check: Check) -> Exception | None:
    try:
        check.run()
    except Exception as error:  # noqa: BLE001 - one check that breaks must not hide the others
        return error
    return None


def _sentence(error: Exception) -> str:
    """What failed; an error that no check has raised on purpose is named by its kind."""
    return str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
