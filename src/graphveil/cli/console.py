"""The only place where commands print: a terminal shows what others wrote, and takes no orders from it.

Every command prints by `say`, `warn` and `Console`, and nothing else prints: a test holds that.
"""

from __future__ import annotations

import inspect
import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import typer
from rich.console import Console as RichConsole
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TimeElapsedColumn,
)
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


def confirm(question: str, otherwise: str) -> bool:
    """Ask for a yes. Nothing of it goes to stdout, where JSON may be; where nobody is there, ``otherwise`` says what follows."""
    say(f"{question} [y/N]: ", err=True, nl=False)
    reply = sys.stdin.readline()
    if not reply:
        say(err=True)
        raise InputError(f"nobody is there to answer, so {otherwise}")
    return reply.strip().lower() in ("y", "yes")


def quote(text: str) -> list[str]:
    """Return somebody else's text as lines with a margin, so that no wrapped line can pass for one of ours.

    >>> quote("to learn\\nSpent: \\x1b[0m nothing")
    ['  | to learn Spent: \\\\u001b[0m nothing']
    """
    shown = visible(" ".join(text.split()))
    columns = shutil.get_terminal_size().columns - len(MARGIN) - 1
    # Letters outside ASCII may take two columns.
    return [
        MARGIN + line for line in textwrap.wrap(shown, max(20, columns if shown.isascii() else columns // 2))
    ]


class Description(ProgressColumn):
    """The description of a progress bar, in one line."""

    def render(self, task: Task) -> Text:
        return Text(visible(task.description))


class Console(RichConsole):
    """Rich's console. Its styles and its cursor work as ever, and no text that is printed on it can add any."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text in one line, made visible before it is measured."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Yield the segments that rich renders, with control characters made visible."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible_lines(segment.text), segment.style)


def show_table(table: Table, *, wrapped: bool = False, err: bool = False) -> None:
    """Print a table at its full width, so that no number is cut.

    Parameters
    ----------
    wrapped
        Whether to wrap long texts at the screen's width.
    err
        Whether to print to stderr.
    """
    shown = RichTable(box=None, padding=(0, 2), header_style="bold")
    for column in table.columns:
        shown.add_column(
            escape(column.name),
            justify="right" if column.numeric else "left",
            no_wrap=column.numeric or not wrapped,
        )
    for row in table.texts:
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


def print_result(content: Any, as_json: bool, *shown: Table | str, wrapped: bool = False) -> None:
    """Print a result as one JSON object, or as tables and lines.

    Parameters
    ----------
    content
        What `--json` prints.
    as_json
        Whether `--json` was given.
    shown
        What is printed without it.
    wrapped
        Whether long texts in tables are broken at the screen's width.
    """
    for each in (json.dumps(content, ensure_ascii=False),) if as_json else shown:
        if isinstance(each, Table):
            show_table(each, wrapped=wrapped)
        else:
            say(each)


# Exit statuses: a claim does not hold, something that was asked is a mistake, Ctrl-C.
FAILED, MISTAKEN, INTERRUPTED = 1, 2, 130
# What an interrupt leaves of commands that keep nothing before they are done, and of those whose runs are kept one by one.
NOTHING_KEPT = "nothing was written, and the same command begins anew"
RUNS_KEPT = "every finished run is kept, and the same command goes on from there"


def interrupted(sentence: str) -> typer.Exit:
    """Say what was kept; what is returned ends the command when it is raised."""
    say(f"Interrupted: {sentence}.", err=True)
    return typer.Exit(INTERRUPTED)


@contextmanager
def on_interrupt(sentence: str = NOTHING_KEPT) -> Iterator[None]:
    """End the command with a sentence where it is interrupted within.

    >>> with on_interrupt():
    ...     1 + 1
    2
    """
    try:
        yield
    except KeyboardInterrupt:
        raise interrupted(sentence) from None


def resume_words(fresh: bool) -> str:
    """Say how to go on after some runs were kept; a command that computes all anew would do so again."""
    return "without --fresh the same command goes on" if fresh else "the same command goes on"


@dataclass(frozen=True)
class Bars:
    """Progress on stderr: a bar that counts what is done, and one for the step that is being done."""

    progress: Progress
    counter: TaskID
    current: TaskID

    def count(self, done: int, total: int | None = None, what: str | None = None) -> None:
        """Show how many are finished.

        Parameters
        ----------
        done
            How many are finished.
        total
            Of how many; unchanged by default.
        what
            The description; unchanged by default.
        """
        self.progress.update(self.counter, completed=done, total=total, description=what)

    def step(self, what: str, share: float) -> None:
        """Show what is being done, and which share of it is done."""
        self.progress.update(self.current, description=what, completed=int(100 * share))


@contextmanager
def progress_bars(
    what: str = "starting", total: int | None = None, *, counted: bool = True, steps: bool = True
) -> Iterator[Bars]:
    """Show progress bars on stderr inside the block.

    Parameters
    ----------
    what
        The first description.
    total
        The number that is counted up to.
    counted
        Whether to show a bar that counts up to the total.
    steps
        Whether to show a bar for single steps.
    """
    count = [MofNCompleteColumn()] if counted else []
    columns = (Description(), BarColumn(), *count, TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        counter = progress.add_task(what, total=total, visible=counted)
        yield Bars(progress, counter, progress.add_task("starting", total=100, visible=steps))


@contextmanager
def one_bar() -> Iterator[Callable[[str, float], None]]:
    """Show a bar on stderr, and yield what to tell it: what is being done, and which share of it is done.

    It is for commands that write at the end alone: an interrupt ends them, and says so.
    """
    with on_interrupt(), progress_bars(counted=False) as bars:
        yield bars.step


@contextmanager
def say_reused(sentences: Callable[[], Iterable[str]]) -> Iterator[None]:
    """Say at the end, an interrupted one too, what was reused."""
    try:
        yield
    finally:
        for sentence in sentences():
            say(sentence, err=True)


def first_sentences(context: typer.Context) -> dict[str, str]:
    """Return the commands below one, each with the first paragraph of its text."""
    below: dict[str, Any] = getattr(context.command, "commands", {})
    return {name: " ".join(_text(command).split("\n\n")[0].split()) for name, command in below.items()}


def first_example(command: Any) -> str:
    """Return the first example in the text of a command; empty where it has none."""
    examples = [line for line in _text(command).splitlines() if line.startswith("Example: ")]
    return examples[0].removeprefix("Example: ") if examples else ""


def _text(command: Any) -> str:
    """Return the text of a command as it is written in its file."""
    return inspect.getdoc(command.callback) or ""


def plain_help(command: Any) -> Any:
    """Return a command of typer's, with all below it, whose texts keep their square brackets."""
    for name in ("help", "short_help", "epilog"):
        _keep_brackets(command, name)
    for parameter in command.params:
        _keep_brackets(parameter, "help")
    for below in getattr(command, "commands", {}).values():
        plain_help(below)
    return command


def _keep_brackets(thing: Any, name: str) -> None:
    text = getattr(thing, name, None)
    if text:
        setattr(thing, name, escape(text))
