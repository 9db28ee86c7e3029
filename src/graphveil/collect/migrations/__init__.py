"""How a database gets from one layout to the next, by Alembic: one file in `versions` a step."""
