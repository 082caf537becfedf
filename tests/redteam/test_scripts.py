"""The referenced script: what a call names is held to what a person was shown of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool

from tests.support import Recorder, call, says
from toolgate_langchain import Tier, ToolGate, ToolProfile
from toolgate_langchain.testing import all_hosts
from toolgate_langchain.testing.hosts import Host, Setup

HOSTS = all_hosts()
NAMES = [f"{host.name}, {'async' if host.asynchronous else 'sync'}" for host in HOSTS]


def runs_scripts(ran: Recorder) -> BaseTool:
    """A tool that runs a file, and shows what stands in it."""

    def shows(arguments: Mapping[str, Any]) -> str:
        return Path(arguments["path"]).read_text()

    def run(path: str) -> str:
        ran.runs.append(("run", {"script": Path(path).read_text()}))
        return "ran it"

    async def arun(path: str) -> str:
        return run(path)

    profile = ToolProfile(tier=Tier.CONSEQUENTIAL, preview=shows)
    return StructuredTool.from_function(
        run, arun, name="run", description="Run a script.", metadata={"toolgate": profile}
    )


@pytest.mark.parametrize("changes", [False, True], ids=["as it was", "changed"])
@pytest.mark.parametrize("linked", [False, True], ids=["the script itself", "a link to it"])
@pytest.mark.parametrize("host", HOSTS, ids=NAMES)
def test_a_script_that_changed_while_its_call_was_pending_is_not_executed(
    host: Host, tmp_path: Path, changes: bool, linked: bool
) -> None:
    """Arguments, the referenced script, or a link's target changed while pending → not executed."""
    script, other, named = tmp_path / "a.sh", tmp_path / "b.sh", tmp_path / "named.sh"
    script.write_text("echo hello")
    other.write_text("rm -rf /")
    named.symlink_to(script)
    ran = Recorder()
    turn = says(call("run", "r", path=str(named if linked else script)))
    talk = host.start(Setup(gate=ToolGate(), script=[turn], tools=[runs_scripts(ran)], surface="chat"))
    talk.say("Run it")
    (request,) = talk.requests
    assert request.preview == "echo hello"
    if changes and linked:
        named.unlink()
        named.symlink_to(other)
    elif changes:
        script.write_text("rm -rf /")
    talk.answer({"type": "approve", "request_id": request.request_id})
    assert ran.runs == ([] if changes else [("run", {"script": "echo hello"})])
    (result,) = [one for one in talk.messages if one.type == "tool"]
    assert ("no longer the same" in result.text) is changes
