"""A small town, as Python and the command load it."""

TOWN = {"users": 200, "features": 16, "telling": 4, "labelled": 0.2, "validated": 0.2}


def town(**changes):
    """The options of a command that loads the town, or one that is not quite the same."""
    return " ".join(f"--set data.{name}={value}" for name, value in {**TOWN, **changes}.items())
