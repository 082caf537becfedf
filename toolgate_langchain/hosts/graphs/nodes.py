"""The gate's nodes of a hand-written graph: one that starts a run, one that judges and asks."""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import Runnable
from langgraph.func import task

from toolgate_langchain.approvals.steps import arun_steps, run_steps

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.hosts.gate import ToolGate
    from toolgate_langchain.hosts.graphs.state import GraphRuns, Seen
    from toolgate_langchain.hosts.graphs.turns import GraphTurns

__all__ = ["AskingNode", "GateNode", "StartingNode"]


class GateNode(Runnable[Any, Any]):
    """A node for synchronous and asynchronous runs that brings the gate's channels along.

    Args:
        runs: The graph's runs.
        schema: What the node reads.
    """

    def __init__(self, runs: GraphRuns, schema: Any) -> None:
        self.runs = runs

        def call(self: GateNode, state: Any) -> Any:
            return self.invoke(state)

        # Where `StateGraph.add_node` looks for what a node reads.
        call.__annotations__ = {"state": schema}
        self.__call__ = MethodType(call, self)  # type: ignore[method-assign]

    @property
    def gate(self) -> ToolGate:
        """The gate that it belongs to."""
        return self.runs.gate

    def __call__(self, state: Any) -> Any:
        """Run as a node."""
        return self.invoke(state)

    def _update(self, update: dict[str, Any] | None) -> dict[str, Any] | None:
        """An update of the state, with the messages where the graph has them."""
        if not update:
            return None
        key = self.runs.messages_key
        return {key if name == "messages" else name: value for name, value in update.items()}


class StartingNode(GateNode):
    """Closes what an earlier run left pending, and starts a run."""

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Start a run; as a node of the graph."""
        seen = self.runs.see(config or {}, starting=True)
        return self._update(run_steps(self._start(seen, asynchronous=False)))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """As `invoke`, for asynchronous runs."""
        seen = self.runs.see(config or {}, starting=True)
        return self._update(await arun_steps(self._start(seen, asynchronous=True)))

    def _start(self, seen: Seen, *, asynchronous: bool) -> Steps[dict[str, Any]]:
        update = yield from self.runs.begin(seen.state, seen.runtime, asynchronous=asynchronous)
        self.runs.siblings.forget(self.runs.thread_of(seen.runtime))
        return update


class AskingNode(GateNode):
    """Judges the model's last message as a whole, then asks about its calls one at a time.

    Args:
        runs: The graph's runs.
        schema: What the node reads.
        turns: Judges and asks.
    """

    def __init__(self, runs: GraphRuns, schema: Any, turns: GraphTurns) -> None:
        super().__init__(runs, schema)
        self._turns = turns

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Judge and ask; as a node of the graph."""
        seen = self._see(config)
        if self.runs.kept:
            run_steps(self.runs.forget_results(self.runs.run_of(seen.state, seen.runtime)))
        if self._turns.nothing_to_do(seen):
            return None

        def prepare() -> dict[str, Any]:
            return run_steps(self._turns.prepare_steps(seen))

        prepared = _once(prepare)().result()
        return self._update(run_steps(self._turns.ask_about(seen, prepared)))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """As `invoke`, for asynchronous runs."""
        seen = self._see(config)
        if self.runs.kept:
            await arun_steps(self.runs.forget_results(self.runs.run_of(seen.state, seen.runtime)))
        if self._turns.nothing_to_do(seen):
            return None

        async def prepare() -> dict[str, Any]:
            return await arun_steps(self._turns.prepare_steps(seen))

        prepared = await _once(prepare)()
        return self._update(await arun_steps(self._turns.ask_about(seen, prepared)))

    def _see(self, config: RunnableConfig | None) -> Seen:
        seen = self.runs.see(config or {})
        # The model spoke again, so it has had the results of the turn before.
        self.runs.siblings.forget(self.runs.thread_of(seen.runtime))
        return seen


def _once(prepare: Any) -> Any:
    """A step of a node that is not repeated with it.

    A node is run again from its start when it is resumed. What a task gave is saved before the question,
    and given back whenever the node is run again.
    """
    judging: Any = task(name="toolgate_judge")
    return judging(prepare)
