"""What a device proves itself by: it draws a credential, puts it down, has it registered, and only then uses it."""

from __future__ import annotations

from pathlib import Path

from graphveil.client.books import Credentials, transaction


class DeviceCredentials:
    """The credentials of a device for one collection, in its books."""

    def __init__(self, books: Path, collection: str) -> None:
        self._books, self._collection = books, collection

    def read(self) -> Credentials:
        """Return what is in the books now."""
        with transaction(self._books) as books:
            return books.credentials(self._collection)

    def draw(self, token: bytes | None = None) -> str:
        """Return the credential to register by the token with this SHA-256, or by the former credential.

        It is on the disk before anybody hears of it, and the same however often it is asked for.
        """
        with transaction(self._books) as books:
            return books.draw_credential(self._collection, token)

    def confirm(self) -> None:
        """Use the credential that was drawn, and no other, now that the collector has registered it."""
        with transaction(self._books) as books:
            books.confirm_credential(self._collection)

    def keep_token(self, token: bytes) -> None:
        """Remember that the token with this SHA-256 is used up."""
        with transaction(self._books) as books:
            books.keep_token(self._collection, token)
