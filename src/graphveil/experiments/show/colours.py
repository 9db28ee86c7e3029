"""The colours of all figures and pages: one for each role, by day and by night.

A figure is drawn in the colours of the day. In an SVG element every one of them becomes a CSS variable, so that it follows the
mode of the page or the picture viewer that shows it; whatever knows no variables shows the day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


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
