"""Migrations of the database from one layout to the next, by Alembic: one file in `versions` a step."""
