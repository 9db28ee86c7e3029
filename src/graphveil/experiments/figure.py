"""Figures as SVG elements or PNG files: colours, line styles, and charts of lines. The same content gives the same bytes.

Nothing that matplotlib keeps for the whole process is left changed, or open: sizes and colours are said where they are used. A figure is
drawn in the colours of the day. In an SVG element every one of them becomes a CSS variable, so that it follows the mode of the page or the
picture viewer that shows it.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from graphveil.errors import visible_lines
from graphveil.experiments.table import Table
from graphveil.files import write_whole
from graphveil.number_format import NUMBER, PERCENT, Unit
from graphveil.statistics import Summary


@dataclass(frozen=True)
class Tone:
    """A colour: its name as a CSS variable, and what it is by day and by night."""

    name: str
    day: str
    night: str

    @property
    def variable(self) -> str:
        """As CSS takes it; by day where nobody has set it.

        >>> Tone("ink", "#1f2328", "#e6e6e6").variable
        'var(--ink, #1f2328)'
        """
        return f"var(--{self.name}, {self.day})"


PAPER = Tone("paper", "#ffffff", "#161616")
INK = Tone("ink", "#1f2328", "#e6e6e6")
FAINT = Tone("faint", "#57606a", "#a6adb4")
RULE = Tone("rule", "#d0d7de", "#3d444b")
SHADE = Tone("shade", "#f5f7f9", "#20242a")

# What a line or a bar is about. Tests hold their contrast, and that people who see fewer colours tell them apart.
METHOD = Tone("method", "#1f78d8", "#4a9ff5")
CONTROL = Tone("control", "#7b848e", "#7f8388")
STRUCTURE = Tone("structure", "#bf7300", "#f08a35")
NO_PRIVACY = Tone("no-privacy", "#01663f", "#3be8a0")
LIMIT = Tone("limit", "#7a0d5e", "#fcaee4")
ROLES = (METHOD, CONTROL, STRUCTURE, NO_PRIVACY, LIMIT)

# Methods beside the first one, or classes. They have marks of their own besides.
MORE = (
    Tone("second", "#6f3fa0", "#c8a2f2"),
    Tone("third", "#8a6d00", "#d8c04a"),
    Tone("fourth", "#0b7f86", "#4fd0d8"),
    Tone("fifth", "#b3261e", "#ff9c8f"),
    Tone("sixth", "#4d6b00", "#b2d45c"),
    Tone("seventh", "#7a4b3a", "#d9ab98"),
    Tone("eighth", "#3b4cc0", "#9fb0ff"),
    Tone("ninth", "#c0267e", "#f59ad0"),
    Tone("tenth", "#2e6f40", "#84cf98"),
    Tone("eleventh", "#455a75", "#b4c6de"),
)
LINES = (METHOD, *MORE)
TONES = (PAPER, INK, FAINT, RULE, SHADE, *ROLES, *MORE)

PAINT = re.compile(r"\b(fill|stroke): (#[0-9a-f]{6})\b")


def following_mode(svg: str) -> str:
    """An SVG element whose colours follow the mode: each that has a name is said twice, as it is by day and as a variable.

    >>> following_mode('<path style="stroke: #1f2328; stroke-width: 2"/>')
    '<path style="stroke: #1f2328; stroke: var(--ink, #1f2328); stroke-width: 2"/>'
    """
    named = {tone.day: tone for tone in TONES}

    def both(match: re.Match[str]) -> str:
        paint, colour = match.groups()
        tone = named.get(colour)
        return match[0] if tone is None else f"{match[0]}; {paint}: {tone.variable}"

    return PAINT.sub(both, svg)


def variables() -> str:
    """The style that sets the variables, by day, by night and on paper; for a page or a file of its own."""
    day = " ".join(f"--{tone.name}: {tone.day};" for tone in TONES)
    night = " ".join(f"--{tone.name}: {tone.night};" for tone in TONES)
    return (
        f":root {{ color-scheme: light dark; {day} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {night} }} }}\n"
    )


# What a line is about. A line of a computed figure is a method with an open mark, which lets a line below it show; a companion belongs to the
# line before it, as a control does; a reference is what there is without any mechanism.
Role = Literal[
    "method",
    "control",
    "structure",
    "unasked",
    "edgeless",
    "no privacy",
    "limit",
    "chance",
    "line",
    "companion",
    "reference",
]

MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h")
# What is no method has a colour for its role and a dash of its own.
DASHES: dict[Role, tuple[str, Any]] = {
    "control": (CONTROL.day, "--"),
    "structure": (STRUCTURE.day, ":"),
    "unasked": (STRUCTURE.day, (0, (5, 1, 1, 1, 1, 1))),
    "edgeless": (STRUCTURE.day, (0, (1, 3))),
    "no privacy": (NO_PRIVACY.day, "-."),
    "limit": (LIMIT.day, "-"),
    "chance": (INK.day, ":"),
}
WIDE = 2.2
# How strongly an interval is shaded.
BAND = 0.16
REFERENCES = ((INK.day, ":"), (FAINT.day, "-."), (CONTROL.day, (0, (1, 3))))


def line_style(role: Role, place: int = 0, *, flat: bool = False) -> dict[str, Any]:
    """Return the matplotlib style of a line.

    A control has the open mark of its method, a companion also its colour.

    Parameters
    ----------
    place
        The number of the method, or of the reference, within the figure.
    flat
        Whether the line is horizontal, and has no marks.
    """
    mark = {} if flat else {"marker": MARKS[place % len(MARKS)], "markersize": 6}
    if role in ("method", "line", "companion"):
        style = {"color": LINES[place % len(LINES)].day, "linestyle": "-", "linewidth": WIDE, **mark}
        if role == "companion":
            style["linestyle"] = "--"
        return style if role == "method" else style | {"fillstyle": "none"}
    colour, dash = REFERENCES[place % len(REFERENCES)] if role == "reference" else DASHES[role]
    style = {"color": colour, "linestyle": dash, "linewidth": WIDE}
    if role == "limit":
        # So that it shows where there is one point.
        return style | {"marker": "_"}
    return style | mark | {"fillstyle": "none"} if role == "control" else style


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
BLACK = ("black", "k", "#000000")


class Drawing:
    """Panels side by side to draw on (``axes``, row by row), of a size in inches; `svg` and `png` are what was drawn.

    ``panels`` stand in each row; those that are ``shared`` have one scale.
    """

    def __init__(
        self, size: tuple[float, float], panels: int = 1, rows: int = 1, *, shared: bool = True
    ) -> None:
        # Loaded where something is drawn: most commands draw nothing.
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure

        self.figure = Figure(figsize=size, facecolor=PAPER.day)
        # What texts are measured by, in a PNG too.
        FigureCanvasSVG(self.figure)
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
        self.figure.text(
            0.01,
            top,
            textwrap.fill(title, int(0.75 * width)),
            va="bottom",
            fontsize=TITLE_SIZE,
            fontweight="bold",
        )

    def label(self, title: str, x: str = "", y: str = "") -> None:
        """Label the first panel.

        Parameters
        ----------
        title
            What stands above it.
        x, y
            The names of its axes.
        """
        self.axes[0].set_title(title, fontsize=TITLE_SIZE)
        self.axes[0].set(xlabel=x, ylabel=y)

    def legend(self, columns: int) -> None:
        """Say what the lines of all panels are, each name once, below them.

        It has so many ``columns`` at most, and no more than fit; long names are broken into lines.
        """
        entries: list[tuple[Any, str]] = []
        for axes in self.axes:
            # A name may stand several times in one panel, as that of a control does.
            named = {label for _, label in entries}
            found = zip(*axes.get_legend_handles_labels(), strict=True)
            entries += [each for each in found if each[1] not in named]
        labels = [textwrap.fill(label, LONGEST) for _, label in entries]
        longest = max((len(line) for label in labels for line in label.splitlines()), default=0)
        fit = int(self.figure.get_figwidth() * LETTERS_AN_INCH / (longest + LEGEND_MARK))
        self.figure.legend(
            [handle for handle, _ in entries],
            labels,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=max(min(columns, fit), 1),
            frameon=False,
            fontsize=TEXT_SIZE,
        )

    def svg(self) -> str:
        """The SVG element, as large as it must be, in the colours that the page around it sets."""
        from matplotlib import rc_context

        buffer, texts = io.StringIO(), self._arrange()
        # Letters stay letters: they can be read aloud, searched and copied. Names of parts follow from what is drawn, where matplotlib
        # draws them at random, and from the texts, so that two figures on a page share none.
        with rc_context({"svg.fonttype": "none", "svg.hashsalt": texts}):
            self.figure.savefig(buffer, format="svg", metadata={"Date": None}, bbox_inches="tight")
        text = buffer.getvalue()
        return following_mode(_lean(text[text.index("<svg") :]))

    def svg_file(self) -> str:
        """The same with a style of its own: what stands in a file, or in a notebook."""
        start, rest = self.svg().split(">", 1)
        return f"{start}><style>{variables()}</style>{rest}"

    def png(self) -> bytes:
        """Return the drawing as PNG."""
        self._arrange()
        buffer = io.BytesIO()
        self.figure.savefig(buffer, format="png", dpi=150, metadata={"Software": None}, bbox_inches="tight")
        return buffer.getvalue()

    def write(self, file: Path) -> None:
        """Write it to a file: pixels to a .png, else SVG."""
        write_whole(file, self.png() if file.suffix == ".png" else self.svg_file())

    def _arrange(self) -> str:
        """Show names as they are, dollar signs too, with everything in them visible, and fit the panels into the figure; return the names."""
        from matplotlib import rcParams
        from matplotlib.text import Text

        texts = self.figure.findobj(Text)
        for text in texts:
            text.set_parse_math(False)
            text.set_text(visible_lines(text.get_text()))
            # Black is what matplotlib gives where nobody asked for a colour.
            if text.get_color() in BLACK:
                text.set_color(INK.day)
        # matplotlib counts the room in its own size of text.
        self.figure.tight_layout(pad=PADDING * TEXT_SIZE / rcParams["font.size"])
        return "\n".join(text.get_text() for text in texts)


def _lean(svg: str) -> str:
    """An SVG element without what it needs not, in the font around it, which says how wide it was drawn."""
    lean = FONTS.sub("sans-serif", NEEDLESS.sub("", svg))
    return lean.replace("<svg ", '<svg class="figure" font-family="system-ui, sans-serif" ', 1).replace(
        "font-family: sans-serif; ", ""
    )


def band(points: Sequence[Summary], factor: float = 100.0) -> tuple[list[float], list[float], list[float]]:
    """Lows, means and highs of some points times a factor, percent by default; one without an interval is its mean in all three.

    >>> band([Summary(0.5, 0.25, 0.75), Summary(0.5, None, None)])
    ([25.0, 50.0], [50.0, 50.0], [75.0, 50.0])
    """
    lows = [factor * (point.mean if point.low is None else point.low) for point in points]
    highs = [factor * (point.mean if point.high is None else point.high) for point in points]
    return lows, [factor * point.mean for point in points], highs


# Letters of a panel's title in one line.
TITLE_WIDTH = 48
# Panels side by side are a little narrower than one alone.
NARROWER = 0.85
LEGEND_COLUMNS = 4
# A scale that follows from the numbers.
FREE = (None, None)


@dataclass(frozen=True)
class Series:
    """One line: a number at each x, with its interval where it was drawn at random. None where there is no number.

    One number and no x is the same everywhere. ``mark_of`` is the label of the line whose mark it has besides its own style.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[Summary | None, ...]
    note: str = ""
    role: Role = "line"
    mark_of: str = ""

    def at(self, x: float) -> Summary | None:
        """Return the number at this x."""
        return dict(zip(self.x, self.y, strict=True)).get(x) if self.x else next(iter(self.y), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the line in the form that `--json` prints."""
        return {
            "label": self.label,
            "role": self.role,
            "x": list(self.x),
            "y": [None if each is None else each.mean for each in self.y],
            "low": [None if each is None else each.low for each in self.y],
            "high": [None if each is None else each.high for each in self.y],
            "note": self.note or None,
        }

    def draw(self, axes: Any, factor: float, style: dict[str, Any]) -> None:
        """Draw the line and its intervals.

        Parameters
        ----------
        axes
            Matplotlib's axes.
        factor
            What numbers are multiplied by.
        style
            The style of the line, as `line_style` gives it.
        """
        points = [point for point in self.y if point is not None]
        if not points:
            return
        lows, means, highs = band(points, factor)
        shade = {"color": style["color"], "alpha": BAND, "linewidth": 0}
        if not self.x:
            axes.axhline(means[0], label=self.label, **style)
            axes.axhspan(lows[0], highs[0], **shade)
            return
        places = [x for x, point in zip(self.x, self.y, strict=True) if point is not None]
        axes.plot(places, means, label=self.label, **style)
        axes.fill_between(places, lows, highs, **shade)


@dataclass(frozen=True)
class ChartPanel:
    """Lines over one x.

    ``log`` names the axes that have a logarithmic scale. ``ticks`` are names of x = 0, 1, 2 and so on, where x is no number.
    ``limits`` are the ends of a y scale that is not logarithmic, in the unit; None where they follow from the numbers.
    """

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log: Literal["", "x", "y", "xy"] = ""
    ticks: tuple[str, ...] = ()
    unit: Unit = NUMBER
    limits: tuple[float | None, float | None] = (0.0, None)

    @property
    def x(self) -> list[float]:
        """All values of x that some line has."""
        return sorted({x for series in self.series for x in series.x} | {*map(float, range(len(self.ticks)))})

    @property
    def x_names(self) -> list[str]:
        """Each x as it is shown."""
        return list(self.ticks) or [f"{x:g}" for x in self.x]

    def table(self, note: str = "") -> Table:
        """Return a row for each line, a column for each x, and notes below this name."""
        rows = (
            (series.label, *(self.unit.interval(series.at(x)) for x in self.x), series.note)
            for series in self.series
        )
        return Table.of((self.x_label, *self.x_names, note), rows, text=(note,))

    def to_dict(self) -> dict[str, Any]:
        """Return the panel in the form that `--json` prints."""
        return {
            "title": self.title,
            "x_label": self.x_label,
            "y_label": self.y_label,
            "series": [series.to_dict() for series in self.series],
        }

    def draw(self, axes: Any, lines: dict[str, int], references: dict[str, int]) -> None:
        """Draw everything except the label of y.

        Parameters
        ----------
        lines, references
            The numbers of lines and references by label, shared by panels so that equal labels look alike.
        """
        place = 0
        for series in self.series:
            if series.role == "reference":
                style = line_style("reference", references.setdefault(series.label, len(references)))
            else:
                if series.role in ("method", "line"):
                    place = lines.setdefault(series.label, len(lines))
                style = line_style(series.role, place, flat=not series.x)
            if series.mark_of:
                style |= {"marker": MARKS[lines[series.mark_of] % len(MARKS)], "fillstyle": "none"}
            series.draw(axes, self.unit.factor, style)
        if "x" in self.log:
            axes.set_xscale("log")
            axes.minorticks_off()
        axes.set_xticks(self.x, self.x_names)
        if "y" in self.log:
            axes.set_yscale("log")
            # A drawing shows texts as they are, so powers are no formulas.
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.yaxis.set_minor_formatter(lambda value, _: "")
        axes.set_xlabel(self.x_label)
        axes.set_title(textwrap.fill(self.title, TITLE_WIDTH), fontsize=TITLE_SIZE)


@dataclass(frozen=True)
class Chart:
    """Panels, in rows of ``columns``, and above them a title and sentences that follow from their numbers."""

    panels: tuple[ChartPanel, ...]
    findings: tuple[str, ...] = ()
    columns: int = 2
    title: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the chart in the form that `--json` prints."""
        return {"panels": [panel.to_dict() for panel in self.panels], "findings": list(self.findings)}

    def drawing(self, *, headed: bool = True) -> Drawing:
        """Draw the panels, with title and findings above them if ``headed``."""
        columns = min(self.columns, len(self.panels))
        rows = math.ceil(len(self.panels) / columns)
        # Panels side by side of the same measure are compared with each other.
        shared = rows == 1 and len({(panel.y_label, "y" in panel.log) for panel in self.panels}) == 1
        width = WIDTH if columns == 1 else NARROWER * WIDTH * columns
        drawing = Drawing((width, HEIGHT * rows), columns, rows, shared=shared)
        lines: dict[str, int] = {}
        references: dict[str, int] = {}
        for place, (axes, panel) in enumerate(zip(drawing.axes, self.panels, strict=False)):
            panel.draw(axes, lines, references)
            # What the panel to its left says needs not be said again.
            if place % columns == 0 or panel.y_label != self.panels[place - 1].y_label:
                axes.set_ylabel(panel.y_label)
        # A scale that is shared is known when all panels are drawn.
        for axes, panel in zip(drawing.axes, self.panels, strict=False):
            if "y" not in panel.log and panel.limits != FREE:
                axes.set_ylim(*panel.limits)
        for axes in drawing.axes[len(self.panels) :]:
            axes.set_axis_off()
        if headed and self.title:
            drawing.heading(self.title, self.findings)
        drawing.legend(min(LEGEND_COLUMNS, 2 * columns))
        return drawing

    def svg(self) -> str:
        """Return the chart as an SVG element for a page, which says title and findings itself."""
        return self.drawing(headed=False).svg()

    def write(self, file: Path) -> None:
        """Write the chart to a file whose name ends in .svg or .png."""
        self.drawing().write(file)


def epsilon_chart(series: Sequence[Series], title: str, metric: str = "accuracy") -> Chart:
    """Return a chart of a metric over the privacy budget; a series without x does not depend on it.

    Parameters
    ----------
    series
        The lines.
    title
        The title of the panel.
    metric
        The name of the score.
    """
    panel = ChartPanel(
        title,
        "privacy budget ε",
        f"{metric} on test users (%)",
        tuple(series),
        "x",
        unit=PERCENT,
        limits=FREE,
    )
    return Chart((panel,))
