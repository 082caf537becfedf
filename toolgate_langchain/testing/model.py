"""A model with an exact script: the one fake that a test of an agent needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.language_models import BaseChatModel
from langchain_core.load.serializable import SerializedNotImplemented
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field, PrivateAttr

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManagerForLLMRun

__all__ = ["ScriptedModel", "Turn", "call", "says"]

Turn: TypeAlias = AIMessage | Callable[[list[BaseMessage]], AIMessage]
"""What the model says once: a message, or a function of the conversation so far that gives one."""


class ScriptedModel(BaseChatModel):
    """Says its script, one turn for each time it is called, and "done" after its end.

    Args:
        script: The turns. A message is said as it is, also with calls that no parser would let through.
    """

    script: list[Any] = Field(default_factory=list)
    _seen: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _offered: list[list[str]] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def seen(self) -> list[list[BaseMessage]]:
        """The messages that it was shown, for each time that it was called."""
        return self._seen

    @property
    def offered(self) -> list[list[str]]:
        """The names of the tools that were bound, for each time that tools were."""
        return self._offered

    def to_json(self) -> SerializedNotImplemented:
        """What tracers are told of the model: its name; to write out its script takes longer than to say it."""
        return SerializedNotImplemented(lc=1, type="not_implemented", id=self.lc_id(), name=self.get_name(), repr=None)

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        """Note the names of the tools; the script stays what it is."""
        self._offered.append([str(tool.get("type")) if isinstance(tool, dict) else tool.name for tool in tools])
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        turn: Turn = self.script[len(self._seen)] if len(self._seen) < len(self.script) else AIMessage("done")
        self._seen.append(list(messages))
        said = turn(list(messages)) if callable(turn) else turn
        # A copy, because graphs give ids to the messages that they keep. Not a deep one: arguments may be deeper
        # than Python can follow.
        return ChatResult(generations=[ChatGeneration(message=said.model_copy())])


_ids = count(1)


def call(tool_name: str, call_id: str | None = "", /, **arguments: Any) -> ToolCall:
    """A tool call.

    Args:
        tool_name: The tool.
        call_id: The call's id; left out, a new one. `None` is a call without an id.
        **arguments: What the model writes.
    """
    made = f"call_{next(_ids)}" if call_id == "" else call_id
    return ToolCall(name=tool_name, args=arguments, id=made, type="tool_call")


def says(*calls: ToolCall, text: str = "") -> AIMessage:
    """A turn of the model that makes calls."""
    return AIMessage(text, tool_calls=list(calls))
