"""Everything that this package knows of LangGraph beyond its public names; of pauses, see `pauses`.

The dependency is capped below the next minor version because of these two modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableBranch, RunnableParallel, RunnableSequence, RunnableWithFallbacks
from langchain_core.runnables.base import RunnableBindingBase
from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.types import Command, Send

from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.engine.run_state import TURN
from toolgate_langchain.hosts.engine.superseding import LeftBehind

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Iterator

    from langgraph.prebuilt import ToolNode

__all__ = [
    "CHECKPOINTER",
    "INTERRUPT",
    "agent_name",
    "as_one_pause",
    "check_nothing_follows_the_model",
    "first_nodes_of",
    "has_checkpointer",
    "is_tool_nodes_own",
    "left_behind",
    "loop_of",
    "nodes_around",
    "nodes_of",
    "owners_of_nodes",
    "parts_of",
    "pauses_reach",
    "running_nodes",
    "state_of",
    "tool_wrappers",
    "written_by",
]

CHECKPOINTER: Final = "__pregel_checkpointer"
"""Where a running graph keeps its checkpointer in the configurable part of its config."""

INTERRUPT: Final = "__interrupt__"
"""Where a checkpoint keeps what a task waits for."""

_CALL_KEY: Final = "__pregel_call"
"""Where a running node finds the function that starts further tasks of its graph, bound to the graph's loop."""


def has_checkpointer() -> bool:
    """Whether the graph that runs now can keep a pending question."""
    configurable: dict[str, Any] = get_config().get("configurable", {})
    if configurable.get(CHECKPOINTER) in (None, False):
        return False
    # A graph compiled with checkpointer=False keeps nothing, but lends its parent's to its nodes.
    return getattr(loop_of(configurable), "checkpointer", True) is not None


def loop_of(configurable: Mapping[str, Any]) -> Any:
    """What drives the graph that runs now; `None` where it cannot be found."""
    schedule = getattr(configurable.get(_CALL_KEY), "keywords", {}).get("schedule_task")
    return getattr(schedule, "__self__", None)


def pauses_reach(config: Mapping[str, Any]) -> bool:
    """Whether the graph that runs now is a part of another task, so that its pause is that task's pause.

    Args:
        config: The config of the other task.
    """
    own, around = get_config().get("configurable", {}), config.get("configurable", {})
    inner, outer = _nodes_of(own), _nodes_of(around)
    same_thread = str(own.get("thread_id")) == str(around.get("thread_id"))
    return same_thread and bool(outer) and len(inner) > len(outer) and inner[: len(outer)] == outer


def nodes_around() -> tuple[str, ...]:
    """The nodes that the graph that runs now is in, from the root's on; none for the root itself."""
    return tuple(_nodes_of(get_config().get("configurable", {}))[:-1])


def _nodes_of(configurable: Mapping[str, Any]) -> list[str]:
    """The nodes on the way to a task, without the ids of tasks and the numbers of repeated calls."""
    parts = str(configurable.get("checkpoint_ns", "")).split("|")
    return [part.split(":")[0] for part in parts if part and not part.isdigit()]


def agent_name(config: Mapping[str, Any] | None = None) -> str:
    """The name of the agent that runs now, or of one whose config is given; empty where it has none."""
    metadata = (get_config() if config is None else config).get("metadata") or {}
    return str(metadata.get("lc_agent_name") or "")


def as_one_pause(pauses: Iterable[BaseException], error: BaseException | None) -> GraphInterrupt | None:
    """One pause in place of all that were noted in a call; `None` where it leaves with a pause already.

    Args:
        pauses: What was noted.
        error: What the call leaves with.
    """
    if isinstance(error, GraphInterrupt) or (error is not None and not isinstance(error, Exception)):
        return None
    interrupts = [one for pause in pauses if isinstance(pause, GraphInterrupt) for one in pause.args[0]]
    return GraphInterrupt(tuple({one.id: one for one in interrupts}.values()))


def left_behind(*, asynchronous: bool) -> LeftBehind | Awaitable[LeftBehind]:
    """Look up what the step before the input of this run left behind; called in the run's first node.

    LangGraph itself drops the results of tools that ran beside the one that waited when new input arrives.
    """
    configurable: dict[str, Any] = get_config().get("configurable", {})
    saver: Any = configurable.get(CHECKPOINTER)
    if not has_checkpointer():
        return LeftBehind()
    namespace = "|".join(str(configurable.get("checkpoint_ns", "")).split("|")[:-1])
    current = configurable.get("checkpoint_map", {}).get(namespace)
    where = {"configurable": {"thread_id": configurable["thread_id"], "checkpoint_ns": namespace}}
    # Newest first: the one that this node runs from, the one that holds the input (either may not be
    # written yet), and the one before them.
    if not asynchronous:
        return _interrupted_in(saver.list(where, limit=3), current)

    async def look() -> LeftBehind:
        return _interrupted_in([one async for one in saver.alist(where, limit=3)], current)

    return look()


def _interrupted_in(checkpoints: Iterable[Any], current: str | None) -> LeftBehind:
    for checkpoint in list(checkpoints):
        if checkpoint.checkpoint["id"] == current or checkpoint.metadata.get("source") == "input":
            continue
        writes = checkpoint.pending_writes or ()
        interrupted = any(channel == INTERRUPT for _, channel, _ in writes)
        # A run that ended has nothing left to do; one that crashed, or was killed, has.
        crashed = not interrupted and any(
            name.startswith(_EDGE_TO) or (name == _SENDS and value)
            for name, value in checkpoint.checkpoint["channel_values"].items()
        )
        # Whatever the graph calls its messages, what is a tool message is the result of a call.
        written = [value for _, _, value in writes]
        flat = [one for value in written for one in (value if isinstance(value, list) else [value])]
        results = {one.tool_call_id: one for one in flat if isinstance(one, ToolMessage)}
        turn = next((one for one in flat if _is_turn(one)), None)
        return LeftBehind(interrupted or crashed, results, turn, crashed)
    return LeftBehind()


def _is_turn(value: Any) -> bool:
    return isinstance(value, Mapping) and TURN in value


_TOOL_NODE_MODULE: Final = "langgraph.prebuilt.tool_node"
"""Where the function that runs a tool is defined; other middleware's is defined elsewhere."""


def is_tool_nodes_own(handler: object) -> bool:
    """Whether it is the tool node's own function that runs a tool, with no other middleware's in between."""
    return getattr(handler, "__module__", None) == _TOOL_NODE_MODULE


def running_nodes() -> Mapping[str, Any]:
    """The nodes of the graph that runs now, by name; none where it does not tell them."""
    schedule = getattr(get_config().get("configurable", {}).get(_CALL_KEY), "keywords", {}).get("schedule_task")
    nodes: Mapping[str, Any] = getattr(getattr(schedule, "__self__", None), "nodes", None) or {}
    return nodes


_INPUT_CHANNEL: Final = "__start__"
"""The channel that takes the graph's input."""
_READ_KEY: Final = "__pregel_read"
"""Where a running node finds the function that reads the graph's channels, bound to them."""
_SENDS: Final = "__pregel_tasks"
"""The channel that holds what was sent to nodes and not done yet."""
_EDGE_TO: Final = "branch:to:"
"""The start of the name of the channel through which a node is reached."""


def check_nothing_follows_the_model(own: str) -> None:
    """Refuse to run where another hook stands between the model and its tools, or at the agent's end.

    A turn that has to be asked about takes a way out of the loop that only the next step can see.

    Args:
        own: The name of the node that asks.

    Raises:
        ConfigurationError: Naming the other hook; also where the graph cannot be read.
    """
    read: Any = get_config().get("configurable", {}).get(_READ_KEY)
    channels = next((one for one in getattr(read, "args", ()) if isinstance(one, Mapping) and "messages" in one), None)
    if channels is None:
        raise ConfigurationError("this version of LangGraph does not tell the nodes of a graph; use ToolGateMiddleware")
    nodes = [name.removeprefix(_EDGE_TO) for name in channels if name.startswith(_EDGE_TO)]
    others = [name for name in nodes if name.endswith((".after_model", ".after_agent")) and name != own]
    if others:
        raise ConfigurationError(
            f"{', '.join(others)} would come between the model and the question of what gate.around([...]) made; "
            "give that middleware to gate.around([...]) as one of the others, or use ToolGateMiddleware(gate, ...) "
            "as the last one of the list"
        )


def state_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """All of a running graph's state as this step found it, also what its node is not given.

    Args:
        config: The config of the running node.

    Raises:
        ConfigurationError: If no graph runs, or it cannot be read.
    """
    read: Any = config.get("configurable", {}).get(_READ_KEY)
    channels = next((one for one in getattr(read, "args", ()) if isinstance(one, Mapping)), None)
    if channels is None:
        raise ConfigurationError("there is no running graph whose state could be read here; call it from a node")
    # LangGraph's own channels have names with a colon, or begin with two underscores.
    names = [name for name in channels if ":" not in name and not name.startswith("__")]
    return {**dict.fromkeys(names), **read(names)}


def nodes_of(graph: Any) -> dict[str, Any]:
    """What runs in each node of a compiled graph, by the node's name.

    Raises:
        ConfigurationError: If it is no compiled graph.
    """
    nodes = getattr(getattr(graph, "builder", None), "nodes", None)
    if nodes is None:
        raise ConfigurationError(f"{graph!r} is not a compiled StateGraph")
    return {name: node.runnable for name, node in nodes.items()}


def parts_of(runnable: Any) -> Iterator[Any]:
    """A runnable and all that it is composed of: a retry, a config or a fallback around it hides nothing."""
    waiting, seen = [runnable], set[int]()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, RunnableBindingBase):
            waiting.append(part.bound)
        elif isinstance(part, RunnableSequence):
            waiting += part.steps
        elif isinstance(part, RunnableParallel):
            waiting += part.steps__.values()
        elif isinstance(part, RunnableWithFallbacks):
            waiting += part.runnables
        elif isinstance(part, RunnableBranch):
            waiting += [part.default, *(one for branch in part.branches for one in branch)]


def first_nodes_of(graph: Any) -> set[str]:
    """The nodes of a compiled graph that its input can lead to."""
    return {edge.target for edge in graph.get_graph().edges if edge.source == _INPUT_CHANNEL}


def tool_wrappers(node: ToolNode) -> tuple[Any, Any]:
    """The functions that a tool node puts around each call: the synchronous and the asynchronous one."""
    return node._wrap_tool_call, node._awrap_tool_call


def written_by(command: Command[Any]) -> set[str]:
    """The channels that a command writes, and the keys of what it sends to other nodes as their input."""
    # LangGraph takes more than mappings for an update: pairs, dataclasses and models as well.
    written = {key for key, _ in command._update_as_tuples()}
    goto = command.goto if isinstance(command.goto, list | tuple) else (command.goto,)
    return written.union(*(_keys(one.arg) for one in goto if isinstance(one, Send)))


def _keys(value: Any) -> set[str]:
    """The keys of a node's input, and of a state that travels inside of it."""
    if isinstance(value, Mapping):
        return {str(key) for key in value}.union(*(_keys(one) for one in value.values() if isinstance(one, Mapping)))
    return set(getattr(value, "__dict__", ()))


def owners_of_nodes(graph: Any) -> list[object]:
    """The objects whose methods are nodes of a compiled graph, as a middleware's hooks are, or that are nodes."""
    nodes = getattr(getattr(graph, "builder", None), "nodes", None) or {}
    runnables = [node.runnable for node in nodes.values()]
    # Not `getattr` on the runnable: some of LangChain's make up attributes, and fail while they do.
    owners = [getattr(vars(runnable).get("func"), "__self__", None) for runnable in runnables]
    return [runnable if owner is None else owner for runnable, owner in zip(runnables, owners, strict=True)]
