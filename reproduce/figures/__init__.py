"""Figures of the documents whose points are computed, one file each."""
