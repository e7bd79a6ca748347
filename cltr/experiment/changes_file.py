"""What a run keeps for its page."""

CHANGES = "changes.json"
"""The file of a run that says what changes for users: the queries that change most, and sums."""
