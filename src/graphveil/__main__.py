"""`python -m graphveil` is `graphveil`."""

from graphveil.cli import main

if __name__ == "__main__":
    main()
