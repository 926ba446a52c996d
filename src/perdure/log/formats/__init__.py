"""One reader for each kind of log."""
