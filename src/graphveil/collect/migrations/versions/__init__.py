"""The steps, each with the revision that it starts from."""
