from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mcp.hatching import Hatchery, hatching
from tests.mcp.servers import Servers, started


@pytest.fixture(scope="session")
def hatchery() -> Iterator[Hatchery]:
    """Where MCP servers are forked off."""
    with hatching() as made:
        yield made


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory, hatchery: Hatchery) -> Iterator[Servers]:
    with started(tmp_path_factory.mktemp("mcp"), hatchery) as servers:
        yield servers


@pytest.fixture
def servers(running: Servers) -> Servers:
    """The servers, each of which lists nothing and was never called."""
    running.forget()
    return running
