"""The commands of the command line as functions that return objects.

The names are published in ``cltr`` itself: ``cltr.train``, ``cltr.ingest``, and so on. A command
parses words, calls one of these functions and prints.
"""
