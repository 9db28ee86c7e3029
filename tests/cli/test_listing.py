import re

import typer

from graphveil.cli.console import first_example


def test_a_text_without_an_example_has_none():
    small = typer.Typer()
    small.command()(lambda: None)
    assert first_example(typer.main.get_command(small)) == ""


def test_a_command_that_needs_more_shows_how_it_is_called(tried):
    pattern = r"Error: Missing (argument|option) '[\w-]+'; see --help, for example `graphveil {} .+`\n"
    said = {
        command: tried(command) for command in ("run", "tune", "embed", "predict", "attributes", "compare")
    }
    wrong = {
        command: told
        for command, told in said.items()
        if told.ended != 2 or not re.fullmatch(pattern.format(command), told.err)
    }
    assert wrong == {}


def test_a_command_that_needs_no_more_lists_what_there_is(tried):
    commands = ["advise", "attack", "collect", "data", "graph", "mechanisms", "methods", "paper", "sweep"]
    said = {command: tried(command) for command in commands}
    wrong = {
        command: told for command, told in said.items() if told.ended != 0 or len(told.lines) <= 2 or told.err
    }
    assert wrong == {}
