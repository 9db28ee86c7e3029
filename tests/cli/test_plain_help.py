import re
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from typer import rich_utils

from graphveil.cli import app
from graphveil.cli.console import plain_help


def all_commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from all_commands(below, (*path, name))


def words(text: str) -> str:
    """Only what is said: no boxes, no breaks of lines, no spaces."""
    return re.sub(r"[\s│╭╮╰╯─]+", "", text)


def test_help_says_all_that_is_written_and_shows_an_example(tried, monkeypatch):
    monkeypatch.setattr(rich_utils, "MAX_WIDTH", 400)
    missing, seen = [], 0
    for path, command in all_commands(typer.main.get_command(app)):
        told = tried([*path, "--help"])
        said, seen = words(told.out), seen + 1
        written = [command.help, *(getattr(parameter, "help", None) for parameter in command.params)]
        if not getattr(command, "commands", None):
            written.append(f"Example: graphveil {' '.join(path)} ")
        # Texts of commands come with their brackets escaped, as `plain_help` leaves them.
        written = [text and text.replace("\\[", "[") for text in written]
        missing += [
            (path, told.ended, text) for text in written if told.ended or (text and words(text) not in said)
        ]
    assert missing == [] and seen > 40


def test_brackets_stay_in_every_text(capsys):
    small = typer.Typer()

    @small.command(epilog="[end]")
    def one(count: Annotated[int, typer.Option(help="below [[axes]], [0.5,0.5]")] = 1) -> None:
        """The fields below [base], [bold] and [/none]."""

    @small.command(short_help="other [words]")
    def two() -> None:
        """Nothing."""

    command = plain_help(typer.main.get_command(small))
    command(["--help"], standalone_mode=False)
    assert "other [words]" in capsys.readouterr().out
    command(["one", "--help"], standalone_mode=False)
    said = capsys.readouterr().out
    for text in ("The fields below [base], [bold] and [/none].", "[end]", "below [[axes]], [0.5,0.5]"):
        assert words(text) in words(said)
