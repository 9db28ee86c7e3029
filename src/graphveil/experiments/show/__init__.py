"""Results as they are shown: figures, pages, the report and the demonstration."""
