"""Standing attacks on cltr: damaged files, kills and faults, all from fixed seeds.

``python -m tests.reliability --help`` says how to run them at length; tests run a little of each.
"""
