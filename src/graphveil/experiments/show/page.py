"""A self-contained HTML page: plots, tables and sentences, nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 84rem; margin: 2rem auto; padding: 0 1rem; }
p { max-width: 52rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; } h3 { font-size: 1.05rem; } h4, h5 { font-size: 1rem; }
h5 { font-weight: normal; margin-bottom: 0; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .35rem .5rem; border-bottom: 1px solid #ddd; vertical-align: top; }
th { border-bottom: 2px solid #888; vertical-align: bottom; }
td.number, th.number { text-align: right; } td.number { white-space: nowrap; }
svg { max-width: 100%; height: auto; } .note { color: #555; } .scroll { overflow-x: auto; margin: 1rem 0; }
@media (max-width: 60rem) {
  th:first-child, td:first-child { position: sticky; left: 0; background: #fff; box-shadow: 1px 0 #ddd; }
}
@media (prefers-color-scheme: dark) {
  body { background: #161616; color: #ddd; } th, td { border-color: #444; } .note { color: #aaa; }
  th:first-child, td:first-child { background: #161616; box-shadow: none; }
  svg { background: #fff; border-radius: 4px; }
}
@media print {
  body { max-width: none; background: #fff; color: #222; } th:first-child, td:first-child { background: none; }
  table { font-size: .6rem; } th, td { padding: .2rem; } .scroll { overflow: visible; }
}
"""


@dataclass(frozen=True)
class Table:
    """A table; columns named in ``numbers`` are set right."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[str] = frozenset()

    def html(self) -> str:
        """The table as HTML."""

        def cell(tag: str, column: str, text: str) -> str:
            kind = ' class="number"' if column in self.numbers else ""
            kind += ' scope="col"' if tag == "th" else ""
            return f"<{tag}{kind}>{escape(text)}</{tag}>"

        head = "".join(cell("th", column, column) for column in self.head)
        rows = "".join(
            "<tr>"
            + "".join(cell("td", column, text) for column, text in zip(self.head, row, strict=True))
            + "</tr>"
            for row in self.rows
        )
        return f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


@dataclass(frozen=True)
class Section:
    """A heading of some level, sentences, and below them a picture or a table or both."""

    title: str
    text: tuple[str, ...] = ()
    svg: str = ""
    table: Table | None = None
    level: int = 2

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Those of its table, if it has one."""
        return () if self.table is None else self.table.rows

    def with_words(self, change: Callable[[str], str]) -> Section:
        """The section with its sentences and the cells of its table put in other words."""
        table = self.table
        if table is not None:
            table = replace(table, rows=tuple(tuple(map(change, row)) for row in table.rows))
        return replace(self, text=tuple(map(change, self.text)), table=table)

    def html(self) -> str:
        """The section as HTML."""
        sentences = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in self.text)
        heading = f"<h{self.level}>{escape(self.title)}</h{self.level}>"
        picture = f'<div role="img" aria-label="{escape(self.title)}">{self.svg}</div>' if self.svg else ""
        return f"{heading}{sentences}{picture}{self.table.html() if self.table else ''}"


def page(title: str, lead: str, sections: Sequence[Section], footer: str) -> str:
    """The whole page."""
    body = "\n".join(section.html() for section in sections)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1><p>{escape(lead)}</p>\n{body}\n"
        f'<p class="note">{escape(footer)}</p></body></html>\n'
    )
