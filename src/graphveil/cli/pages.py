"""Pages that commands write."""

from __future__ import annotations

from pathlib import Path

from graphveil.errors import InputError
from graphveil.experiments.show.figure import SUFFIXES

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


def check_picture(file: Path) -> Path:
    """Refuse, before anything is computed for it, a file that is neither a figure nor a page, or could not be written."""
    suffixes = (*SUFFIXES, PAGE)
    if file.suffix not in suffixes or file.is_dir():
        raise InputError(
            f"{file} is no figure and no page: name a file that ends in {', '.join(suffixes[:-1])} or {PAGE}"
        )
    if not file.parent.is_dir():
        raise InputError(f"{file.parent} is not a folder: name a file in a folder that is there")
    return file


def is_page(file: Path) -> bool:
    """Whether a file is to be a page, and not a figure."""
    return file.suffix == PAGE


def written(file: Path | None) -> dict[str, str | None]:
    """What `--json` says of a figure or a page."""
    if file is None:
        return {"figure": None, "page": None}
    return {"figure": None, "page": str(file)} if is_page(file) else {"figure": str(file), "page": None}
