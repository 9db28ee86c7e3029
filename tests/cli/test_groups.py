"""Groups of options: taken one by one, in their place, and put together again."""

import inspect
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from graphveil.cli.options import NUMBERS, CommandGroup, Options, Page, Pairs, with_options
from graphveil.errors import InputError
from graphveil.methods.terms import option
from tests.together import together


@dataclass(frozen=True)
class Place:
    street: Annotated[str, typer.Option("--road", help="Where.")]
    number: int = option(1, "Which house.")


@with_options
def visit(*, first: Annotated[str, typer.Argument()], place: Place, last: int = 3) -> None:
    """Go there."""
    typer.echo(f"{first} {place} {last}")


def invoke(function, *words):
    """A command of a function alone, called with words."""
    app = typer.Typer(add_completion=False)
    app.command()(function)
    return CliRunner().invoke(app, words)


def test_the_options_of_a_group_stand_in_its_place_and_come_together():
    assert list(inspect.signature(visit).parameters) == ["first", "street", "number", "last"]
    assert (visit.__name__, visit.__doc__) == ("visit", "Go there.")
    told = invoke(visit, "Ada", "--road", "Long Lane", "--last", "4").stdout
    assert told == "Ada Place(street='Long Lane', number=1) 4\n"
    # What a group needs is asked for.
    assert invoke(visit, "Ada").exit_code == 2


def test_a_parameter_of_the_command_stands_in_for_a_field_of_the_same_name():
    @with_options
    def go(*, place: Place, number: str = "one") -> None:
        typer.echo(f"{place} {number}")

    told = invoke(go, "--road", "Long Lane", "--number", "1,2").stdout
    assert told == "Place(street='Long Lane', number=1) 1,2\n"


def test_a_command_says_which_options_of_a_group_it_takes():
    @with_options
    def go(
        *,
        place: Annotated[Place, Options(only=("number",), fixed={"street": "Here"}, default={"number": ...})],
    ) -> None:
        typer.echo(f"{place}")

    assert list(inspect.signature(go).parameters) == ["number"]
    assert invoke(go).exit_code == 2
    assert invoke(go, "--number", "7").stdout == "Place(street='Here', number=7)\n"


@pytest.fixture
def shown():
    """A group of one command, which prints what it was given."""
    made = CommandGroup(add_completion=False)
    made.callback()(lambda: None)

    @made.command("show")
    def show(
        *,
        numbers: NUMBERS = option("1,2", "Numbers."),
        pairs: Pairs = option(None, "Settings.", "--set"),
        page: Page = option(None, "A page.", "--map"),
    ) -> None:
        """Show what was given."""
        typer.echo(f"{numbers} {pairs} {page}")

    return lambda *words: CommandGroup.__call__(made, list(words), standalone_mode=False)


def test_options_reach_a_command_as_values(shown, capsys, tmp_path):
    shown("show")
    words = f"show --numbers 0.5 --set lr=0.1 --map {tmp_path}/x.html"
    shown(*words.split(), "--set", "sizes=[1, 2,]")
    told = capsys.readouterr().out.splitlines()
    assert told == ["(1.0, 2.0) {} None", f"(0.5,) {{'lr': 0.1, 'sizes': [1, 2]}} {tmp_path}/x.html"]


WRONG = [
    ("--numbers 1,x", "--numbers takes numbers with commas between them"),
    ("--map x.svg", "x.svg has the unsupported format .svg: use .html with --map"),
    ("--map nowhere/x.html", "nowhere is not a folder: name a file in an existing folder with --map"),
]


@together(("words", "said"), WRONG)
def test_an_option_that_cannot_be_read_is_refused_by_its_name(shown, words, said):
    with pytest.raises(InputError) as refused:
        shown("show", *words.split())
    assert said in refused.value.as_written


def test_a_group_alone_shows_its_help(shown, capsys):
    with suppress(Exception):
        shown()
    assert "Show what was given." in capsys.readouterr().out
