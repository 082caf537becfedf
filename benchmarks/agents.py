"""The agent whose loop is timed: cheap words, cheap tools, and one difference, the middleware.

The model and the tools do next to nothing, so that what is measured is the loop itself. Beside a
real model, which takes seconds a turn, every ratio here would be 1.00.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import PrivateAttr

from benchmarks.measure import Moment
from toolgate_langchain import Tier, ToolCatalog, ToolGate, ToolGateMiddleware, tool_profile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun

__all__ = [
    "ASKABLE",
    "CLOSED",
    "GATE",
    "IN_ANY_LIST",
    "LANGCHAIN",
    "NO_GATE",
    "TURNS",
    "BriefModel",
    "make_agent",
    "make_tools",
    "question",
]

TURNS = 20
"""Turns of one timed run: a model call and one call of a read-only tool each. One more reply ends it."""

NO_GATE = "no gate"
LANGCHAIN = "HumanInTheLoopMiddleware"
GATE = "gate.around()"
CLOSED = "the gate, nothing can be asked"
IN_ANY_LIST = "ToolGateMiddleware in any list"
"""The form that asks after every turn of the model, for lists that `gate.around` does not know."""

ASKABLE = ("send_email", "delete_email", "share_file")


class BriefModel(BaseChatModel):
    """Calls one tool, turn after turn, and is done. Every other call leaves a default to validation."""

    turns: int = TURNS
    _called: list[Moment] = PrivateAttr(default_factory=list)
    asked: bool = False
    """Whether it calls the tool that a person is asked about."""

    def forget(self) -> None:
        """Forget when it was called."""
        self._called.clear()

    def turns_took(self) -> Moment:
        """The time from its first call to its last: all turns, and nothing that happens once a run."""
        return self._called[-1] - self._called[0]

    @property
    def _llm_type(self) -> str:
        return "brief"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        return self

    def _reply(self, messages: list[BaseMessage]) -> ChatResult:
        self._called.append(Moment.now())
        # Only the results after the user's last words count, so that a thread can go on.
        turn = 0
        for message in reversed(messages):
            if isinstance(message, HumanMessage):
                break
            turn += isinstance(message, ToolMessage)
        said = AIMessage("done")
        if turn < self.turns:
            arguments: dict[str, Any] = {"folder": f"folder {turn}", **({"limit": 10} if turn % 2 else {})}
            name = "read_inbox"
            if self.asked:
                name, arguments = "send_email", {"to": f"mail {turn}", "subject": "Hello", "body": "How are you?"}
            said = AIMessage("", tool_calls=[ToolCall(name=name, args=arguments, id=f"c{len(messages)}")])
        return ChatResult(generations=[ChatGeneration(message=said)])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        return self._reply(messages)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        return self._reply(messages)


def _tool(name: str, function: Callable[..., str], tier: Tier) -> BaseTool:
    async def coroutine(**arguments: Any) -> str:
        return function(**arguments)

    made = StructuredTool.from_function(function, coroutine, name=name, description=f"The tool {name}.")
    return tool_profile(tier=tier)(made)


def make_tools(*, askable: bool) -> list[BaseTool]:
    """The agent's tools: two that only read, and three that a person is asked about."""

    def read_inbox(folder: str, limit: int = 10) -> str:
        return f"{limit} mails in {folder}"

    def read_file(path: str) -> str:
        return path

    def send_email(to: str, subject: str, body: str) -> str:
        return to

    def delete_email(email_id: str) -> str:
        return email_id

    def share_file(path: str, address: str) -> str:
        return address

    reading = [
        _tool("read_inbox", read_inbox, Tier.READ_ONLY),
        _tool("read_file", read_file, Tier.READ_ONLY),
    ]
    asked = [
        _tool("send_email", send_email, Tier.CONSEQUENTIAL),
        _tool("delete_email", delete_email, Tier.ROUTINE),
        _tool("share_file", share_file, Tier.CONSEQUENTIAL),
    ]
    return reading + (asked if askable else [])


def make_agent(
    variant: str,
    checkpointer: Any,
    *,
    askable: bool = True,
    model: BriefModel | None = None,
    gate: ToolGate | None = None,
) -> Any:
    """The agent in one of its variants.

    Args:
        variant: What stands in the loop.
        checkpointer: As for `create_agent`.
        askable: Whether it holds the tools that a person is asked about.
        model: Its model.
        gate: The gate of the variant `GATE`.
    """
    tools = make_tools(askable=askable)
    middleware: list[Any] = []
    if variant == LANGCHAIN:
        middleware = [HumanInTheLoopMiddleware(interrupt_on=dict.fromkeys(ASKABLE, True))]
    elif variant == GATE:
        middleware = (gate or ToolGate()).around()
    elif variant == IN_ANY_LIST:
        middleware = [ToolGateMiddleware(gate or ToolGate())]
    elif variant == CLOSED:
        middleware = [ToolGateMiddleware(ToolGate(catalog=ToolCatalog.from_tools(tools, closed=True)))]
    return create_agent(model or BriefModel(), tools, middleware=middleware, checkpointer=checkpointer)


def question() -> dict[str, Any]:
    """What the user says."""
    return {"messages": [HumanMessage("What is in my folders?")]}
