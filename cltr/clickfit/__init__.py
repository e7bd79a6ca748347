"""``cltr fit``: click models fitted to a log, compared on held-out clicks, kept in files."""
