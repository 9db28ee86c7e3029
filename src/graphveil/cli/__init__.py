"""The command line: one file a command. Errors are one line, and nobody's mistake shows a traceback.

Exit status: 0 all is well, 1 a claim does not hold, 2 a mistake in what was asked, 130 interrupted.
"""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from graphveil.cli.analyses import advise_app, attack_app, attributes
from graphveil.cli.answer import answer
from graphveil.cli.audit import audit
from graphveil.cli.collect import collect_app
from graphveil.cli.console import FAILED, INTERRUPTED, MISTAKEN, first_example, on_interrupt, plain_help, say
from graphveil.cli.demo import demo
from graphveil.cli.graph import graph_app
from graphveil.cli.listings import data_app, mechanisms, methods
from graphveil.cli.one_run import embed, plot, predict
from graphveil.cli.options import CommandGroup
from graphveil.cli.paper import paper
from graphveil.cli.results import compare, report, results
from graphveil.cli.statement import statement
from graphveil.cli.studies import run, sweep
from graphveil.cli.tune import tune
from graphveil.errors import ClaimError, GraphveilError
from graphveil.extras import install_sentence
from graphveil.version import __version__

__all__ = ["app", "main"]


class _Commands(TyperGroup):
    """All commands; one that has nothing of its own to say about an interrupt says this."""

    def invoke(self, ctx: Any) -> Any:
        with on_interrupt("whatever was finished is kept; give the same command again"):
            return super().invoke(ctx)


app = CommandGroup(
    name="graphveil",
    help="Learn from a social graph without ever collecting a feature vector.",
    cls=_Commands,
    add_completion=False,
    pretty_exceptions_enable=False,
)
COMMANDS = (
    *(answer, audit, attributes, mechanisms, methods, run, tune, sweep, paper, predict, embed, plot, demo),
    *(results, compare, report, statement),
)
GROUPS = {
    "advise": advise_app,
    "attack": attack_app,
    "collect": collect_app,
    "data": data_app,
    "graph": graph_app,
}
for command in COMMANDS:
    app.command()(command)
for name, group in GROUPS.items():
    app.add_typer(group, name=name)


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
        result = plain_help(typer.main.get_command(app))(args=given, standalone_mode=False)
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
