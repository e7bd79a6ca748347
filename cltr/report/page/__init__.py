"""The HTML report: one page from a result, complete in itself, readable without scripts."""
