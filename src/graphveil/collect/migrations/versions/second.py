"""Operators with tokens of their own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make their table."""
    op.create_table(
        "operators",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("token", sa.LargeBinary(32), nullable=False, unique=True),
        sa.Column("added", sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    """Drop their table."""
    op.drop_table("operators")
