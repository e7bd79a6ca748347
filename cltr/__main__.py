"""``python -m cltr``: the command line, also for torchrun."""

from cltr.cli import main

if __name__ == "__main__":
    main()
