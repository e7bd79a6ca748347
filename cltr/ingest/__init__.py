"""[1] Logs from elsewhere: files that duckdb reads, counted and checked, into one log file.

``sources`` opens files, ``readers`` and ``publiclogs`` say what their columns are, ``tallies``
counts, ``problems`` says what is wrong, ``cleaning`` goes through the rows where it must,
``assembly`` makes arrays of counts and ``interactions`` of interactions, ``job`` does it all.
"""
