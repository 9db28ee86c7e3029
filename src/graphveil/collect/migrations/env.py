"""Alembic's entry point for migrations; the connection comes from `database.migrate`."""

from __future__ import annotations

from alembic import context

from graphveil.collect.schema import METADATA

try:
    connection = context.config.attributes["connection"]
except (AttributeError, NameError):
    # Imported by somebody who lists modules, and not run by Alembic.
    connection = None

if connection is not None:
    context.configure(connection=connection, target_metadata=METADATA)
    context.run_migrations()
