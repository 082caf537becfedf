"""What the tests of subagents share."""

from __future__ import annotations

import pytest

from tests.support import Recorder


@pytest.fixture
def ran() -> Recorder:
    return Recorder()


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)
