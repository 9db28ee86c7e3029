"""The command line: one file a command. Errors are one line, and nobody's mistake shows a traceback.

Exit status: 0 all is well, 1 a claim does not hold, 2 a mistake in what was asked, 130 interrupted.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from graphveil.cli.advise import advise_app
from graphveil.cli.attack import attack_app
from graphveil.cli.attributes import attributes
from graphveil.cli.audit import audit
from graphveil.cli.compare import compare
from graphveil.cli.data import data_app
from graphveil.cli.demo import demo
from graphveil.cli.embed import embed
from graphveil.cli.mechanisms import mechanisms
from graphveil.cli.methods import methods
from graphveil.cli.paper import paper
from graphveil.cli.plain_help import plain_help
from graphveil.cli.predict import predict
from graphveil.cli.report import report
from graphveil.cli.results import results
from graphveil.cli.run import run
from graphveil.cli.sweep import sweep
from graphveil.cli.tune import tune
from graphveil.errors import ClaimError, GraphveilError
from graphveil.extras import install_sentence
from graphveil.version import __version__

__all__ = ["app", "main"]

FAILED, MISTAKEN, INTERRUPTED = 1, 2, 130

app = typer.Typer(
    name="graphveil",
    help="Learn from a social graph without ever collecting a feature vector.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(audit)
app.add_typer(advise_app, name="advise")
app.add_typer(attack_app, name="attack")
app.command()(attributes)
app.add_typer(data_app, name="data")
app.command()(mechanisms)
app.command()(methods)
app.command()(run)
app.command()(tune)
app.command()(sweep)
app.command()(paper)
app.command()(predict)
app.command()(embed)
app.command()(demo)
app.command()(results)
app.command()(compare)
app.command()(report)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"graphveil {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its status."""
    sys.exit(status(arguments))


def status(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; what was done wrong is said in one line on stderr."""
    try:
        given = None if arguments is None else list(arguments)
        result = plain_help(typer.main.get_command(app))(args=given, standalone_mode=False)
        return result if isinstance(result, int) else 0
    except GraphveilError as error:
        _complain(str(error))
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
        _complain(f"{str(describe()).rstrip('.')}; see --help")
        return MISTAKEN


def _complain(message: str) -> None:
    typer.echo(f"Error: {' '.join(message.split())}", err=True)
