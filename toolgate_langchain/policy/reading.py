"""What hosts know of a policy that needs the history of a conversation, without loading one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolgate_langchain.policy.arguments import ArgumentView, PolicyAnswer
    from toolgate_langchain.policy.history import ResultLabel

__all__ = ["ReadingPolicy", "TracedValue"]


class TracedValue(Protocol):
    """One decisive value of a call, with where it comes from."""

    @property
    def text(self) -> str:
        """In one line, for the person who is asked."""
        ...


@runtime_checkable
class ReadingPolicy(Protocol):
    """An argument policy that says what results are worth, and where arguments come from (`FlowPolicy`)."""

    observe: bool
    """Whether it decides nothing, and what it would decide is logged."""

    def would(self, view: ArgumentView) -> PolicyAnswer:
        """What holds for one call, also where the policy only observes."""
        ...

    def trace(self, view: ArgumentView) -> Sequence[TracedValue]:
        """The decisive values of a call."""
        ...

    def label_result(self, tool: str, text: str, structure: Any, declared: ResultLabel) -> ResultLabel:
        """The label of one result."""
        ...
