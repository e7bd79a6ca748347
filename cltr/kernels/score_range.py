r"""How far apart scores may lie: rates :math:`e^s` must stay above 0 in floating point."""

FLOOR = -600.0
"""Scores further than this below the list's highest count as this far below."""
WIDEST_GAP = 40.0
"""Across a wider gap nobody overtakes: the chance is below 1e-17."""
LARGEST = 1e15
"""Scores that are larger are refused: their digits are lost, and integrals would not end."""
