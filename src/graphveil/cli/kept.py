"""Kept results: where they are, and what is said on stderr about those that were reused or could not be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from graphveil.cli.console import say
from graphveil.errors import InputError
from graphveil.experiments.runs.records import ResultStore
from graphveil.experiments.runs.result import Result
from graphveil.experiments.store.place import results_file

__all__ = ["check_resume", "keep", "results_file", "told"]


class Store(Protocol):
    """Whatever finds kept records."""

    def sentences(self) -> list[str]:
        """What has to be said about what was found."""


def keep(result: Result) -> None:
    """Add the result to those that `graphveil report` shows."""
    ResultStore(results_file()).add(result)


def check_resume(resume: bool, any_version: bool) -> None:
    """Refuse to reuse other versions' runs where none is reused."""
    if any_version and not resume:
        raise InputError("--any-version has no meaning where all is computed anew: leave out --fresh")


@contextmanager
def told(store: Store) -> Iterator[None]:
    """Say at the end, an interrupted one too, what was found."""
    try:
        yield
    finally:
        for sentence in store.sentences():
            say(sentence, err=True)
