from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mcp.servers import Servers, started


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with started(tmp_path_factory.mktemp("mcp")) as servers:
        yield servers


@pytest.fixture
def servers(running: Servers) -> Servers:
    """The servers, each of which lists nothing and was never called."""
    running.forget()
    return running
