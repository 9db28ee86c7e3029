"""A self-contained HTML page: plots, tables and sentences, nothing fetched from anywhere.

All pages have one frame: what it is about, the headline in a sentence, a list of contents, then sections, each with its picture
first. Results come before what explains them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from graphveil.experiments.show.page_style import POLICY, SCRIPT, STYLE
from graphveil.experiments.table import Table, escape

# Sections of these levels are listed, where there are so many of them; a list longer than that is folded.
LISTED, FEWEST, LONG = (2, 3), 3, 8
WIDE = re.compile(r'viewBox="\S+ \S+ ([\d.]+) [\d.]+"')


@dataclass(frozen=True)
class Section:
    """A heading of some level, and below it a picture, sentences, a table, and notes: whatever is there of them."""

    title: str
    text: tuple[str, ...] = ()
    svg: str = ""
    table: Table | None = None
    level: int = 2
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Those of its table, if it has one."""
        return () if self.table is None else self.table.rows

    def with_words(self, change: Callable[[str], str]) -> Section:
        """The section with its sentences and the cells of its table put in other words."""
        table = None if self.table is None else self.table.with_words(change)
        return replace(
            self, text=tuple(map(change, self.text)), table=table, notes=tuple(map(change, self.notes))
        )

    def html(self, mark: str) -> str:
        """The section as HTML, with a name that the contents refer to."""
        sentences = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in self.text)
        notes = "".join(f'<p class="note">{escape(paragraph)}</p>' for paragraph in self.notes)
        heading = f'<h{self.level} id="{mark}">{escape(self.title)}</h{self.level}>'
        table = self.table.html() if self.table else ""
        return f"{heading}{picture(self.svg, self.title)}{sentences}{table}{notes}"


def picture(svg: str, title: str) -> str:
    """A picture in its frame: as wide as the screen, but no smaller than its letters can be read."""
    found = WIDE.search(svg)
    if found is None:
        return svg
    return (
        f'<div class="picture" tabindex="0" role="img" aria-label="{escape(title)}" style="--wide: {found[1]}">'
        f"{svg}</div>"
    )


def page(title: str, headline: str, sections: Sequence[Section], footer: str, about: str = "") -> str:
    """The whole page: its title, what it says in a sentence, what it is ``about`` in small letters, and its sections."""
    marks = [f"section-{place}" for place in range(1, len(sections) + 1)]
    body = "\n".join(section.html(mark) for section, mark in zip(sections, marks, strict=True))
    told = f'<p class="note">{escape(about)}</p>' if about else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f'<body><header><h1>{escape(title)}</h1><p class="headline">{escape(headline)}</p>{told}</header>\n'
        f"{_contents(sections, marks)}<main>\n{body}\n</main>\n"
        f'<footer><p class="note">{escape(footer)}</p></footer><script>{SCRIPT}</script></body></html>\n'
    )


def _contents(sections: Sequence[Section], marks: Sequence[str]) -> str:
    """The list of contents; a page of a few sections needs none."""
    listed = [(s, mark) for s, mark in zip(sections, marks, strict=True) if s.level in LISTED]
    if len(listed) < FEWEST:
        return ""
    lines = "".join(
        f'<li{"" if section.level == LISTED[0] else " class=below"}><a href="#{mark}">{escape(section.title)}</a></li>'
        for section, mark in listed
    )
    opened = " open" if len(listed) <= LONG else ""
    return f'<nav aria-label="Contents"><details{opened}><summary>Contents</summary><ul>{lines}</ul></details></nav>\n'
