"""The contracts by kind; ``cltr.interfaces`` names them all on one page."""
