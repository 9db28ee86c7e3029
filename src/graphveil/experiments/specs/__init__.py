"""Experiments as they are asked for: all that decides their numbers, checked, from arguments or from files."""
