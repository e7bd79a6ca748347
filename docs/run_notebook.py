"""Run the notebook and keep what its cells show: python docs/run_notebook.py.

It is run in an empty folder, so that its outputs name no folder of this machine.
"""

import re
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[1] / "examples" / "first_steps.ipynb"
NUMBER = re.compile(r"[+-]?\d[\d,.]*")


def executed(folder: Path, path: Path = NOTEBOOK) -> Any:
    """The notebook with the outputs of a run in a folder."""
    import nbclient
    import nbformat

    book = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(folder)}}
    found = nbclient.NotebookClient(book, timeout=3600, resources=where).execute()
    for cell in found.cells:
        cell.metadata.pop("execution", None)  # when it ran
    return found


def shown(book: Any) -> list[str]:
    """What each code cell shows, as text without numbers; ``<picture>`` for a picture."""
    return [
        " ".join(_text(one) for one in cell.outputs) for cell in book.cells if "outputs" in cell
    ]


def _text(output: Any) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        return "<picture>"
    text = output.get("text", "") or data.get("text/plain", "")
    return re.sub(r"[\s█▉▊▋▌▍▎▏]+", " ", NUMBER.sub("#", text)).strip()


def main() -> None:
    """Run it, and write it with its outputs."""
    import nbformat

    with tempfile.TemporaryDirectory() as folder:
        nbformat.write(executed(Path(folder)), NOTEBOOK)


if __name__ == "__main__":
    main()
