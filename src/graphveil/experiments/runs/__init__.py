"""Experiments as they are run: units, their privacy, what they say together, and how both are kept."""
