"""Where work is done: processes of this machine, or of a cluster."""
