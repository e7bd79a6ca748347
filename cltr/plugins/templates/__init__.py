"""Templates of the files that ``cltr plugins new`` writes."""
