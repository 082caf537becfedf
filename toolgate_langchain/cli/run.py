"""`toolgate run`: somebody's own agent, driven until it is done."""

from __future__ import annotations

import asyncio
import sys
import traceback
import uuid
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage, HumanMessage

from toolgate_langchain.cli.loading import load_agent
from toolgate_langchain.cli.show import Stage
from toolgate_langchain.errors import MissingCheckpointerError
from toolgate_langchain.hosts.inside.observing import gates_of, observe
from toolgate_langchain.hosts.langgraph.driving import adrive, drive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolgate_langchain.hosts.langgraph.driving import DriveResult

__all__ = ["run_agent"]


def run_agent(
    name: str, prompt: str, answers: Sequence[str] | None, *, asynchronous: bool, by: str | None = None
) -> int:
    """Run an agent on a fresh thread and return the exit code.

    Args:
        name: `MODULE:AGENT`.
        prompt: What to say to it.
        answers: The words that stand in for a person.
        asynchronous: Whether to use the agent's asynchronous side.
        by: Who answers, for the record.

    Raises:
        ConfigurationError: If there is no such agent, if it has no checkpointer and needs one, or
            for an answer that is none.
        MissingExtraError: If a library of the extra `cli` is not installed.
    """
    stage = Stage(answers, by)
    agent = load_agent(name)
    gates = gates_of(agent)
    for gate in gates:
        observe(gate, stage.observe)
    if not gates:
        sys.stderr.write(f"toolgate: {name} has no ToolGateMiddleware; its tool calls are not gated\n")
    stage.user(prompt)
    try:
        done = _drive(agent, prompt, stage, asynchronous=asynchronous)
    except MissingCheckpointerError:
        raise
    except Exception as error:
        traceback.print_exception(error)
        stage.error(f"The run failed: {type(error).__name__}: {error}")
        code = 1
    else:
        code = _ended(stage, done)
    if gates:
        stage.summary()
    if stage.nobody_there:
        stage.error("Nobody was there to answer, so what needed a person was refused: use a terminal, or --answers.")
        code = 1
    return code


def _drive(agent: Any, prompt: str, stage: Stage, *, asynchronous: bool) -> DriveResult:
    said = {"messages": [HumanMessage(prompt)]}
    config = {"configurable": {"thread_id": uuid.uuid4().hex}}
    if asynchronous:
        return asyncio.run(adrive(agent, said, config, approver=stage.approve))
    return drive(agent, said, config, approver=stage.approve)


def _ended(stage: Stage, done: DriveResult) -> int:
    if not done.done:
        waits = "; ".join(repr(one.value) for one in done.foreign)
        stage.error(f"The agent waits for something that is no approval, so it cannot go on here: {waits}")
        return 1
    messages = done.output.get("messages") if isinstance(done.output, dict) else None
    last = messages[-1] if messages else None
    stage.agent(str(last.text) if isinstance(last, BaseMessage) else repr(done.output))
    return 0
