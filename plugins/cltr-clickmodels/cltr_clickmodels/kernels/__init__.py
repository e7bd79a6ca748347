"""Compiled code (numba)."""
