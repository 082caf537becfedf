"""A worker that can die at any word to its ledger, or be overtaken by another one there."""

from collections.abc import Callable
from typing import Any

from tests.durable.workers import elsewhere
from tests.support import Chat
from toolgate_langchain import (
    SqlLedger,
)  # fmt: skip


class Crash(BaseException):
    """The worker dies."""


class Mortal:
    """A worker's way to the ledger. Once the worker is dead, nothing of it reaches the ledger any more."""

    def __init__(self, ledger: Any) -> None:
        self._ledger = ledger
        self.dies: tuple[int, bool] | None = None
        self.meets: tuple[int, Callable[[], Any]] | None = None

    def close(self) -> None:
        if isinstance(self._ledger, SqlLedger):
            self._ledger.close()

    def quiet(self, *given: Any) -> Any:
        return self._ledger.quiet(*given)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._ledger, name)

        def reach(*given: Any, **named: Any) -> Any:
            if self.meets is not None:
                left, meanwhile = self.meets
                self.meets = (left - 1, meanwhile) if left > 1 else None
                if left == 1:
                    elsewhere(meanwhile)
            if self.dies is not None:
                left, heard = self.dies
                self.dies = (left - 1, heard)
                if left == 1 and heard:
                    method(*given, **named)
                if left <= 1:
                    raise Crash
            return method(*given, **named)

        return reach


class InTurn(Chat):
    """Calls run one after the other, so that the same steps lead to the same words in the same order."""

    @property
    def config(self) -> dict[str, Any]:
        return {**super().config, "max_concurrency": 1}
