"""The command line: one file a command. Errors are one line, and nobody's mistake shows a traceback.

Exit status: 0 all is well, 1 a claim does not hold, 2 a mistake in what was asked, 130 interrupted.
"""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from graphveil.cli.console import FAILED, INTERRUPTED, MISTAKEN, first_example, on_interrupt, plain_help, say
from graphveil.errors import ClaimError, GraphveilError
from graphveil.extras import install_sentence
from graphveil.version import __version__

__all__ = ["app", "main"]


# The module of each command and the sentence that help lists it with, which its own help begins with; a group's name in its module is
# NAME_app. A module is imported when its command is called.
COMMANDS = {
    "answer": ("answer", "Look at what a collection asks of you, and answer it, randomized on this machine."),
    "audit": ("audit", "Check that a mechanism keeps what it claims; exit status 1 where it does not."),
    "attributes": (
        "analyses",
        "Rank attributes by what they say for the task, from the reports of togl's first round, beside its control.",
    ),
    "mechanisms": (
        "listings",
        "List the mechanisms: their names, what they report, whom one has to trust, and how.",
    ),
    "methods": (
        "listings",
        "List the methods, or show one: what it does, what it asks users for, and what it can be set to.",
    ),
    "run": (
        "studies",
        "Run a method on a graph: users report, the server learns, and the result stands beside its control.",
    ),
    "tune": (
        "tune",
        "Search a method's settings for those that do best on validation users, and write them to a file.",
    ),
    "sweep": (
        "studies",
        "Run an experiment over the values of one to three of its fields: tables, and a figure with controls and structure.",
    ),
    "paper": (
        "paper",
        "Run a printed table again: their number, ours with its 95% interval, and its control, side by side.",
    ),
    "predict": (
        "one_run",
        "Write a class with its probability for every user to a file, and the privacy record beside it as FILE.json.",
    ),
    "embed": (
        "one_run",
        "Write what a method learns of each user, a row of numbers each, to a file that says what it cost.",
    ),
    "plot": (
        "one_run",
        "Draw one run: which classes are taken for which, scores of each class, users with truth and prediction, a map, training.",
    ),
    "demo": (
        "demo",
        "Collect, learn and audit on an embedded town: a table here, and a report as one HTML file.",
    ),
    "results": (
        "results",
        "List what earlier runs have kept: scores with 95% intervals, beside control and structure, and the gain.",
    ),
    "compare": (
        "results",
        "Compare kept results, paired over seeds: mean difference, 95% t-interval and p value.",
    ),
    "report": (
        "results",
        "Put results on one self-contained page: tables beside their controls, accuracy over ε, energy over hops.",
    ),
    "statement": (
        "statement",
        "Say on one page who gets what, raw or reported, at which exact ε, in how many rounds; what is proved about it, and what is not.",
    ),
}
GROUPS = {
    "advise": (
        "analyses",
        "What a choice costs, before anybody is asked. Without a word: list what there is advice on.",
    ),
    "attack": (
        "analyses",
        "What somebody who sees reports, a published graph or a model finds out. Without a name: list the attacks.",
    ),
    "collect": (
        "collect",
        "A real collection: devices answer, a server stores what they send, methods learn from it.",
    ),
    "data": ("listings", "Graphs: which there are, what they hold, and how to get them."),
    "graph": ("graph", "Graphs too large for one machine: shards of a graph, and towns of any size."),
}


@cache
def _command(name: str) -> Any:
    """Return a command or a group as typer has it."""
    module = import_module(f"{__name__}.{(COMMANDS | GROUPS)[name][0]}")
    holder = typer.Typer(callback=lambda: None, add_completion=False)
    if name in GROUPS:
        holder.add_typer(getattr(module, f"{name}_app"), name=name)
    else:
        with_options = import_module(f"{__name__}.options").with_options
        holder.command(name)(with_options(getattr(module, name)))
    below: Any = typer.main.get_command(holder)
    return plain_help(below.commands[name])


class _Commands(TyperGroup):
    """All commands; one that has nothing of its own to say about an interrupt says this."""

    @property
    def commands(self) -> Any:
        """All of them, imported."""
        return {name: _command(name) for name in self.list_commands(None)}

    @commands.setter
    def commands(self, given: Any) -> None:
        """Leave the commands to their modules."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS, *GROUPS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """What help lists: the name and a sentence."""
        known = (COMMANDS | GROUPS).get(cmd_name)
        return None if known is None else TyperCommand(cmd_name, help=known[1])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, imported."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else _command(name), rest

    def invoke(self, ctx: Any) -> Any:
        with on_interrupt("whatever was finished is kept; give the same command again"):
            return super().invoke(ctx)


app = typer.Typer(
    name="graphveil",
    help="Learn from a social graph without ever collecting a feature vector.",
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"graphveil {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its status."""
    try:
        sys.exit(status(arguments))
    except Exception:  # noqa: BLE001 -- a fault of ours, told like everything else
        say(*traceback.format_exc().splitlines(), err=True)
        sys.exit(FAILED)


def status(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; what was done wrong is said in one line on stderr."""
    try:
        given = None if arguments is None else list(arguments)
        result = typer.main.get_command(app)(given, prog_name="graphveil", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except GraphveilError as error:
        _complain(error.as_written)
        return FAILED if isinstance(error, ClaimError) else MISTAKEN
    except ModuleNotFoundError as error:
        sentence = install_sentence(error)
        if sentence is None:
            raise
        _complain(sentence)
        return MISTAKEN
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _complain(f"there is no room for what was to be written ({error.strerror}): make room and try again")
        return MISTAKEN
    except Exception as error:
        # What the parser has to say about arguments; anything else is a fault of ours.
        describe = getattr(error, "format_message", None)
        if describe is None:
            raise
        message = str(describe()).rstrip(".")
        if not message:
            # A command that needs a word after it has shown its help instead.
            return 0
        example = first_example(context.command) if (context := getattr(error, "ctx", None)) else ""
        shown = f", for example `{example}`" if example else ""
        _complain(f"{message}; see --help{shown}")
        return MISTAKEN


def _complain(message: str) -> None:
    say(f"Error: {' '.join(message.split())}", err=True)
