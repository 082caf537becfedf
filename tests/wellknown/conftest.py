"""What LangChain's shell session leaves behind is cleared away where it was used."""

import gc
import threading
import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture
def pipes_stay_open() -> Iterator[None]:
    """LangChain's shell session does not close its pipes when it is stopped; they are collected here and not later."""
    yield
    # A thread reads each pipe until the shell has ended, and holds it until then.
    for reader in threading.enumerate():
        if "_enqueue_stream" in reader.name:
            reader.join(timeout=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
