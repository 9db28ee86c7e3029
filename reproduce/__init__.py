"""What the documents print that is no experiment, computed anew. It needs a copy of the project and is not installed."""
