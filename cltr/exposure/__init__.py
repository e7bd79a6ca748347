"""The production ranker that served a log, and the exposure it gave to documents."""
