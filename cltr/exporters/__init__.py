"""Formats of other systems for a learned ranker, each with a reader that checks it."""
