"""Where work is done: in this process, in others beside it, or on a cluster. Numbers are the same everywhere."""
