"""What `--help` says, as it is written: rich would take [base] in a text for a style, and leave it out."""

from __future__ import annotations

from typing import Any

from rich.markup import escape


def plain_help(command: Any) -> Any:
    """A command of typer's, with all below it, whose texts keep their square brackets."""
    for name in ("help", "short_help", "epilog"):
        _keep_brackets(command, name)
    for parameter in command.params:
        _keep_brackets(parameter, "help")
    for below in getattr(command, "commands", {}).values():
        plain_help(below)
    return command


def _keep_brackets(thing: Any, name: str) -> None:
    text = getattr(thing, name, None)
    if text:
        setattr(thing, name, escape(text))
