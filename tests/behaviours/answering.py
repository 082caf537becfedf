"""Answering a chat's requests: through the gate, and as plain JSON."""

import asyncio
from typing import Any

from tests.support import Chat
from toolgate_langchain.hosts.langgraph.driving import AnswerResult


def give(talk: Chat, answer: dict[str, Any]) -> AnswerResult:
    """Answer through the gate, synchronously or not."""
    if not talk.asynchronous:
        return talk.gate.answer(talk.agent, talk.config, answer)

    async def giving() -> AnswerResult:
        return await talk.gate.aanswer(talk.agent, talk.config, answer)

    return asyncio.run(giving())


def approve(request_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "approve", "request_id": request_id, **more}


def reject(request_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "reject", "request_id": request_id, **more}
