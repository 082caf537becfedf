"""The demo's agent: real file tools on a folder, a real model's words, and the gate between them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver

from toolgate_langchain.catalog.profile import tool_profile
from toolgate_langchain.hosts.langgraph.driving import drive
from toolgate_langchain.hosts.langgraph.middleware import ToolGateMiddleware
from toolgate_langchain.vocabulary import Tier

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from toolgate_langchain.approvals.approver import Approver
    from toolgate_langchain.hosts.gate import ToolGate

__all__ = ["CASSETTE", "TURNS", "demo_agent", "file_tools", "prepare_folder", "say"]

CASSETTE: Final = "demo"
"""The name of the demo's cassette."""

TURNS: Final = (
    "List the files in the folder.",
    "Read report.txt.",
    "Write the sentence 'Revenue rose by 4 percent.' to summary.txt.",
    "Delete draft.txt.",
    "Write the sentence 'Revenue rose by 4 percent.' to summary.txt.",
    "Delete todo.txt.",
)
"""What the user says. The fifth asks for exactly the call that the third made."""

_FILES: Final = {
    "draft.txt": "Revenue may have risen. Check the figures.\n",
    "report.txt": "Revenue rose by 4 percent. Costs stayed flat.\n",
    "todo.txt": "Send the report to Ann.\n",
}


def prepare_folder(folder: Path) -> None:
    """Put the demo's files into an empty folder."""
    for name, text in _FILES.items():
        (folder / name).write_text(text, encoding="utf-8")


def file_tools(folder: Path) -> list[BaseTool]:
    """Tools on the files of one folder. Their results hold no path, so that they can be recorded.

    Args:
        folder: The folder; no file outside of it can be reached.
    """

    def inside(name: str) -> Path:
        if name in ("", ".", "..") or Path(name).name != name:
            raise ValueError(f"{name!r} is not the name of a file in the folder")
        return folder / name

    @tool_profile(tier=Tier.READ_ONLY)
    @tool
    def list_files() -> str:
        """List the names of the files in the folder."""
        return "\n".join(sorted(path.name for path in folder.iterdir())) or "The folder is empty."

    @tool_profile(tier=Tier.READ_ONLY)
    @tool
    def read_file(name: str) -> str:
        """Read a file of the folder."""
        path = inside(name)
        return path.read_text(encoding="utf-8") if path.is_file() else f"There is no file {name}."

    @tool_profile(tier=Tier.ROUTINE, reason="writes a file of the folder, which can be written again")
    @tool
    def write_file(name: str, text: str) -> str:
        """Write text to a file of the folder."""
        inside(name).write_text(text, encoding="utf-8")
        return f"Wrote {len(text)} characters to {name}."

    @tool_profile(tier=Tier.CONSEQUENTIAL, reason="a deleted file cannot be brought back")
    @tool
    def delete_file(name: str) -> str:
        """Delete a file of the folder."""
        path = inside(name)
        if not path.is_file():
            return f"There is no file {name}."
        path.unlink()
        return f"Deleted {name}."

    return [list_files, read_file, write_file, delete_file]


def demo_agent(model: BaseChatModel, folder: Path, gate: ToolGate) -> Any:
    """The demo's agent, behind a gate.

    Args:
        model: The model that speaks.
        folder: The folder that its tools work on.
        gate: The gate.
    """
    return create_agent(
        model,
        file_tools(folder),
        middleware=[ToolGateMiddleware(gate, surface="cli")],
        checkpointer=InMemorySaver(),
    )


def say(agent: Any, text: str, approver: Approver) -> str:
    """Say one thing to the demo's agent, and return what it answers when it is done.

    Args:
        agent: The demo's agent.
        text: What the user says.
        approver: Answers what the gate asks.
    """
    done = drive(agent, {"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "demo"}}, approver=approver)
    return str(done.output["messages"][-1].text)
