"""A collection's folder: its settings in collection.toml, its keys, its graphs, and the database if it is a file."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from graphveil.channels.kary import MAX_SYMBOLS
from graphveil.checks import check_number, check_whole
from graphveil.errors import InputError
from graphveil.files import read_toml, toml_value
from graphveil.mechanisms.limits import MAX_DIMS
from graphveil.mechanisms.rows import PublicRange
from graphveil.methods.terms import described, option
from graphveil.privacy.envelope import MAX_PURPOSE

SETTINGS, KEY, DATABASE = "collection.toml", "key", "collection.sqlite"
# Only the operator may read settings, keys and the database.
OWNER_ONLY = 0o600


@dataclass(frozen=True)
class CollectionSettings:
    """The settings of a collection: public, except for the address of the database.

    ``epsilon`` and ``delta`` are the cap that people are offered; ``retention`` is after how many days reports are deleted.
    """

    id: str
    purpose: str = field(metadata=described("What people are told that it is for."))
    epsilon: float = field(
        metadata=described("The cap: the most of anybody's budget that all rounds may spend.")
    )
    delta: float = option(0.0, "The same for delta.")
    dims: int = option(0, "How many attributes a person's row has.")
    range: tuple[float, float] | None = option(None, "LOW,HIGH: the public range, where the data names none.")
    binary: bool = option(False, "Values are only ever the two ends of the range.")
    classes: int = option(0, "How many classes there are, where labels do not say it.")
    volunteers: bool = option(False, "Take the raw rows of people who volunteer when they enrol.")
    # The graph has no links then.
    private_links: bool = option(
        False,
        "People are asked for their links, which nobody else knows: the graph has none. Anyone who enrols may look up the numbers "
        "of people whose ids they know.",
    )
    retention: int | None = option(None, "After how many days reports are deleted; never by default.")
    database: str | None = option(
        None, "postgresql://USER@HOST/NAME; a file of SQLite in the folder by default."
    )

    def __post_init__(self) -> None:
        if not isinstance(self.purpose, str) or not 0 < len(self.purpose.strip()) <= MAX_PURPOSE:
            raise InputError(f"purpose must be a text of 1 to {MAX_PURPOSE} characters: people read it")
        check_number(self.epsilon, "--epsilon", above=0)
        check_number(self.delta, "--delta", least=0, below=1)
        check_whole(self.dims, "--dims", least=0, most=MAX_DIMS)
        check_whole(self.classes, "classes", least=0, most=MAX_SYMBOLS)
        if (self.dims > 0) != (self.range is not None):
            raise InputError(
                "dims and range belong together: give both, or neither where nobody holds features"
            )
        if self.range is not None:
            PublicRange.of(self.range)
        elif self.binary or self.volunteers:
            raise InputError("binary and volunteers are about features: give --dims and --range")
        if self.retention is not None:
            check_whole(self.retention, "retention", least=1)

    @property
    def offered(self) -> dict[str, Any]:
        """The public part of the settings."""
        told = asdict(self)
        cap = {"epsilon": told.pop("epsilon"), "delta": told.pop("delta")}
        del told["database"]
        return {"collection": told.pop("id"), "cap": cap, **told}


def write_settings(folder: Path, settings: CollectionSettings) -> None:
    """Write collection.toml; the address of a database may hold a password, so only the owner may read it."""
    lines = [
        f"{name} = {toml_value(value)}\n"
        for name, value in asdict(settings).items()
        if value not in (None, "")
    ]
    head = "# A collection of graphveil. Devices were told what stands here: do not change it.\n"
    write_new(folder / SETTINGS, "".join([head, *lines]).encode())


def write_new(file: Path, data: bytes) -> None:
    """Write a file that only its owner may read, and that was not there before; it is on the disk when this ends."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    with open(descriptor, "wb") as opened:
        opened.write(data)
        opened.flush()
        os.fsync(descriptor)


def read_settings(folder: Path) -> CollectionSettings:
    """The settings of a folder, or why there are none."""
    file = folder / SETTINGS
    told = read_toml(
        file,
        "see who may read it, or restore it from a backup",
        f"{folder} holds no collection ({SETTINGS} is not there): make one with `graphveil collect init {folder}`",
    )
    known = {each.name for each in fields(CollectionSettings)}
    if not {"id", "purpose", "epsilon"} <= set(told) <= known:
        raise InputError(f"{file} must have id, purpose and epsilon, and may have {', '.join(sorted(known))}")
    if isinstance(told.get("range"), list):
        told["range"] = tuple(told["range"])
    try:
        return CollectionSettings(**told)
    except InputError as error:
        raise InputError(f"{file}: {error.as_written}") from None


def database_url(folder: Path, settings: CollectionSettings) -> str:
    """Return the URL of the database: from the settings, else that of a file in the folder."""
    return settings.database or f"sqlite:///{(folder / DATABASE).resolve()}"


def graph_file(folder: Path, version: int) -> Path:
    """The file of a version of the public graph."""
    return folder / f"graph-{version}.npz"


def check_folder(folder: Path) -> Path:
    """Refuse, before anything is computed, a folder that cannot be written to; it is made where it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made ({error.strerror}): name another folder") from None
    return folder
