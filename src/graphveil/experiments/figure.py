"""Figures as SVG elements or PNG files: colours, line styles, and charts of lines over ε. The same content gives the same bytes.

Nothing that matplotlib keeps for the whole process is changed, or left open: sizes and colours are said where they are used. A figure is
drawn in the colours of the day. In an SVG element every one of them becomes a CSS variable, so that it follows the mode of the page or the
picture viewer that shows it.
"""

from __future__ import annotations

import hashlib
import io
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from graphveil.errors import InputError, visible_lines
from graphveil.experiments.statistics import Summary
from graphveil.files import write_whole


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


Role = Literal["method", "control", "structure", "unasked", "edgeless", "no privacy", "limit", "chance"]

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
    """How a line is drawn: ``place`` counts the methods of a figure, and a control has the open mark of its method.

    A ``flat`` line is the same everywhere, and has no marks.
    """
    mark = {} if flat else {"marker": MARKS[place % len(MARKS)], "markersize": 6}
    if role == "method":
        return {"color": LINES[place % len(LINES)].day, "linestyle": "-", "linewidth": WIDE, **mark}
    colour, dash = DASHES[role]
    style = {"color": colour, "linestyle": dash, "linewidth": WIDE}
    return style | mark | {"fillstyle": "none"} if role == "control" else style


def reference_style(place: int) -> dict[str, Any]:
    """How a line is drawn that is nobody's result, like a formula."""
    colour, dash = REFERENCES[place % len(REFERENCES)]
    return {"color": colour, "linestyle": dash, "linewidth": WIDE}


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

        from graphveil.experiments.svg_canvas import LetterCanvas

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


@dataclass(frozen=True)
class Line:
    """A curve over ε, or a constant that does not depend on it (one point, ``epsilons`` empty).

    A control belongs to the method before it.
    """

    label: str
    epsilons: tuple[float, ...]
    points: tuple[Summary, ...]
    role: Role = "method"


def accuracy_over_epsilon(lines: Sequence[Line], title: str, metric: str = "accuracy") -> str:
    """The plot as an SVG element, intervals included."""
    return accuracy_drawing(lines, title, metric).svg()


def accuracy_drawing(lines: Sequence[Line], title: str, metric: str = "accuracy") -> Drawing:
    """The plot, to be written to a file or shown."""
    drawing = Drawing((WIDTH, HEIGHT))
    axes, methods = drawing.axes[0], 0
    for line in lines:
        methods += line.role == "method"
        style = line_style(line.role, max(methods - 1, 0), flat=not line.epsilons)
        lows, means, highs = band(line.points)
        if line.epsilons:
            axes.plot(line.epsilons, means, label=line.label, **style)
            axes.fill_between(line.epsilons, lows, highs, color=style["color"], alpha=BAND, linewidth=0)
        else:
            axes.axhline(means[0], label=line.label, **style)
            axes.axhspan(lows[0], highs[0], color=style["color"], alpha=BAND, linewidth=0)
    axes.set_xscale("log", base=2)
    ticks = sorted({epsilon for line in lines for epsilon in line.epsilons})
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlabel("privacy budget ε")
    axes.set_ylabel(f"{metric} on test users (%)")
    axes.set_title(title, fontsize=TITLE_SIZE)
    drawing.legend(columns=2)
    return drawing
