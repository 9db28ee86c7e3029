"""What is said on stderr about things that are left out."""

from __future__ import annotations

import typer


def warn(sentence: str) -> None:
    """Say something in one line, beside what is printed."""
    typer.echo(f"Warning: {' '.join(sentence.split())}", err=True)
