"""A turn of the model in a hand-written graph, where the message is in the state before the gate sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage

from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.engine.calls import answered_after, in_order, last_ai_message, with_refused_invalid_calls
from toolgate_langchain.hosts.engine.run_state import TURN
from toolgate_langchain.hosts.engine.unseen import tell_refused_early, tell_unreadable
from toolgate_langchain.hosts.langgraph.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from langchain_core.messages import ToolCall

    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.hosts.graphs.state import Seen

__all__ = ["GraphTurns"]


class GraphTurns(Turns):
    """Judges and asks for one graph.

    Args:
        runs: The graph's runs.
    """

    # Between the model's node and the gate's there is a checkpoint to which a replay can go back.
    derived_ids = True

    def nothing_to_do(self, seen: Seen) -> bool:
        """Whether the last turn makes no calls, or only readable ones that nobody can have to be asked about."""
        state = seen.state
        messages = state["messages"]
        message = last_ai_message(messages)
        if message is None:
            return True
        if not message.tool_calls:
            return not message.invalid_tool_calls or messages[-1] is not message
        if not in_order(message, _without(messages, message)):
            return False
        return self._nobody_is_asked(message.tool_calls, self._runs.run_of(state, seen.runtime))

    def prepare_steps(self, seen: Seen) -> Steps[dict[str, Any]]:
        """Make the last turn readable and judge it as a whole.

        What this gives is saved before anybody is asked, so that it is done once.

        Args:
            seen: The graph's state.

        Returns:
            The update of the state, with its messages under `messages`.

        Raises:
            ConfigurationError: If the model's message has no id.
        """
        state = seen.state
        message = last_ai_message(state["messages"])
        if message is None:
            return {}
        if not message.id:
            raise ConfigurationError(
                "the model's message has no id, so nothing can be bound to it; give the messages of the state the "
                "reducer add_messages"
            )
        messages: Sequence[BaseMessage] = state["messages"]
        if state.get(TURN) and state[TURN].get("message_id") == message.id:
            return {}
        made = self._made_readable(message, _without(messages, message))
        read = made[0]
        assert isinstance(read, AIMessage)
        if read.invalid_tool_calls:
            yield from tell_unreadable(self._gate, self._runs.run_of(state, seen.runtime), read)
        answered = answered_after(messages, message)
        calls = [call for call in read.tool_calls if call["id"] not in answered]
        update = yield from self._judged(seen, read, calls, _without(messages, message))
        if told := [*(made if read is not message else made[1:]), *update.get("messages", ())]:
            update["messages"] = told
        return update

    def _made_readable(self, message: AIMessage, before: Sequence[BaseMessage]) -> list[BaseMessage]:
        if message.invalid_tool_calls and not message.tool_calls:
            return with_refused_invalid_calls(message)
        made = self._readable_message(message, before)
        read = made[0]
        if isinstance(read, AIMessage) and read.invalid_tool_calls and not read.tool_calls:
            return with_refused_invalid_calls(read)
        return made

    def _judged(
        self, seen: Seen, message: AIMessage, calls: Sequence[ToolCall], before: Sequence[BaseMessage]
    ) -> Steps[dict[str, Any]]:
        run = self._runs.run_of(seen.state, seen.runtime)
        if self._judged_where_they_run(self._entries(calls), run):
            return {}
        turn = yield from self._judge_calls(run, message, calls, seen.state, before)
        if turn is None:
            return {}
        refusals = self._refused_early(turn, ())
        yield from tell_refused_early(self._gate, run, message, turn, refusals)
        return {TURN: turn.to_json(), **({"messages": refusals} if refusals else {})}

    def ask_about(self, seen: Seen, prepared: Mapping[str, Any]) -> Steps[dict[str, Any]]:
        """Ask about what was prepared, one call at a time.

        Args:
            seen: The graph's state.
            prepared: What `prepare_steps` gave.

        Returns:
            The whole update of the state, with its messages under `messages`.
        """
        told = prepared.get("messages", ())
        replaced = {one.id for one in told}
        messages = [one for one in seen.state["messages"] if one.id not in replaced]
        asked = yield from self.ask_steps({**seen.state, **prepared, "messages": [*messages, *told]}, seen.runtime)
        update = {**prepared, **(asked or {})}
        if said := [*prepared.get("messages", ()), *(asked or {}).get("messages", ())]:
            update["messages"] = said
        return update


def _without(messages: Sequence[BaseMessage], message: BaseMessage) -> list[BaseMessage]:
    return [one for one in messages if one is not message]
