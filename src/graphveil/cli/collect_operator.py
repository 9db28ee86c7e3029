"""graphveil collect operator: tokens for those who look at a collection, or close its rounds, over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphveil.cli.console import say


def collect_operator(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The collection's folder.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the operator is called here.")],
    revoke: Annotated[bool, typer.Option("--revoke", help="Take the token of this operator back.")] = False,
) -> None:
    """Make a token by which an operator sees the status of a collection, and closes rounds, over HTTP.

    It is shown once: only its hash is stored. Everything else is done in the folder, by whoever may read it.

    Example: graphveil collect operator survey ada
    """
    from graphveil.collect.operators import add_operator, revoke_operator
    from graphveil.collect.storage import open_collection

    database = open_collection(folder).database
    if revoke:
        with database.writing() as connection:
            revoke_operator(connection, name)
        say(f"The token of {name} works no more.", err=True)
        return
    with database.writing() as connection:
        token = add_operator(connection, name)
    say(token)
    say(
        f"This is the token of {name}, and the only copy: send it as `Authorization: Bearer TOKEN` to GET /v1/operator/status "
        "or POST /v1/operator/rounds/N/close.",
        err=True,
    )
