"""A GatedAgent after a crash between the start of a call and its end: the session waits for what a person knows."""

from typing import Any

import pytest

from tests.durable.test_unknown_outcomes import Dies, dies
from tests.durable.workers import LEASE, Worksite, before_first
from tests.support import call, says
from toolgate_langchain import ApprovalSession, GatedAgent, ToolGate
from toolgate_langchain.errors import AlreadyAnsweredError
from toolgate_langchain.testing import ScriptedModel


def agent(site: Worksite, *turns: Any, ledger: Any = None, **options: Any) -> GatedAgent:
    gate = ToolGate(ledger=ledger or site.ledger(), clock=site.clock)
    return GatedAgent(ScriptedModel(script=list(turns)), site.tools(), gate, **options)


def crashed(site: Worksite) -> tuple[GatedAgent, ApprovalSession]:
    """An agent that died when its call had run and nothing of that was recorded; another one takes over."""
    first = agent(site, says(call("send", "s", n=1)), ledger=site.ledger(before_first("end", dies)))
    output = first.invoke("go")
    assert output["request"] is not None
    answer = {"type": "approve", "request_id": output["request"].request_id}
    with pytest.raises(Dies):
        first.resume(output["session"], answer)
    second = agent(site)
    with pytest.raises(AlreadyAnsweredError, match="may still be at it"):
        second.resume(output["session"])
    site.clock.forward(seconds=LEASE.total_seconds())
    return second, second.resume(output["session"])["session"]


@pytest.mark.parametrize(
    ("kind", "runs", "told"),
    [
        ("done", 1, "was carried out"),
        ("failed", 1, "failed"),
        ("try_again", 2, "ran send"),
        ("reject", 1, "outcome is unknown"),
    ],
)
def test_each_answer_counts_and_nothing_is_repeated_that_nobody_wants_repeated(
    small_site: Worksite, kind: str, runs: int, told: str
) -> None:
    second, session = crashed(small_site)
    request = session.request
    assert request is not None and (request.kind, small_site.ran.names) == ("outcome", ["send"])
    # In another process, from its JSON form.
    session = ApprovalSession.from_json(session.to_json())
    output = second.resume(session, {"type": kind, "request_id": request.request_id})
    assert len(small_site.ran.runs) == runs
    (result,) = [one for one in output["messages"] if one.type == "tool"]
    assert told in result.text
    assert output["answer"] is not None and (output["answer"].status, output["request"]) == ("accepted", None)


def test_an_approval_does_not_count_and_the_question_is_asked_again(small_site: Worksite) -> None:
    second, session = crashed(small_site)
    assert session.request is not None
    output = second.resume(session, {"type": "approve", "request_id": session.request.request_id})
    assert output["answer"] is not None and output["answer"].status == "asked_again"
    assert small_site.ran.names == ["send"]


def test_a_result_that_was_recorded_is_the_result_of_an_older_session_until_the_turn_is_over(
    small_site: Worksite,
) -> None:
    kept: list[Any] = []

    def keep(session: ApprovalSession) -> None:
        if any(one.type == "tool" for one in session.messages):
            raise Dies
        kept.append(session.to_json())

    first = agent(small_site, says(call("save", "v", n=1), call("send", "s", n=1)), keep=keep)
    output = first.invoke("go")
    assert output["request"] is not None
    first.resume(output["session"], {"type": "approve", "request_id": output["request"].request_id})
    request = ApprovalSession.from_json(kept[-1]).request
    assert request is not None
    with pytest.raises(Dies):
        first.resume(kept[-1], {"type": "approve", "request_id": request.request_id})
    output = agent(small_site).resume(kept[-1])
    assert sorted(small_site.ran.names) == ["save", "send"]
    assert [one.text for one in output["messages"] if one.type == "tool"] == ["ran save", "ran send"]
