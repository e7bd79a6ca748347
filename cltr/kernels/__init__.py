"""Compiled code (numba) and its torch forms; nothing else lives here."""
