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
from typer.core import TyperGroup

from graphveil.cli.console import FAILED, INTERRUPTED, MISTAKEN, first_example, on_interrupt, plain_help, say
from graphveil.errors import ClaimError, GraphveilError
from graphveil.extras import install_sentence
from graphveil.version import __version__

__all__ = ["app", "main"]


# The modules of all commands, and of groups, whose name there is NAME_app; one is imported when its command is called.
COMMANDS = {
    "answer": "answer",
    "audit": "audit",
    "attributes": "analyses",
    "mechanisms": "listings",
    "methods": "listings",
    "run": "studies",
    "tune": "tune",
    "sweep": "studies",
    "paper": "paper",
    "predict": "one_run",
    "embed": "one_run",
    "plot": "one_run",
    "demo": "demo",
    "results": "results",
    "compare": "results",
    "report": "results",
    "statement": "statement",
}
GROUPS = {
    "advise": "analyses",
    "attack": "analyses",
    "collect": "collect",
    "data": "listings",
    "graph": "graph",
}


@cache
def _command(name: str) -> Any:
    """Return a command or a group as typer has it."""
    module = import_module(f"{__name__}.{(COMMANDS | GROUPS)[name]}")
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
        return _command(cmd_name) if cmd_name in COMMANDS or cmd_name in GROUPS else None

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
