"""What the defaults gain and lose on simulated users: the tables of docs/defaults.md."""
