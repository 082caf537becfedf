"""What LangChain's shell session leaves behind is cleared away where it was used."""

import gc
import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture
def pipes_stay_open() -> Iterator[None]:
    """LangChain's shell session does not close its pipes when it is stopped; they are collected here and not later."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
