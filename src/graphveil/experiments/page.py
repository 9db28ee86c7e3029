"""Pages: one self-contained HTML file with a headline, sections, tables and figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from graphveil.experiments.figure import Chart, Drawing, variables
from graphveil.experiments.table import Table, escape

# Nothing is fetched, and the browser holds that too.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

STYLE = (
    variables()
    + """
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 66rem; margin: 0 auto;
  padding: 1.5rem 1rem 4rem; overflow-wrap: break-word; }
p, li { max-width: 46rem; }
h1 { font-size: 1.05rem; font-weight: 600; color: var(--faint); margin: 0 0 .5rem; }
h2 { font-size: 1.3rem; margin: 3rem 0 .75rem; padding-top: 1rem; border-top: 1px solid var(--rule); }
h3 { font-size: 1.1rem; margin: 2rem 0 .5rem; } h4, h5 { font-size: 1rem; margin: 1.5rem 0 .25rem; } h5 { font-weight: normal; }
.headline { font-size: 1.45rem; line-height: 1.35; font-weight: 600; max-width: 46rem; margin: 0 0 .75rem; text-wrap: pretty; }
.note { color: var(--faint); font-size: .875rem; }
a { color: var(--method); }
:focus-visible { outline: 3px solid var(--method); outline-offset: 2px; }
nav { margin: 1.5rem 0; } nav summary { font-weight: 600; cursor: pointer; }
nav ul { list-style: none; margin: .25rem 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: 0 1.5rem; } nav li { padding: .2rem 0; }
nav .below { font-size: .875rem; }
.picture { margin: 1rem 0; overflow-x: auto; }
.picture svg { display: block; height: auto; width: 100%; min-width: calc(var(--wide) * .84px); max-width: calc(var(--wide) * 1.75px); }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; min-width: min(100%, 30rem); }
th, td { text-align: left; padding: .45rem .7rem; border-bottom: 1px solid var(--rule); vertical-align: top; }
td { white-space: nowrap; } td.long, td:first-child { white-space: normal; max-width: 24rem; } td.long { min-width: 12rem; }
th { border-bottom: 2px solid var(--faint); vertical-align: bottom; font-weight: 600; }
tbody tr:hover > * { background: var(--shade); }
.number { text-align: right; }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--paper); }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; text-align: inherit; }
th button::after { content: "\\2195"; color: var(--faint); margin-left: .3em; font-weight: normal; }
th[aria-sort=ascending] button::after { content: "\\2191"; color: var(--ink); }
th[aria-sort=descending] button::after { content: "\\2193"; color: var(--ink); }
td details summary { cursor: pointer; }
@media (max-width: 40rem) {
  body { padding: 1rem 1rem 3rem; } .headline { font-size: 1.2rem; } h2 { margin-top: 2rem; }
  th:first-child, td:first-child { max-width: 40vw; box-shadow: 1px 0 var(--rule); }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; } nav, th button::after { display: none; }
  .scroll, .picture { overflow: visible; } table { font-size: 7.5pt; } th, td { padding: .15rem .3rem; position: static !important; }
  td { white-space: normal; } .picture, tr { break-inside: avoid; } h2, h3, h4, h5 { break-after: avoid; }
  .picture svg { min-width: 0; max-width: 15cm; }
}
"""
)

# Without it tables stay as they are: the buttons are made here.
SCRIPT = """
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  if (body.rows.length < 2) continue;
  const number = text => {
    const found = text.replace(/,/g, "").match(/^[^\\d+\\-]*([+\\-]?\\d+(\\.\\d+)?(e[+\\-]?\\d+)?)/);
    return found ? Number(found[1]) : NaN;
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending", numeric = head.classList.contains("number");
      const text = row => row.cells[column].textContent.trim();
      const missing = row => text(row) === "-" || (numeric && Number.isNaN(number(text(row))));
      const order = (a, b) => numeric ? number(text(a)) - number(text(b)) : text(a).localeCompare(text(b), "en", {numeric: true});
      const rows = [...body.rows].sort((a, b) => missing(a) - missing(b) || (up ? order(a, b) : order(b, a)));
      body.append(...rows);
      for (const each of heads) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
    });
  });
}
"""


# Sections of these levels are listed, where there are so many of them; a list longer than that is folded.
LISTED, FEWEST, LONG = (2, 3), 3, 8
WIDE = re.compile(r'viewBox="\S+ \S+ ([\d.]+) [\d.]+"')


@dataclass(frozen=True)
class Section:
    """A heading of some level, and below it a figure, sentences, a table, and notes: whatever is there of them."""

    title: str
    text: tuple[str, ...] = ()
    figure: Chart | Drawing | None = None
    table: Table | None = None
    level: int = 2
    notes: tuple[str, ...] = ()

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
        if self.figure is None:
            return ""
        svg = self.figure.svg()
        found = WIDE.search(svg)
        assert found is not None
        return (
            f'<div class="picture" tabindex="0" role="img" aria-label="{escape(self.title)}" style="--wide: {found[1]}">'
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
