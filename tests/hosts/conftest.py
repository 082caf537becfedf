"""What tests of the hosts share."""

from __future__ import annotations

from typing import Any

import pytest

from toolgate_langchain.hosts.langgraph.enforcing import Enforcement


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each call that came to the last step, whether it went the short way."""
    taken: list[bool] = []
    at_once = Enforcement.at_once

    def noting(self: Enforcement, request: Any) -> Any:
        found = at_once(self, request)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(Enforcement, "at_once", noting)
    return taken
