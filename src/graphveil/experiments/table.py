"""Tables with typed columns: what commands print, pages show and files keep. Each form is rendered here, and nowhere else."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape as escape_markup
from pathlib import Path
from typing import Any, Literal

from graphveil.errors import visible_lines
from graphveil.files import write_whole
from graphveil.number_format import NONE, NUMBER, ExactText, Unit, value_text
from graphveil.statistics import Summary

# Between two columns of plain text.
GAP = "    "
# A text with more letters may be broken into lines.
SHORT = 24
# A summary has a column each for these in a file.
ENDS = ("mean", "low", "high")

Kind = Literal["text", "number", "integer", "unsigned", "flag", "summary"]
# What Arrow calls them; a summary is three numbers.
ARROW = {"text": "string", "number": "double", "integer": "int64", "unsigned": "uint64", "flag": "bool"}
CellValue = str | float | Summary | None


def escape(text: str) -> str:
    """Return a text as a page shows it: no markup, and nothing that cannot be seen."""
    return escape_markup(visible_lines(text))


@dataclass(frozen=True)
class Column:
    """A name, the kind of what stands below it, and the unit in which numbers are printed."""

    name: str
    kind: Kind = "text"
    unit: Unit = NUMBER

    @property
    def numeric(self) -> bool:
        """Whether cells are aligned right and sorted as numbers."""
        return self.kind not in ("text", "flag")

    def text(self, cell: CellValue) -> str:
        """Return a cell as it is printed.

        >>> from graphveil.number_format import PERCENT
        >>> [Column("score", "number", PERCENT).text(cell) for cell in (0.5, Summary(0.5, 0.45, 0.56), "none", None)]
        ['50.0', '50.0 [45.0, 56.0]', 'none', '-']
        """
        if cell is None:
            return NONE
        if isinstance(cell, Summary):
            return self.unit.interval(cell)
        if isinstance(cell, float):
            return self.unit.number(self.unit.factor * cell)
        if isinstance(cell, int) and not isinstance(cell, bool):
            return f"{cell:,}"
        return cell if isinstance(cell, str) else value_text(cell)


@dataclass(frozen=True, init=False)
class Table:
    """Rows of cells below typed columns: texts, numbers, summaries, or None where there is nothing to say."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[CellValue, ...], ...]

    def __init__(
        self, head: Iterable[str | Column], rows: Iterable[Sequence[CellValue]], numbers: Collection[str] = ()
    ) -> None:
        """Make a table; a column that is a name alone has texts, or numbers where it is among ``numbers``."""
        columns = (
            Column(each, "number" if each in numbers else "text") if isinstance(each, str) else each
            for each in head
        )
        object.__setattr__(self, "columns", tuple(columns))
        object.__setattr__(self, "rows", tuple(map(tuple, rows)))

    @classmethod
    def of(cls, head: Sequence[str], rows: Iterable[Sequence[CellValue]], text: Iterable[str] = ()) -> Table:
        """Make a table whose columns are numbers, but for the first and those named in ``text``.

        Parameters
        ----------
        head
            The names of the columns.
        rows
            The cells, row by row.
        text
            The names of columns whose cells are texts.
        >>> print(Table.of(["", "score"], [["base", "71.0"], ["veil", "101.5"]]).text())
                score
        base     71.0
        veil    101.5
        """
        return cls(head, rows, set(head) - {head[0], *text})

    @property
    def head(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def texts(self) -> list[tuple[str, ...]]:
        """The rows as they are printed."""
        return [
            tuple(column.text(cell) for column, cell in zip(self.columns, row, strict=True))
            for row in self.rows
        ]

    def with_words(self, change: Callable[[str], str]) -> Table:
        """Return the table with its texts put in other words."""
        rows = (tuple(change(cell) if isinstance(cell, str) else cell for cell in row) for row in self.rows)
        return Table(self.columns, rows)

    def text(self) -> str:
        """Return the table as plain text."""
        whole = [self.head, *self.texts]
        widths = [max(map(len, cells)) for cells in zip(*whole, strict=True)]
        lines = (
            GAP.join(
                f"{cell:>{width}}" if column.numeric else f"{cell:<{width}}"
                for column, cell, width in zip(self.columns, row, widths, strict=True)
            )
            for row in whole
        )
        return "\n".join(line.rstrip() for line in lines)

    def markdown(self) -> str:
        """Return the table in Markdown."""
        rule = ("---:" if column.numeric else "---" for column in self.columns)
        whole = [self.head, *self.texts]
        head, *rows = (" | ".join(cell.replace("|", r"\|") for cell in row) for row in whole)
        return "\n".join(f"| {line} |" for line in (head, " | ".join(rule), *rows))

    def html(self) -> str:
        """Return the table as HTML."""

        def cell(tag: str, column: Column, text: str) -> str:
            kind = ' class="number"' if column.numeric else ""
            if tag == "th":
                kind += ' scope="col"'
            elif not kind and len(text) > SHORT:
                kind = ' class="long"'
            return f"<{tag}{kind}>{_markup(text)}</{tag}>"

        def row(tag: str, texts: Sequence[str]) -> str:
            cells = (cell(tag, column, text) for column, text in zip(self.columns, texts, strict=True))
            return f"<tr>{''.join(cells)}</tr>"

        rows = "".join(row("td", texts) for texts in self.texts)
        return (
            f'<div class="scroll" tabindex="0"><table><thead>{row("th", self.head)}</thead><tbody>{rows}</tbody>'
            "</table></div>"
        )

    def csv(self) -> str:
        """Return the table as CSV: numbers as they are, and nothing where there is nothing to say."""
        columns, rows = self._flat()
        return csv_text((column.name for column in columns), rows)

    def json(self) -> str:
        """Return the table as a JSON list with an object for each row; a summary is an object too."""
        rows = [dict(zip(self.head, row, strict=True)) for row in self.rows]
        return json.dumps(rows, ensure_ascii=False, indent=1, default=asdict) + "\n"

    def parquet(self) -> bytes:
        """Return the table as a Parquet file; it needs pyarrow."""
        import pyarrow

        columns, rows = self._flat()
        arrays = {
            column.name: pyarrow.array(
                (row[place] for row in rows), pyarrow.type_for_alias(ARROW[column.kind])
            )
            for place, column in enumerate(columns)
        }
        return parquet_bytes(arrays)

    def write(self, file: Path) -> None:
        """Write the table to a file in the form that its suffix says, one of `TABLE_SUFFIXES`."""
        write_whole(file, WRITERS[file.suffix](self))

    def _flat(self) -> tuple[list[Column], list[list[Any]]]:
        """The columns and rows of a file, where a summary takes a column for each of its numbers."""
        columns: list[Column] = []
        rows: list[list[Any]] = [[] for _ in self.rows]
        for place, column in enumerate(self.columns):
            summary = column.kind == "summary"
            columns += [Column(f"{column.name}_{end}", "number") for end in ENDS] if summary else [column]
            for flat, row in zip(rows, self.rows, strict=True):
                cell = row[place]
                flat += [getattr(cell, end, None) for end in ENDS] if summary else [cell]
        return columns, rows


WRITERS: dict[str, Callable[[Table], str | bytes]] = {
    ".csv": Table.csv,
    ".parquet": Table.parquet,
    ".json": Table.json,
    ".md": lambda table: table.markdown() + "\n",
    ".txt": lambda table: table.text() + "\n",
}
TABLE_SUFFIXES = tuple(WRITERS)


def csv_text(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return rows below a head as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


def parquet_bytes(columns: Mapping[str, Any], metadata: Mapping[bytes, bytes] | None = None) -> bytes:
    """Return pyarrow arrays by their names as a Parquet file, with metadata beside them."""
    import pyarrow
    from pyarrow import parquet

    buffer = io.BytesIO()
    table = pyarrow.table(dict(columns))
    parquet.write_table(table.replace_schema_metadata(metadata) if metadata else table, buffer)
    return buffer.getvalue()


def _markup(text: str) -> str:
    """A text in a cell; the digits of an exact number unfold."""
    if isinstance(text, ExactText) and text.digits != text:
        return f"<details><summary>{escape(text)}</summary>{escape(text.digits)}</details>"
    return escape(text)
