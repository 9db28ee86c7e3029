"""Where work is done: in this process, in others beside it, or by the workers of Ray. Numbers are the same everywhere."""
