"""Data sets: import judged queries from files, open the result, the embedded demo data."""
