"""`toolgate demo`: an agent with real file tools, a real model's words, and a person in between."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.cli.show import Stage
from toolgate_langchain.hosts.gate import ToolGate
from toolgate_langchain.ui.cassettes import RECORDED_MODEL, cassette, chat_model, is_unrecorded, replay
from toolgate_langchain.ui.demo import CASSETTE, TURNS, demo_agent, prepare_folder, say

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

__all__ = ["run_demo"]

_NOT_RECORDED: Final = (
    "The model's reply to that answer was not recorded (recorded are yes, no without a reason, and the answers that "
    "are remembered); to go on from here, run it live: toolgate demo --base-url URL --model NAME"
)


def run_demo(base_url: str | None, model: str | None, answers: Sequence[str] | None, *, api_key: str | None) -> int:
    """Run the demo and return its exit code.

    Args:
        base_url: An OpenAI-compatible address, or `None` for the recorded replies.
        model: The model's name there.
        answers: The words that stand in for a person.
        api_key: The key for the address.

    Raises:
        ConfigurationError: For an answer that is none, or if the cassette is missing.
        MissingExtraError: If a library of the extra `demo` is not installed.
    """
    stage = Stage(answers)
    name = model or RECORDED_MODEL
    replies: AbstractContextManager[None] = nullcontext()
    if base_url is None:
        chat, replies = chat_model(), replay(cassette(CASSETTE))
        stage.note(f"An agent works on three files in a fresh folder. Its words are recorded from {name}.")
    else:
        chat = chat_model(base_url, name, api_key=api_key or "not-needed")
        stage.note(f"An agent works on three files in a fresh folder. {name} speaks, at {base_url}.")
    with replies, tempfile.TemporaryDirectory(prefix="toolgate-demo-") as path:
        folder = Path(path)
        prepare_folder(folder)
        agent = demo_agent(chat, folder, ToolGate(on_decision=stage.observe))
        fault = _talk(agent, stage)
        if fault is not None:
            if base_url is None and not is_unrecorded(fault):
                raise fault
            stage.error(_NOT_RECORDED if base_url is None else f"The model gave no reply: {fault}")
        stage.summary()
        stage.note(f"In the folder now: {', '.join(sorted(file.name for file in folder.iterdir())) or 'nothing'}")
    return 0 if fault is None else 1


def _talk(agent: Any, stage: Stage) -> Exception | None:
    """Say every turn of the user, and give back what ended it too early."""
    try:
        for text in TURNS:
            stage.user(text)
            stage.agent(say(agent, text, stage.approve))
    except Exception as error:
        return error
    return None
