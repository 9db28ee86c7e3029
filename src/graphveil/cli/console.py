"""The only place where commands print: a terminal shows what others wrote, and takes no orders from it.

Every command prints by `say`, `warn` and `Console`, and nothing else prints: a test holds that.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

import typer
from rich.console import Console as RichConsole
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import ProgressColumn, Task
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

from graphveil.errors import InputError, visible, visible_lines
from graphveil.experiments.table import Table

# Words that somebody else wrote begin with this on every line.
MARGIN = "  | "


def say(*lines: str, err: bool = False, nl: bool = True) -> None:
    """Print lines. A line stays one, whatever stands in it: a line feed is shown as \\n."""
    typer.echo("\n".join(visible(str(line)) for line in lines), err=err, nl=nl)


def warn(sentence: str) -> None:
    """Say something in one line, beside what is printed."""
    say(f"Warning: {' '.join(sentence.split())}", err=True)


def confirmed(question: str, otherwise: str) -> bool:
    """Whether somebody says yes. Nothing of it goes to stdout, where JSON may be; where nobody is there, ``otherwise`` says what follows."""
    say(f"{question} [y/N]: ", err=True, nl=False)
    said = sys.stdin.readline()
    if not said:
        say(err=True)
        raise InputError(f"nobody is there to answer, so {otherwise}")
    return said.strip().lower() in ("y", "yes")


def quoted(text: str) -> list[str]:
    """What somebody else wrote, as lines with a margin: no wrapped line can pass for one of ours.

    >>> quoted("to learn\\nSpent: \\x1b[0m nothing")
    ['  | to learn Spent: \\\\u001b[0m nothing']
    """
    shown = visible(" ".join(text.split()))
    columns = shutil.get_terminal_size().columns - len(MARGIN) - 1
    # Letters outside ASCII may take two columns.
    return [
        MARGIN + line for line in textwrap.wrap(shown, max(20, columns if shown.isascii() else columns // 2))
    ]


class Description(ProgressColumn):
    """What a progress bar is about, in one line."""

    def render(self, task: Task) -> Text:
        return Text(visible(task.description))


class Console(RichConsole):
    """Rich's console. Its styles and its cursor work as ever, and no text that is printed on it can add any."""

    def render_str(self, text: str, **options: Any) -> Text:
        """A text in one line, made visible before it is measured."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """What rich has made of anything else, line by line."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible_lines(segment.text), segment.style)


def show_table(table: Table, *, wrapped: bool = False, err: bool = False) -> None:
    """Print a table as wide as it is, so that no number is cut; where it is ``wrapped``, long texts are broken at the screen's width."""
    shown = RichTable(box=None, padding=(0, 2), header_style="bold")
    for name in table.head:
        number = name in table.numbers
        shown.add_column(escape(name), justify="right" if number else "left", no_wrap=number or not wrapped)
    for row in table.rows:
        shown.add_row(*map(escape, row))
    console = Console(highlight=False, stderr=err)
    if not wrapped:
        width = Measurement.get(console, console.options.update(width=10_000), shown).maximum
        console = Console(highlight=False, stderr=err, width=max(width, 1))
    console.print(shown)


def show_facts(facts: Mapping[str, str]) -> None:
    """Print what is known of something, a line each; what is empty is left out."""
    shown = RichTable(box=None, padding=(0, 1), show_header=False)
    shown.add_column(style="bold", no_wrap=True)
    shown.add_column(overflow="fold")
    for name, fact in facts.items():
        if fact:
            shown.add_row(escape(name), escape(fact))
    Console().print(shown)
