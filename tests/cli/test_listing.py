import re

import pytest
import typer

from graphveil.cli import status
from graphveil.cli.console import first_example


def test_a_text_without_an_example_has_none():
    small = typer.Typer()
    small.command()(lambda: None)
    assert first_example(typer.main.get_command(small)) == ""


@pytest.mark.parametrize("command", ["run", "tune", "embed", "predict", "attributes", "compare"])
def test_a_command_that_needs_more_shows_how_it_is_called(command, capsys):
    assert status([command]) == 2
    err = capsys.readouterr().err
    assert re.fullmatch(
        rf"Error: Missing (argument|option) '[\w-]+'; see --help, for example `graphveil {command} .+`\n", err
    )


@pytest.mark.parametrize(
    "command", ["advise", "attack", "collect", "data", "graph", "mechanisms", "methods", "paper", "sweep"]
)
def test_a_command_that_needs_no_more_lists_what_there_is(command, capsys):
    assert status([command]) == 0
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) > 2 and printed.err == ""
