"""What an analysis gives: a table and sentences, JSON, and where it is drawn a figure and a page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphveil.experiments.figure import Drawing
from graphveil.experiments.table import Table
from graphveil.files import PAGES, write_whole


class AnalysisResult(ABC):
    """A finished analysis: JSON, a table, and sentences below it."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return all of it, for JSON."""

    @abstractmethod
    def table(self) -> Table:
        """Return the table that a terminal shows."""

    @abstractmethod
    def sentences(self) -> Sequence[str]:
        """Return what stands below the table: the verdict, and what the numbers are."""


class DrawnResult(AnalysisResult):
    """A finished analysis with a figure and a page."""

    @abstractmethod
    def drawing(self) -> Drawing:
        """Return the figure."""

    @abstractmethod
    def page(self) -> str:
        """Return the whole page."""

    def write(self, file: Path) -> None:
        """Write the page to an .html file, the figure to a .svg or .png file."""
        if file.suffix in PAGES:
            write_whole(file, self.page())
        else:
            self.drawing().write(file)


def as_sentence(words: str) -> str:
    """Return words with a capital letter and a full stop.

    >>> as_sentence("nothing is learned")
    'Nothing is learned.'
    """
    return f"{words[0].upper()}{words[1:]}."
