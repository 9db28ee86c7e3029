"""graphveil collect rotate: a collection passes on to a new key, which its old one signs over."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphveil.cli.console import say


def collect_rotate(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The collection's folder.")],
) -> None:
    """Make a new key that signs questions. The old one signs that it is its successor, and is deleted.

    Devices follow at their next visit, and refuse from then on what the old key signs. Budgets, caps, answers and the credentials of devices stay as they
    are, and tokens that were given out stay good. Credentials that an earlier graphveil derived from the old key are worthless from then on. A key that was lost cannot be rotated, and one that was stolen must not be: make another collection.

    Example: graphveil collect rotate survey
    """
    from graphveil.collect.key_ring import SUCCESSIONS, key_file
    from graphveil.collect.storage import open_collection

    collection = open_collection(folder)
    told = collection.rotate()
    say(f"Change {told.number} of the key: questions are now signed by {told.after.hex()}.")
    kept = key_file(folder, told.number)
    say(
        f"The old key was deleted here: delete its copies too, and keep a copy of {kept} and {folder / SUCCESSIONS} offline. "
        "Devices follow at their next visit; `serve` needs no restart."
    )
    roster = collection.roster()
    cut_off = [name for name, derived in zip(roster.external, roster.derived, strict=True) if derived]
    if cut_off:
        say(
            f"{len(cut_off)} devices had not registered a credential of their own since graphveil was updated, and are not known any more. Invite their "
            f"owners again with `graphveil collect invite {folder} --again ID`: {', '.join(cut_off)}."
        )
