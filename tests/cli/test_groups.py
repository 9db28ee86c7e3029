"""Groups of options: taken one by one, in their place, and put together again."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from graphveil.cli.options import Options, with_options
from graphveil.methods.terms import option


@dataclass(frozen=True)
class Place:
    street: Annotated[str, typer.Option("--road", help="Where.")]
    number: int = option(1, "Which house.")


@with_options
def visit(*, first: Annotated[str, typer.Argument()], place: Place, last: int = 3) -> None:
    """Go there."""
    typer.echo(f"{first} {place} {last}")


@pytest.fixture
def app():
    made = typer.Typer(add_completion=False)
    made.command()(visit)
    return made


def test_the_options_of_a_group_stand_in_its_place():
    assert list(inspect.signature(visit).parameters) == ["first", "street", "number", "last"]


def test_a_command_gets_the_group(app):
    result = CliRunner().invoke(app, ["Ada", "--road", "Long Lane", "--last", "4"])
    assert result.stdout == "Ada Place(street='Long Lane', number=1) 4\n"


def test_what_a_group_needs_is_asked_for(app):
    assert CliRunner().invoke(app, ["Ada"]).exit_code == 2


def test_the_command_keeps_its_name_and_help():
    assert (visit.__name__, visit.__doc__) == ("visit", "Go there.")


def test_a_parameter_of_the_command_stands_in_for_a_field_of_the_same_name():
    @with_options
    def go(*, place: Place, number: str = "one") -> None:
        typer.echo(f"{place} {number}")

    made = typer.Typer(add_completion=False)
    made.command()(go)
    told = CliRunner().invoke(made, ["--road", "Long Lane", "--number", "1,2"]).stdout
    assert told == "Place(street='Long Lane', number=1) 1,2\n"


def test_a_command_says_which_options_of_a_group_it_takes():
    @with_options
    def go(
        *,
        place: Annotated[Place, Options(only=("number",), fixed={"street": "Here"}, default={"number": ...})],
    ) -> None:
        typer.echo(f"{place}")

    assert list(inspect.signature(go).parameters) == ["number"]
    made = typer.Typer(add_completion=False)
    made.command()(go)
    assert CliRunner().invoke(made, []).exit_code == 2
    assert CliRunner().invoke(made, ["--number", "7"]).stdout == "Place(street='Here', number=7)\n"
