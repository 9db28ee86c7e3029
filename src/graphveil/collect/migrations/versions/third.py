"""Credentials that devices draw themselves, and tokens for people who are enrolled already."""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

revision = "3"
down_revision = "2"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Say of everybody whether the token was used and whether the credential was derived: of those who have one, both were.

    Of those who were forgotten, earlier versions kept pseudonym and token: random bytes replace them.
    """
    for name in ("redeemed", "derived"):
        op.add_column("roster", sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false()))
    op.execute("UPDATE roster SET redeemed = (credential IS NOT NULL), derived = (credential IS NOT NULL)")
    connection = op.get_bind()
    for node in connection.execute(sa.text("SELECT node FROM roster WHERE forgotten")).scalars().all():
        drawn = {"node": node, "pseudonym": secrets.token_bytes(16), "token": secrets.token_bytes(32)}
        words = "UPDATE roster SET pseudonym = :pseudonym, token = :token WHERE node = :node"
        connection.execute(sa.text(words), drawn)


def downgrade() -> None:
    """Forget both."""
    for name in ("redeemed", "derived"):
        op.drop_column("roster", name)
