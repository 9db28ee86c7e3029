"""What a command says of itself: its first sentence, and an example."""

from __future__ import annotations

import inspect
from typing import Any

import typer


def first_sentences(context: typer.Context) -> dict[str, str]:
    """The commands below one, each with the first paragraph of its text."""
    below: dict[str, Any] = getattr(context.command, "commands", {})
    return {name: " ".join(_text(command).split("\n\n")[0].split()) for name, command in below.items()}


def first_example(command: Any) -> str:
    """The first example in the text of a command; empty where it has none."""
    examples = [line for line in _text(command).splitlines() if line.startswith("Example: ")]
    return examples[0].removeprefix("Example: ") if examples else ""


def _text(command: Any) -> str:
    """The text of a command as it is written in its file."""
    return inspect.getdoc(command.callback) or ""
