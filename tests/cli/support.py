"""Many calls of the command in one test: each that goes wrong is told with its words."""

from graphveil.cli import status


def tried(call, capsys):
    """The exit status of a call, what it printed, and what it said on stderr; an exception in place of the status."""
    try:
        ended = status(list(call))
    except Exception as error:  # noqa: BLE001 -- whatever it is, it is told
        ended = repr(error)
    printed = capsys.readouterr()
    return ended, printed.out, printed.err


def not_refused(cases, capsys, *, lines=1, printed=True, changed=lambda: False):
    """Of calls with the words that must be said: those that do not end with status 2 and one line with them.

    Where nothing may be printed on stdout, ``printed`` is false; ``changed`` says whether a call has left something.
    """
    wrong = []
    for call, said in cases:
        ended, out, err = tried(call, capsys)
        one = lines is None or len(err.strip().splitlines()) == lines
        # What is longer than a terminal is wide is broken there.
        told = said in err or said in " ".join(err.split())
        right = ended == 2 and one and told and err.strip().startswith("Error: ") and "Traceback" not in err
        if not right or (out and not printed) or changed():
            wrong.append((call, said, ended, out, err))
    return wrong


def without_example(commands, capsys):
    """The commands whose help shows no example of theirs."""
    wrong = []
    for command in commands:
        ended, out, _ = tried([*command.split(), "--help"], capsys)
        if ended != 0 or f"Example: graphveil {command}" not in " ".join(out.split()):
            wrong.append((command, ended, out))
    return wrong
