"""Run the notebooks of the documentation and store their output: `make notebooks`."""

import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"


def run_notebook(file: Path) -> Any:
    """Run a notebook from its first cell to its last and return it, without timestamps."""
    notebook = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(notebook, timeout=None, resources={"metadata": {"path": folder}})
        manager = client.create_kernel_manager()
        manager.transport = "ipc"  # sockets of this user alone, instead of ports that every user can reach
        manager.ip = str(Path(folder) / "kernel")
        client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


if __name__ == "__main__":
    for file in sorted(NOTEBOOKS.glob("*.ipynb")):
        nbformat.write(run_notebook(file), file)  # type: ignore[no-untyped-call]
        print(file.name)
