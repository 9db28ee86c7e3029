"""The choice of settings: the search by validation scores, and what privacy levels cost."""
