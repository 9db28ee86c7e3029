"""`graphveil`, and `python -m graphveil`: the command line, or a sentence that says how to get it.

Nothing here needs more than Python itself, so that whatever is missing can be named.
"""

import sys

from graphveil import process
from graphveil.errors import visible
from graphveil.extras import install_sentence
from graphveil.interrupts import quiet_interrupt

MISTAKEN = 2


def main() -> None:
    """Run the command that was given and exit with its status."""
    try:
        with quiet_interrupt():
            process.begin()
            from graphveil.cli import main as run
    except ModuleNotFoundError as error:
        sentence = install_sentence(error)
        if sentence is None:
            raise
        print(f"Error: {visible(sentence)}", file=sys.stderr)
        sys.exit(MISTAKEN)
    try:
        run()
    except SystemExit as ended:
        process.end(ended.code)
        raise


if __name__ == "__main__":
    main()
