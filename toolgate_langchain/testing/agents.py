"""Agents of `create_agent`, in each of the forms in which the gate can stand in one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from toolgate_langchain.approvals.steps import run_steps
from toolgate_langchain.catalog.profile import tool_profile
from toolgate_langchain.hosts.langgraph.driving import pending_requests
from toolgate_langchain.hosts.langgraph.middleware import ToolGateMiddleware
from toolgate_langchain.testing.hosts import CHECKPOINTS, MIDDLEWARE, STATE, SUBAGENTS, Setup
from toolgate_langchain.testing.model import ScriptedModel
from toolgate_langchain.testing.tools import Task, made_tool
from toolgate_langchain.vocabulary import Tier

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.hosts.gate import ToolGate
    from toolgate_langchain.testing.hosts import Host

__all__ = ["AgentHost", "GraphConversation", "agent_hosts", "finish", "graph_as_tool"]

_Middleware = AgentMiddleware[Any, Any, Any]
_Place = Callable[["ToolGate", Sequence[_Middleware], dict[str, Any]], list[_Middleware]]


class GraphConversation:
    """A conversation with any compiled graph that has a checkpointer and a channel `messages`.

    Args:
        graph: The graph.
        model: The model in it.
        memory: Its checkpointer.
        thread: The thread.
        asynchronous: Whether to drive it asynchronously.
        before_tools: The node that calls go from to their tools.
    """

    def __init__(
        self, graph: Any, model: Any, memory: Any, thread: str, *, asynchronous: bool, before_tools: str
    ) -> None:
        self._graph, self._model, self.memory = graph, model, memory
        self._config = {"configurable": {"thread_id": thread}}
        self._asynchronous, self._before_tools = asynchronous, before_tools

    @property
    def requests(self) -> list[ApprovalRequest]:
        """See `Conversation.requests`."""
        return [request for _, request in pending_requests(self._state.interrupts)]

    @property
    def messages(self) -> list[BaseMessage]:
        """See `Conversation.messages`."""
        messages: list[BaseMessage] = self._state.values.get("messages", [])
        return messages

    @property
    def offered(self) -> list[list[str]]:
        """See `Conversation.offered`."""
        offered: list[list[str]] = getattr(self._model, "offered", [])
        return offered

    def say(self, text: str) -> None:
        """See `Conversation.say`."""
        self.give([HumanMessage(text)])

    def give(self, messages: Sequence[BaseMessage], state: dict[str, Any] | None = None) -> None:
        """See `Conversation.give`."""
        self._invoke({"messages": list(messages), **(state or {})}, self._config)

    def answer(self, answer: Any) -> None:
        """See `Conversation.answer`."""
        self._invoke(Command(resume=answer), self._config)

    def go_on(self) -> None:
        """See `Conversation.go_on`."""
        self._invoke(None, self._config)

    def replay(self, answer: Any = None) -> None:
        """See `Conversation.replay`."""
        value: Command[Any] | None = None if answer is None else Command(resume=answer)
        for snapshot in list(self._graph.get_state_history(self._config)):
            self._invoke(value, snapshot.config)

    def fork(self, messages: Sequence[BaseMessage], state: dict[str, Any] | None = None) -> None:
        """See `Conversation.fork`."""
        update = {"messages": list(messages), **(state or {})}
        where = self._graph.update_state(self._state.config, update, as_node=self._before_tools)
        self._invoke(None, where)

    @property
    def _state(self) -> Any:
        return self._graph.get_state(self._config)

    def _invoke(self, value: Any, config: Any) -> None:
        if self._asynchronous:
            finish(self._graph.ainvoke(value, config))
        else:
            self._graph.invoke(value, config)


def finish(awaitable: Awaitable[Any]) -> Any:
    """Wait for something, also where a loop runs in this thread already, as in a notebook."""

    def flow() -> Steps[Any]:
        return (yield lambda: awaitable)

    return run_steps(flow())


class AgentHost:
    """Agents of `create_agent`.

    Args:
        name: What reports call it.
        place: Puts a gate among other middleware.
        asynchronous: Whether to drive them asynchronously.
    """

    abilities = frozenset({CHECKPOINTS, MIDDLEWARE, STATE, SUBAGENTS})

    def __init__(self, name: str, place: _Place, *, asynchronous: bool) -> None:
        self.name, self.asynchronous = name, asynchronous
        self._place = place

    def start(self, setup: Setup) -> GraphConversation:
        """See `Host.start`."""
        model = setup.model if setup.model is not None else ScriptedModel(script=list(setup.script))
        memory = setup.memory if setup.memory is not None else InMemorySaver()
        agent = create_agent(model, list(setup.tools), middleware=self._middleware(setup), checkpointer=memory)
        # The last hook behind the model, where there is one, is the first in the list.
        before_tools = next((name for name in agent.nodes if name.endswith(".after_model")), "model")
        return GraphConversation(
            agent, model, memory, setup.thread, asynchronous=self.asynchronous, before_tools=before_tools
        )

    def as_tool(self, name: str, setup: Setup) -> BaseTool:
        """See `Host.as_tool`."""
        model = ScriptedModel(script=list(setup.script))
        return graph_as_tool(name, create_agent(model, list(setup.tools), middleware=self._middleware(setup)))

    def _middleware(self, setup: Setup) -> list[_Middleware]:
        where = {"surface": setup.surface, "caller": setup.caller, "configuration": setup.configuration}
        return [*self._place(setup.gate, setup.others, where), *setup.behind]


def graph_as_tool(name: str, graph: Any) -> BaseTool:
    """A compiled graph as a tool that takes a task and gives the graph's last message."""

    def run(task: str) -> str:
        return _last(graph.invoke({"messages": [HumanMessage(task)]}))

    async def arun(task: str) -> str:
        return _last(await graph.ainvoke({"messages": [HumanMessage(task)]}))

    made = made_tool(name, run, arun, schema=Task, description="Give a task to another agent.")
    return tool_profile(tier=Tier.READ_ONLY)(made)


def _last(result: dict[str, Any]) -> str:
    return str(result["messages"][-1].content)


class _Passes(AgentMiddleware[Any, Any, Any]):
    """Another middleware that wraps everything and changes nothing."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request)

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(request)

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return await handler(request)


class _PassesAfterTheModel(AgentMiddleware[Any, Any, Any]):
    """Another middleware with a node between the model and its tools."""

    def after_model(self, state: Any, runtime: Any) -> None:
        return None


def _last_of_the_list(gate: ToolGate, others: Sequence[_Middleware], where: dict[str, Any]) -> list[_Middleware]:
    return [*others, ToolGateMiddleware(gate, **where)]


def _around(gate: ToolGate, others: Sequence[_Middleware], where: dict[str, Any]) -> list[_Middleware]:
    return gate.around(others, **where)


def _around_others(gate: ToolGate, others: Sequence[_Middleware], where: dict[str, Any]) -> list[_Middleware]:
    return gate.around([_Passes(), *others], **where)


def _around_a_hook(gate: ToolGate, others: Sequence[_Middleware], where: dict[str, Any]) -> list[_Middleware]:
    return gate.around([_Passes(), _PassesAfterTheModel(), *others], **where)


_PLACES: dict[str, _Place] = {
    "create_agent, ToolGateMiddleware": _last_of_the_list,
    "create_agent, gate.around()": _around,
    "create_agent, gate.around([others])": _around_others,
    "create_agent, gate.around([others with a hook after the model])": _around_a_hook,
}


def agent_hosts() -> list[Host]:
    """Every form of `create_agent`, driven synchronously and asynchronously."""
    return [
        AgentHost(name, place, asynchronous=asynchronous)
        for name, place in _PLACES.items()
        for asynchronous in (False, True)
    ]
