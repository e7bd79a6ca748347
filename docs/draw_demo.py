"""Draw docs/demo.svg, what ``make demo`` prints: python docs/draw_demo.py RUN."""

import json
import sys
from pathlib import Path

from rich.console import Console

from cltr.report.run_tables import result_tables


def main() -> None:
    """Render the result of a run as a terminal would show it."""
    run = Path(sys.argv[1])
    result = json.loads((run / "result.json").read_text())
    console = Console(record=True, width=84)
    for table in result_tables(result):
        console.print(table)
    title = "cltr train --estimator prpo --reward dr"
    console.save_svg(str(Path(__file__).parent / "demo.svg"), title=title)


if __name__ == "__main__":
    main()
