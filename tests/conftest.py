"""What keeps the tests quick: where the garbage collector looks, and which core a worker has."""

import gc
from collections.abc import Generator

import pytest

from tests.cores import one_core


def pytest_configure(config: pytest.Config) -> None:
    """Let each worker of pytest-xdist keep to a core of its own."""
    worker = getattr(config, "workerinput", None)
    if worker is not None and worker["workercount"] > 1:
        one_core(int(worker["workerid"].removeprefix("gw")))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Load the tests without looking for garbage, and never look again through what was loaded with them.

    What the libraries and the tests are made of lives as long as the process. To go through it again and again
    took a third of the time to collect the tests, and a tenth of the time to run them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        # An agent is made of more than the 700 objects after which Python would look again.
        gc.set_threshold(20_000, 10, 10)
        gc.enable()
