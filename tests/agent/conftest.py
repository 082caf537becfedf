"""Each test of a conversation runs it synchronously and asynchronously."""

import pytest

from tests.support import Recorder


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def ran() -> Recorder:
    return Recorder()
