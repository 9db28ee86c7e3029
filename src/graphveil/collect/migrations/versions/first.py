"""The first layout."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "collection",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("purpose", sa.Text, nullable=False),
    )
    op.create_table(
        "graphs",
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("users", sa.Integer, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("added", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "roster",
        sa.Column("node", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("external", sa.Text, nullable=False, unique=True),
        sa.Column("pseudonym", sa.LargeBinary(16), nullable=False, unique=True),
        sa.Column("token", sa.LargeBinary(32), nullable=False, unique=True),
        sa.Column("credential", sa.LargeBinary(32), unique=True),
        sa.Column("epsilon", sa.Float),
        sa.Column("delta", sa.Float),
        sa.Column("by_level", sa.Text),
        sa.Column("renewal", sa.Integer),
        sa.Column("since", sa.Integer),
        sa.Column("excluded", sa.Text),
        sa.Column("volunteer", sa.Boolean),
        sa.Column("forgotten", sa.Boolean, nullable=False),
    )
    op.create_table(
        "rounds",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("plan", sa.LargeBinary, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("study", sa.Text, nullable=False),
        sa.Column("asked", sa.LargeBinary, nullable=False),
        sa.Column("graph", sa.Integer, nullable=False),
        sa.Column("published", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
        sa.Column("closed", sa.Boolean, nullable=False),
        sa.Column("deleted", sa.Integer, nullable=False),
    )
    op.create_table(
        "reports",
        sa.Column("round", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("node", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("report", sa.LargeBinary(16), nullable=False),
        sa.Column("message", sa.LargeBinary, nullable=False),
        sa.Column("day", sa.Integer, nullable=False),
        sa.UniqueConstraint("round", "report", name="one_report"),
    )
    op.create_table(
        "rows",
        sa.Column("node", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("numbers", sa.LargeBinary, nullable=False),
        sa.Column("day", sa.Integer, nullable=False),
    )
    op.create_table(
        "results",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("card", sa.Text, nullable=False),
        sa.Column("made", sa.BigInteger, nullable=False),
        sa.Column("outdated", sa.Boolean, nullable=False),
    )
    op.create_table(
        "actions",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Drop all tables."""
    for table in ("actions", "results", "rows", "reports", "rounds", "roster", "graphs", "collection"):
        op.drop_table(table)
