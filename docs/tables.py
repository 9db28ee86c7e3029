"""Write the tables of the documentation, from the project's folder.

    python -m docs.tables [--run NAME … [--data GRAPH …]] [--jobs N]

A table stands between `<!-- table: NAME -->` and `<!-- end -->` in a page. It comes from docs/results/NAME.csv, or is computed
on the spot where that takes no time. ``--run`` computes the results of the tables that are named again before.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection
from pathlib import Path

from docs.advised import advised_all_table, advised_panel_table, advised_table
from docs.demo_figure import demo_figure
from docs.layouts import LAYOUTS
from docs.links_figure import links_figure
from docs.mechanism_errors import error_table
from docs.printed import PRINTED
from docs.searched import searched_table
from docs.veil_figure import veil_figure
from docs.veil_lines import short_table
from docs.veil_others import others_table

HERE = Path(__file__).parent
PAGES = (HERE.parent / "README.md", *sorted(HERE.glob("*.md")))
BLOCK = re.compile(r"(<!-- table: (?P<name>[a-z0-9-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
# Where a table comes from.
SOURCES: dict[str, Callable[[], str]] = {
    "mechanism-errors": error_table,
    "searched": searched_table,
    "advised": advised_table,
    "advised-panel": advised_panel_table,
    "advised-all": advised_all_table,
    "veil": short_table,
    "veil-others": others_table,
    **{name: layout.table for name, layout in (LAYOUTS | PRINTED).items()},
}


def rewritten(text: str, left: Collection[str] = ()) -> str:
    """A page with its tables as they should be, but for those that are ``left`` as they are."""

    def block(found: re.Match[str]) -> str:
        name = found["name"]
        return found[0] if name in left else f"{found[1]}\n{SOURCES[name]()}\n\n{found[3]}"

    return BLOCK.sub(block, text)


def named(text: str) -> list[str]:
    """The tables of a page."""
    return [found["name"] for found in BLOCK.finditer(text)]


def main() -> None:
    """Rewrite all pages, after computing what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables", description=__doc__)
    parser.add_argument("--run", nargs="+", default=[], choices=sorted(LAYOUTS | PRINTED), metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes; it changes no number")
    parser.add_argument("--data", nargs="+", default=[], help="compute only the lines on these graphs again")
    asked = parser.parse_args()
    for name in asked.run:
        from docs.rerun import rerun

        rerun(name, asked.jobs, asked.data)
    (HERE / "veil.svg").write_text(veil_figure() + "\n", encoding="utf-8")
    (HERE / "demo.svg").write_text(demo_figure() + "\n", encoding="utf-8")
    (HERE / "links.svg").write_text(links_figure() + "\n", encoding="utf-8")
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        after = rewritten(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(f"{page.relative_to(HERE.parent)}: rewritten")


if __name__ == "__main__":
    main()
