"""Write the screens that help and lists print: `python -m docs.screens`, after an option, a text or a name has changed."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from graphveil.screens import FOLDER, LISTS, LOOKS, WIDTH, screen_file

PRINTED = "printed"


def made_screens() -> dict[str, str]:
    """Return what each command prints in a process of its own, on a machine without graphs."""
    with tempfile.TemporaryDirectory() as nothing:
        kept = {name: value for name, value in os.environ.items() if name not in (*LOOKS, "GRAPHVEIL_DATA")}
        look = {"COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color", "COLORTERM": ""}
        done = subprocess.run(
            [sys.executable, "-m", "docs.screens", PRINTED],
            env={**kept, **look, "GRAPHVEIL_CACHE": nothing},
            capture_output=True,
            check=True,
        )
    screens: dict[str, str] = json.loads(done.stdout)
    return screens


def stored_screens() -> dict[str, str]:
    """Return what is stored."""
    return {file.stem.replace("_", " "): file.read_text(encoding="utf-8") for file in FOLDER.glob("*.txt")}


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield a command and all below it."""
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


def printed(call: str) -> str:
    """Return what a call prints."""
    from graphveil.cli import status

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if status(call.split()):
            raise SystemExit(f"`graphveil {call}` failed")
    return out.getvalue()


def main(words: list[str]) -> None:
    """Write all screens, or print them."""
    if words != [PRINTED]:
        FOLDER.mkdir(exist_ok=True)
        made = made_screens()
        for name in stored_screens().keys() - made.keys():
            screen_file(name).unlink()
        for name, text in made.items():
            screen_file(name).write_text(text, encoding="utf-8")
        return
    import typer

    from graphveil.cli import app

    helped = [" ".join((*path, "--help")) for path in commands(typer.main.get_command(app))]
    print(json.dumps({call: printed(call) for call in (*LISTS, *helped)}))


if __name__ == "__main__":
    main(sys.argv[1:])
