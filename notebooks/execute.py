"""Run the notebooks from a clean kernel, and compare what they say with what they said.

A notebook is documentation that runs. This script fails when a cell raises, and when the text
under a cell is no longer the text that is saved there. With ``--update`` it saves the new text
instead. A cell whose text differs from run to run carries the tag ``output-varies``; one that is
meant to raise carries Jupyter's own tag ``raises-exception``.

    python notebooks/execute.py [--update] [NOTEBOOK ...]
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from traitlets.config import Config

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbformat import NotebookNode

FOLDER = Path(__file__).parent
SECONDS_PER_CELL = 120
VARIES = "output-varies"


def output_text(cell: NotebookNode) -> str:
    """Return what a reader sees as text under a cell, streams joined as one."""
    streams: dict[str, str] = {}
    results: list[str] = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            streams[output.name] = streams.get(output.name, "") + output.text
        elif output.output_type == "error":
            results.append(f"{output.ename}: {output.evalue}")
        else:
            results += [text for mime, text in sorted(output.data.items()) if mime[:5] == "text/"]
    return "\n".join([*(text.rstrip("\n") for _, text in sorted(streams.items())), *results])


def changes(saved: NotebookNode, fresh: NotebookNode) -> list[str]:
    """Return a readable difference for each cell whose text has changed."""
    found: list[str] = []
    for number, (before, after) in enumerate(zip(saved.cells, fresh.cells, strict=True), start=1):
        if before.cell_type != "code" or VARIES in before.metadata.get("tags", []):
            continue
        lines = difflib.unified_diff(
            output_text(before).splitlines(),
            output_text(after).splitlines(),
            fromfile=f"cell {number}, saved",
            tofile=f"cell {number}, now",
            lineterm="",
        )
        if difference := "\n".join(lines):
            found.append(difference)
    return found


def execute(path: Path) -> tuple[NotebookNode, NotebookNode]:
    """Run one notebook in its own folder; return it as it was saved and as it is now."""
    saved = nbformat.read(path, as_version=4)
    fresh = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IPYTHONDIR"] = folder  # nobody's own start-up files
        # Files instead of ports: nothing outside this folder can talk to the kernel.
        connection = {"transport": "ipc", "connection_file": str(Path(folder) / "kernel.json")}
        NotebookClient(
            fresh,
            config=Config(KernelManager=connection),
            kernel_name="python3",
            timeout=SECONDS_PER_CELL,
            record_timing=False,
            resources={"metadata": {"path": str(path.parent)}},
        ).execute()
    return saved, fresh


def check(path: Path, *, update: bool) -> bool:
    """Run one notebook and say how it went."""
    try:
        saved, fresh = execute(path)
    except CellExecutionError as error:
        print(f"{path.name}: a cell failed\n{error}")
        return False
    differences = changes(saved, fresh)
    if differences and not update:
        print(f"{path.name}: text has changed (--update saves it)", *differences, sep="\n")
        return False
    if differences:
        nbformat.write(fresh, path)
    print(f"{path.name}: {'updated' if differences else 'as saved'}")
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the notebooks that are named, or all of this folder's."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path, metavar="NOTEBOOK")
    parser.add_argument("--update", action="store_true", help="save the new text")
    options = parser.parse_args(arguments)
    paths = options.notebooks or sorted(FOLDER.glob("*.ipynb"))
    results = [check(path, update=options.update) for path in paths]
    print(f"{sum(results)} of {len(results)} notebooks are as they should be")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
