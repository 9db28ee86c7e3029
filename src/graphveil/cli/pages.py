"""Pages that commands write."""

from __future__ import annotations

from pathlib import Path

from graphveil.errors import InputError

PAGE = ".html"


def check_page(file: Path, option: str) -> Path:
    """Refuse a file that is no page, or could not be written, before anything is computed for it."""
    if file.suffix != PAGE or file.is_dir():
        raise InputError(f"{file} is no page: name a file that ends in {PAGE} with {option}")
    if not file.parent.is_dir():
        raise InputError(
            f"{file.parent} is not a folder: name a file in a folder that is there with {option}"
        )
    return file
