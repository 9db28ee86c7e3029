"""A device: one person's row, a ledger on disk, and what is checked before anything is answered."""
