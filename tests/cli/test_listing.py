import re

import typer

from graphveil.cli.console import first_example
from tests.cli.support import tried


def test_a_text_without_an_example_has_none():
    small = typer.Typer()
    small.command()(lambda: None)
    assert first_example(typer.main.get_command(small)) == ""


def test_a_command_that_needs_more_shows_how_it_is_called(capsys):
    said = {
        command: tried([command], capsys)
        for command in ["run", "tune", "embed", "predict", "attributes", "compare"]
    }
    pattern = r"Error: Missing (argument|option) '[\w-]+'; see --help, for example `graphveil {} .+`\n"
    wrong = {
        command: (ended, err)
        for command, (ended, _, err) in said.items()
        if ended != 2 or not re.fullmatch(pattern.format(command), err)
    }
    assert wrong == {}


def test_a_command_that_needs_no_more_lists_what_there_is(capsys):
    said = {
        command: tried([command], capsys)
        for command in [
            "advise",
            "attack",
            "collect",
            "data",
            "graph",
            "mechanisms",
            "methods",
            "paper",
            "sweep",
        ]
    }
    wrong = {
        command: (ended, out, err)
        for command, (ended, out, err) in said.items()
        if ended != 0 or len(out.splitlines()) <= 2 or err
    }
    assert wrong == {}
