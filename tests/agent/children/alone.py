"""A `GatedAgent` where neither langchain nor langgraph can be imported, as in an environment without the extra.

Reads nothing; prints as JSON what was asked, what ran, and what naming a host of the extra gives.
"""

import importlib.abc
import json
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MISSING = {"langchain", "langgraph"}


class Missing(importlib.abc.MetaPathFinder):
    """Finds none of the packages that the extra brings."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


sys.meta_path.insert(0, Missing())

from langchain_core.messages import AIMessage, ToolCall  # noqa: E402  # only what is imported now meets the finder
from langchain_core.runnables import RunnableLambda  # noqa: E402
from langchain_core.tools import tool  # noqa: E402

import toolgate_langchain  # noqa: E402
from toolgate_langchain import GatedAgent, Tier, tool_profile  # noqa: E402

ran: list[str] = []


@tool_profile(tier=Tier.CONSEQUENTIAL)
@tool
def deploy(to: str) -> str:
    """Deploy."""
    ran.append(to)
    return f"deployed to {to}"


def speak(messages: list[Any]) -> AIMessage:
    if messages[-1].type == "tool":
        return AIMessage("done")
    return AIMessage("", tool_calls=[ToolCall(name="deploy", args={"to": "x"}, id="a")])


def named(name: str) -> list[Any]:
    """What naming a host gives: the kind of error, whether it is an ImportError, and its words."""
    try:
        getattr(toolgate_langchain, name)
    except Exception as error:
        return [type(error).__name__, isinstance(error, ImportError), str(error)]
    return []


agent = GatedAgent(RunnableLambda(speak), [deploy])
asked = agent.invoke("go")
assert asked["request"] is not None
output = agent.resume(asked["session"], {"type": "approve", "request_id": asked["request"].request_id})
print(  # noqa: T201  # the parent reads it
    json.dumps(
        {
            "asked": asked["request"].tool_name,
            "ran": ran,
            "last": output["messages"][-1].text,
            "done": output["request"] is None,
            "middleware": named("ToolGateMiddleware"),
            "drive": named("drive"),
            "loaded": sorted(MISSING & {module.partition(".")[0] for module in sys.modules}),
        }
    )
)
