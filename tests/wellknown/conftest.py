"""What LangChain's shell session leaves behind is cleared away where it was used."""

import gc
import threading
import warnings
from collections.abc import Iterator

import pytest

from tests.mcp.conftest import hatchery

__all__ = ["hatchery"]


@pytest.fixture
def pipes_stay_open() -> Iterator[None]:
    """LangChain's shell session does not close its pipes when it is stopped; they are collected here and not later."""
    gc.freeze()  # only what the test itself made is looked through
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
        # A shell that nobody holds any more is ended. A thread reads each of its pipes until then, and holds it.
        for reader in threading.enumerate():
            if "_enqueue_stream" in reader.name:
                reader.join(timeout=5)
        gc.collect()
