"""What a budget buys, and what keeps it: the numbers of docs/budget.md."""
