"""Every verb of the command line as a function of the package, with objects as results.

The names are published in ``cltr`` itself: ``cltr.train``, ``cltr.ingest``, and so on. A command
parses words, calls one of these functions and prints.
"""
