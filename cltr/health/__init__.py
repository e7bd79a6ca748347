"""Is a log fit to learn from? Checks before training, each with its number and its outcome."""
