"""Pages: one self-contained HTML file with a headline, sections, tables and figures."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphveil.experiments.figure import Chart, Drawing, variables
from graphveil.experiments.table import Table, escape
from graphveil.files import PAGES, write_whole
from graphveil.version import __version__

# Nothing is fetched, and the browser holds that too.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

# The style of all pages, and what lets tables be sorted.
STYLE_FILE, SCRIPT_FILE = Path(__file__).with_name("page.css"), Path(__file__).with_name("page.js")

# Sections of these levels are listed, where there are so many of them; a list longer than that is folded.
LISTED, FEWEST, LONG = (2, 3), 3, 8
WIDE = re.compile(r'viewBox="\S+ \S+ ([\d.]+) [\d.]+"')


@dataclass(frozen=True)
class Section:
    """A heading of some level, and below it a figure, sentences, a table, and notes: whatever is there of them.

    A figure may be a function that draws it when it is needed. Its ``caption`` stands where it is shown.
    """

    title: str
    text: tuple[str, ...] = ()
    figure: Chart | Drawing | Callable[[], Drawing] | None = None
    table: Table | None = None
    level: int = 2
    notes: tuple[str, ...] = ()
    caption: str = ""

    def drawing(self) -> Drawing | None:
        """Return the figure, drawn; the section says the title of a chart itself."""
        if isinstance(self.figure, Chart):
            return self.figure.drawing(headed=False)
        return self.figure() if callable(self.figure) else self.figure

    def with_words(self, change: Callable[[str], str]) -> Section:
        """Return the section with its sentences and the cells of its table put in other words."""
        text = tuple(map(change, self.text))
        table = None if self.table is None else self.table.with_words(change)
        return replace(self, text=text, table=table, notes=tuple(map(change, self.notes)))

    def html(self, mark: str) -> str:
        """The section as HTML, with a name that the contents refer to."""
        sentences = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in self.text)
        notes = "".join(f'<p class="note">{escape(paragraph)}</p>' for paragraph in self.notes)
        heading = f'<h{self.level} id="{mark}">{escape(self.title)}</h{self.level}>'
        table = self.table.html() if self.table else ""
        return f"{heading}{self._picture()}{sentences}{table}{notes}"

    def _picture(self) -> str:
        """The figure in its frame: as wide as the screen, but no smaller than its letters can be read."""
        drawn = self.drawing()
        if drawn is None:
            return ""
        svg = drawn.svg()
        found = WIDE.search(svg)
        assert found is not None
        return (
            f'<div class="picture" tabindex="0" role="img" aria-label="{escape(self.title)}" style="--wide: {found[1]}">'
            f"{svg}</div>"
        ) + (f"<p>{escape(self.caption)}</p>" if self.caption else "")


def page(title: str, headline: str, sections: Sequence[Section], footer: str, about: str = "") -> str:
    """Return an HTML page.

    Parameters
    ----------
    headline
        The outcome in a sentence, below the title.
    about
        A note in small letters below the headline.
    """
    marks = [f"section-{place}" for place in range(1, len(sections) + 1)]
    body = "\n".join(section.html(mark) for section, mark in zip(sections, marks, strict=True))
    told = f'<p class="note">{escape(about)}</p>' if about else ""
    style, script = (file.read_text(encoding="utf-8") for file in (STYLE_FILE, SCRIPT_FILE))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{variables()}{style}</style></head>\n"
        f'<body><header><h1>{escape(title)}</h1><p class="headline">{escape(headline)}</p>{told}</header>\n'
        f"{_contents(sections, marks)}<main>\n{body}\n</main>\n"
        f'<footer><p class="note">{escape(footer)}</p></footer><script>{script}</script></body></html>\n'
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


class Analysis(ABC):
    """A finished analysis: one JSON object, and sections below a title and a headline, on a screen or a page."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The name of what was analysed."""

    @property
    @abstractmethod
    def headline(self) -> str:
        """The outcome in words."""

    @property
    @abstractmethod
    def sections(self) -> Sequence[Section]:
        """The table with its figure, where there is one, and what the numbers are."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return all of it, for JSON."""

    @property
    def footer(self) -> str:
        """The text at the end of the page."""
        return f"graphveil {__version__}."

    def page(self) -> str:
        """Return the whole page."""
        return page(self.title, as_sentence(self.headline), self.sections, self.footer)

    def write(self, file: Path) -> None:
        """Write the page to an .html file, the first figure to a .svg or .png file."""
        if file.suffix in PAGES:
            write_whole(file, self.page())
        else:
            next(drawn for section in self.sections if (drawn := section.drawing())).write(file)


def as_sentence(words: str) -> str:
    """Return words with a capital letter and a full stop.

    >>> as_sentence("nothing is learned")
    'Nothing is learned.'
    """
    return f"{words[0].upper()}{words[1:].removesuffix('.')}."
