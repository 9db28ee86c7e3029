"""A figure that becomes an SVG element or a PNG file: the same content, the same bytes.

Nothing that matplotlib keeps for the whole process is changed, or left open: sizes and colours are said where they are used. An
SVG element follows the mode of the page that it is in, and a file has a style that lets it do the same.
"""

from __future__ import annotations

import hashlib
import io
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphveil.errors import InputError, visible_lines
from graphveil.experiments.runs.export import write_whole
from graphveil.experiments.runs.statistics import Summary
from graphveil.experiments.show.colours import FAINT, INK, PAPER, RULE, following_mode, variables

SUFFIXES = (".svg", ".png")
# Inches of a figure with one panel: its letters can be read where it is as wide as a phone.
WIDTH, HEIGHT = 5.4, 3.7
# Points. Titles are given theirs where they are set: matplotlib has one of its own for each new title.
TEXT_SIZE, TITLE_SIZE = 11.0, 13.2
# Letters of text in an inch of a line.
LETTERS_AN_INCH = 12.5
# From line to line, in sizes of the text.
LINE_HEIGHT = 1.35
# Room around panels, in heights of the text.
PADDING = 1.08
# A mark of a legend and the room around it, in letters, and the longest name in it.
LEGEND_MARK, LONGEST = 6, 48
# What an SVG element needs not: who made it, names that nobody refers to, fonts, a style for the whole page.
NEEDLESS = re.compile(
    r' <metadata>.*?</metadata>\n| id="[\w.]+_\d+"| <defs>\s*<style type="text/css">.*?</style>\s*</defs>\n',
    re.DOTALL,
)
FONTS = re.compile(r"'DejaVu Sans'[^;\"]*sans-serif")
SIZE = re.compile(r'width="([\d.]+)pt" height="([\d.]+)pt"')
BLACK = ("black", "k", "#000000")
# Names that matplotlib draws at random end so.
RANDOM_NAME = re.compile(r'\bid="(\w*[0-9a-f]{10})"')


class Drawing:
    """Panels side by side to draw on (``axes``, row by row), of a size in inches; `svg` and `png` are what was drawn.

    ``panels`` stand in each row; those that are ``shared`` have one scale.
    """

    def __init__(
        self, size: tuple[float, float], panels: int = 1, rows: int = 1, *, shared: bool = True
    ) -> None:
        # Loaded where something is drawn: most commands draw nothing.
        from matplotlib.figure import Figure

        from graphveil.experiments.show.svg_canvas import LetterCanvas

        self.figure = Figure(figsize=size, facecolor=PAPER.day)
        # What texts are measured by, in a PNG too.
        LetterCanvas(self.figure)
        grid = self.figure.subplots(rows, panels, sharey=shared and panels > 1, squeeze=False)
        self.axes: list[Any] = list(grid.flat)
        for axes in self.axes:
            axes.set_facecolor(PAPER.day)
            axes.tick_params(labelsize=TEXT_SIZE, color=FAINT.day, labelcolor=INK.day)
            axes.grid(color=RULE.day, linewidth=0.8)
            axes.set_axisbelow(True)
            for side, spine in axes.spines.items():
                spine.set_color(FAINT.day)
                spine.set_visible(side in ("left", "bottom"))
            for axis in (axes.xaxis, axes.yaxis):
                axis.label.set_fontsize(TEXT_SIZE)
                axis.offsetText.set_fontsize(TEXT_SIZE)

    def heading(self, title: str, sentences: Sequence[str]) -> None:
        """A title above all panels, and sentences below it, broken into lines."""
        width = int(self.figure.get_figwidth() * LETTERS_AN_INCH)
        lines = [line for sentence in sentences for line in textwrap.wrap(sentence, width)]
        line = LINE_HEIGHT * TEXT_SIZE / 72 / self.figure.get_figheight()
        for place, text in enumerate(reversed(lines)):
            self.figure.text(0.01, 1 + (place + 0.5) * line, text, va="bottom", fontsize=TEXT_SIZE)
        top = 1 + (len(lines) + 1) * line
        # Its letters are larger, and bold.
        title = "\n".join(textwrap.wrap(title, int(0.75 * width)))
        self.figure.text(0.01, top, title, va="bottom", fontsize=TITLE_SIZE, fontweight="bold")

    def legend(self, columns: int, *, everywhere: bool = False) -> None:
        """What the lines of the first panel are, below all panels; ``everywhere``: those of all panels, each name once.

        It has so many ``columns`` at most, and no more than fit; long names are broken into lines.
        """
        handles, labels = self.axes[0].get_legend_handles_labels()
        if everywhere:
            named: dict[str, Any] = {}
            for axes in self.axes:
                for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                    named.setdefault(label, handle)
            handles, labels = list(named.values()), list(named)
        labels = ["\n".join(textwrap.wrap(label, LONGEST)) for label in labels]
        longest = max((len(line) for label in labels for line in label.splitlines()), default=0)
        fit = int(self.figure.get_figwidth() * LETTERS_AN_INCH / (longest + LEGEND_MARK))
        self.figure.legend(
            handles,
            labels,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=max(min(columns, fit), 1),
            frameon=False,
            fontsize=TEXT_SIZE,
        )

    def scale(self, shades: Any, label: str) -> None:
        """What the shades of the first panel mean, beside it."""
        bar = self.figure.colorbar(shades, ax=self.axes[0])
        bar.set_label(label, fontsize=TEXT_SIZE)
        bar.ax.tick_params(labelsize=TEXT_SIZE, color=FAINT.day, labelcolor=INK.day)
        bar.ax.set_facecolor(PAPER.day)
        bar.outline.set_edgecolor(FAINT.day)

    def svg(self) -> str:
        """The SVG element, as large as it must be, in the colours that the page around it sets."""
        self._arrange()
        buffer = io.StringIO()
        self.figure.savefig(buffer, format="svg", metadata={"Date": None}, bbox_inches="tight")
        text = buffer.getvalue()
        return following_mode(with_fixed_names(_lean(text[text.index("<svg") :])))

    def svg_file(self) -> str:
        """The same with a style of its own: what stands in a file, or in a notebook."""
        start, rest = self.svg().split(">", 1)
        return f"{start}><style>{variables()}</style>{rest}"

    def png(self) -> bytes:
        """The same as pixels."""
        self._arrange()
        buffer = io.BytesIO()
        self.figure.savefig(buffer, format="png", dpi=150, metadata={"Software": None}, bbox_inches="tight")
        return buffer.getvalue()

    def write(self, file: Path) -> None:
        """Write it to a file that `check_figure` has let pass: pixels to a .png, else SVG."""
        if file.suffix == ".png":
            write_whole(file, self.png())
        else:
            write_whole(file, self.svg_file().encode())

    def _arrange(self) -> None:
        """Show names as they are, dollar signs too, with everything in them visible, and fit the panels into the figure."""
        from matplotlib import rcParams
        from matplotlib.text import Text

        for text in self.figure.findobj(Text):
            text.set_parse_math(False)
            text.set_text(visible_lines(text.get_text()))
            # Black is what matplotlib gives where nobody asked for a colour.
            if text.get_color() in BLACK:
                text.set_color(INK.day)
        # matplotlib counts the room in its own size of text.
        self.figure.tight_layout(pad=PADDING * TEXT_SIZE / rcParams["font.size"])


def _lean(svg: str) -> str:
    """An SVG element without what it needs not, in the font around it, which says how wide it was drawn."""
    lean = FONTS.sub("sans-serif", NEEDLESS.sub("", svg))
    return lean.replace("<svg ", '<svg class="figure" font-family="system-ui, sans-serif" ', 1).replace(
        "font-family: sans-serif; ", ""
    )


def check_figure(file: Path) -> Path:
    """Refuse a file that could not be written or is no figure."""
    if file.suffix not in SUFFIXES or file.is_dir():
        raise InputError(f"{file} is no figure: name a file that ends in {' or '.join(SUFFIXES)}")
    if not file.parent.is_dir():
        raise InputError(f"{file.parent} is not a folder: name a file in a folder that is there")
    return file


def band(points: Sequence[Summary], factor: float = 100.0) -> tuple[list[float], list[float], list[float]]:
    """Lows, means and highs of some points times a factor, percent by default; one without an interval is its mean in all three.

    >>> band([Summary(0.5, 0.25, 0.75), Summary(0.5, None, None)])
    ([25.0, 50.0], [50.0, 50.0], [75.0, 50.0])
    """
    lows = [factor * (point.mean if point.low is None else point.low) for point in points]
    highs = [factor * (point.mean if point.high is None else point.high) for point in points]
    return lows, [factor * point.mean for point in points], highs


def with_fixed_names(svg: str) -> str:
    """An SVG element whose parts have names that follow from its content, where matplotlib draws them at random.

    Two figures on a page share no name, since the content of each is in its names.

    >>> with_fixed_names('<g id="m0123456789"/><use href="#m0123456789"/>') == with_fixed_names(
    ...     '<g id="mabcdef0123"/><use href="#mabcdef0123"/>'
    ... )
    True
    """
    places = {name: place for place, name in enumerate(dict.fromkeys(RANDOM_NAME.findall(svg)))}
    if not places:
        return svg
    known = re.compile("|".join(places))
    content = known.sub(lambda match: f"part{places[match[0]]}", svg)
    mark = hashlib.sha256(content.encode()).hexdigest()[:10]
    return known.sub(lambda match: f"part-{mark}-{places[match[0]]}", svg)
