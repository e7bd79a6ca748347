"""[1] Logs from elsewhere: files that duckdb reads, counted and checked, into one log file.

``sources`` opens files, ``readers`` and ``publiclogs`` say what their columns are, ``tallies``
codes rows as numbers, ``streams`` brings them to ``counting``, ``cleaning`` puts them in order
where it must, ``problems`` says what is wrong; ``assembly`` makes arrays of counts and
``interactions`` of interactions, ``job`` does it all.
"""
