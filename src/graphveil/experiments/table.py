"""Table: what commands print, pages show and files keep. It is rendered as text and as HTML here, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape as escape_markup

from graphveil.audit.exact_text import ExactText
from graphveil.errors import visible_lines

# Between two columns of plain text.
GAP = "    "
# A text with more letters may be broken into lines.
SHORT = 24


def escape(text: str) -> str:
    """Return a text as a page shows it: no markup, and nothing that cannot be seen."""
    return escape_markup(visible_lines(text))


@dataclass(frozen=True)
class Table:
    """Rows below a head. Columns named in ``numbers`` are set right, and sorted as numbers."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[str] = frozenset()

    @classmethod
    def of(cls, head: Sequence[str], rows: Iterable[Sequence[str]], text: Iterable[str] = ()) -> Table:
        """Make a table whose columns are numbers, but for the first and those named in ``text``.

        >>> print(Table.of(["", "score"], [["base", "71.0"], ["veil", "101.5"]]).text())
                score
        base     71.0
        veil    101.5
        """
        left = {head[0], *text}
        return cls(tuple(head), tuple(map(tuple, rows)), frozenset(head) - left)

    def with_words(self, change: Callable[[str], str]) -> Table:
        """Return the table with its cells put in other words."""
        return replace(self, rows=tuple(tuple(map(change, row)) for row in self.rows))

    def text(self) -> str:
        """Return the table as plain text."""
        whole = [self.head, *self.rows]
        widths = [max(len(row[place]) for row in whole) for place in range(len(self.head))]
        lines = (
            GAP.join(
                f"{cell:>{width}}" if name in self.numbers else f"{cell:<{width}}"
                for name, cell, width in zip(self.head, row, widths, strict=True)
            )
            for row in whole
        )
        return "\n".join(line.rstrip() for line in lines)

    def html(self) -> str:
        """Return the table as HTML."""

        def cell(tag: str, column: str, text: str) -> str:
            kind = ' class="number"' if column in self.numbers else ""
            if tag == "th":
                kind += ' scope="col"'
            elif not kind and len(text) > SHORT:
                kind = ' class="long"'
            return f"<{tag}{kind}>{_shown(text)}</{tag}>"

        head = "".join(cell("th", column, column) for column in self.head)
        rows = "".join(
            "<tr>"
            + "".join(cell("td", column, text) for column, text in zip(self.head, row, strict=True))
            + "</tr>"
            for row in self.rows
        )
        return f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _shown(text: str) -> str:
    """A text in a cell; the digits of an exact number unfold."""
    if isinstance(text, ExactText) and text.digits != text:
        return f"<details><summary>{escape(text)}</summary>{escape(text.digits)}</details>"
    return escape(text)
