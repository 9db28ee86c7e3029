"""Help and lists as they were printed once, so that nothing has to be loaded for them; `python -m docs.screens` writes them anew.

A screen is 80 columns wide. Whatever asks for another one (a narrower terminal, other colours, plugins, graphs of one's own) has it
made by the command itself. Nothing here needs more than Python.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).parent / "cli" / "screens"
WIDTH = 80
# Lists that end with what installed packages offer, and the group of their entry points.
OFFERED = {
    "methods": "graphveil.methods",
    "mechanisms": "graphveil.mechanisms",
    "data list": "graphveil.datasets",
}
LISTS = (*OFFERED, "advise", "attack", "paper", "sweep")
# Variables by which somebody asks for another look.
LOOKS = (
    "COLUMNS",
    "FORCE_COLOR",
    "GITHUB_ACTIONS",
    "NO_COLOR",
    "PY_COLORS",
    "TERMINAL_WIDTH",
    "TTY_COMPATIBLE",
    "TTY_INTERACTIVE",
)
STYLE = re.compile("\x1b\\[[0-9;]*m")


def show_screen(words: Sequence[str]) -> bool:
    """Print the screen of a command, if there is one and it is what the command would print; return whether it did."""
    text = stored_screen(words)
    if text is None or not _usual_look() or _has_more(" ".join(words)):
        return False
    shown = text if os.isatty(1) else STYLE.sub("", text)
    try:
        sys.stdout.flush()
        os.write(1, shown.encode())
    except OSError:
        # The command says what is wrong with it.
        return False
    return True


def stored_screen(words: Sequence[str]) -> str | None:
    """Return the screen of a command; None where there is none."""
    if not all(re.fullmatch("[a-z-]+", word) for word in words):
        return None
    try:
        return screen_file(" ".join(words) or "--help").read_text(encoding="utf-8")
    except OSError:
        return None


def screen_file(command: str) -> Path:
    """Return the file of a command's screen.

    >>> screen_file("collect learn --help").name
    'collect_learn_--help.txt'
    """
    return FOLDER / f"{command.replace(' ', '_')}.txt"


def _usual_look() -> bool:
    """Return whether stdout takes a screen as it is stored."""
    if any(os.environ.get(name) for name in LOOKS) or sys.stdout is not sys.__stdout__:
        return False
    if not sys.stdout or sys.stdout.fileno() != 1 or sys.stdout.encoding.lower() != "utf-8":
        return False
    if not os.isatty(1):
        return True
    return (
        os.environ.get("TERM", "dumb") not in ("dumb", "unknown") and os.get_terminal_size(1).columns >= WIDTH
    )


def _has_more(command: str) -> bool:
    """Return whether a list has more lines than the stored one: from an installed package, or graphs on this machine."""
    if command not in OFFERED:
        return False
    from importlib.metadata import entry_points

    if entry_points(group=OFFERED[command]):
        return True
    if command != "data list":
        return False
    from graphveil.settings import settings

    return any(next(folder.glob("*.npz"), None) for folder in (settings().data, settings().cache) if folder)
