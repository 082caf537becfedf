"""For every decision the record says who or what decided, on which exact call, what was shown, ran and came out."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.types import interrupt

from tests.ledger.record.reading import only, told
from tests.support import Clock, Recorder, call, chat, says
from toolgate_langchain import (
    Caller,
    SqlLedger,
    Surface,
    Tier,
    ToolCatalog,
    ToolGate,
    ToolProfile,
    Verdict,
    export_record,
    replay_record,
    tool_profile,
)
from toolgate_langchain.approvals.memory_record import RecordingInMemoryLedger
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.policy.arguments import ArgumentView, PolicyAnswer
from toolgate_langchain.policy.sensitive import MASK

READ = ToolProfile(tier=Tier.READ_ONLY)
NOTE = ToolProfile(tier=Tier.ROUTINE)
SEND = ToolProfile(tier=Tier.CONSEQUENTIAL)
BOTH = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])


def refuses_spam(view: ArgumentView) -> PolicyAnswer:
    spam = view.arguments.get("to") == "spam"
    return PolicyAnswer(Verdict.DENY if spam else Verdict.ALLOW, "the list of addresses")


def trusts_bob(called: Any, _: Any) -> bool:
    return bool(called["args"].get("to") == "bob")


class TestWhoDecided:
    @BOTH
    def test_a_person_with_identity_and_all_that_belongs_to_the_decision(
        self, ran: Recorder, sql: SqlLedger, asynchronous: bool
    ) -> None:
        gate = ToolGate(ledger=sql, clock=Clock())
        talk = chat(
            [says(call("send", "a", to="ann"))], [ran.tool("send", SEND)], gate=gate, asynchronous=asynchronous,
            caller=Caller("cleo"),
        )  # fmt: skip
        talk.say()
        request = talk.request
        judged = only(sql, "judged")
        assert judged["decision"]["verdict"] == "ask"
        assert judged["shown"]["text"] == request.description()
        assert judged["shown"]["remember"] == [offer.text for offer in request.remember]
        assert told(sql, "decided") == []
        talk.answer(by="dora")
        decided = only(sql, "decided")
        assert decided["by"] == {"kind": "person", "id": "dora", "answer": "approved"}
        assert decided["call"] == {
            "id": "a", "tool": "send", "tier": "consequential", "arguments": {"to": "ann"}, "digest": request.digest,
        }  # fmt: skip
        assert decided["where"]["surface"] == "chat" and decided["where"]["caller"] == "cleo"
        assert set(decided["where"]) == {"surface", "caller", "run", "turn"}
        ended = only(sql, "ended")
        assert ended["status"] == "finished"
        assert ended["result"] == {"digest": sha256(b"ran send").hexdigest(), "bytes": 8}
        events: Any = sql.events(request_id=request.request_id, thread_id="thread")
        kinds = [event.kind for event in events]
        assert kinds.index("answered") < kinds.index("decided") < kinds.index("ended")
        assert replay_record(export_record(sql)).differences == []

    def test_a_rule_with_its_id(self, ran: Recorder, ledger: RecordingInMemoryLedger) -> None:
        turns = [says(call("send", "a", to="ann")), says(call("send", "b", to="ann"))]
        talk = chat(turns, [ran.tool("send", SEND)], gate=ToolGate(ledger=ledger))
        talk.say()
        request = talk.request
        talk.answer(remember="arguments", by="dora")
        _, second = told(ledger, "decided")
        assert second["by"] == {"kind": "rule", "id": request.request_id, "made_by": "dora", "scope": "thread"}

    def test_a_heuristic_a_policy_the_configuration_and_the_memory_of_a_run(
        self, ran: Recorder, ledger: RecordingInMemoryLedger
    ) -> None:
        tools = [ran.tool("send", SEND), ran.tool("note", NOTE)]
        catalog = ToolCatalog.from_tools(tools)
        catalog.switch_tool("note", on=False)
        gate = ToolGate(catalog, ledger=ledger, heuristics=[trusts_bob], argument_policies=[refuses_spam])
        turns = [
            says(call("send", "a", to="bob")),
            says(call("send", "b", to="spam")),
            says(call("note", "c")),
            says(call("send", "d", to="eve")),
            says(call("send", "e", to="eve")),
        ]
        talk = chat(turns, tools, gate=gate)
        talk.say()
        talk.answer("reject", message="not her", by="dora")
        by = {one["call"]["id"]: one["by"] for one in told(ledger, "decided")}
        assert by == {
            "a": {"kind": "heuristic", "id": "trusts_bob"},
            "b": {"kind": "policy", "id": "refuses_spam"},
            "c": {"kind": "configuration", "id": "gates"},
            "d": {"kind": "person", "id": "dora", "answer": "rejected", "words": "not her"},
            "e": {"kind": "memory"},
        }
        given = {one["call"]["id"]: one["given"] for one in told(ledger, "decided") if "given" in one}
        assert given["b"]["policies"] == [["refuses_spam", "deny", "the list of addresses"]]
        assert given["c"]["tool"]["off"] is True
        assert given["e"]["memory"] == {"rejected": True, "rejections": 1, "auto_approved_turns": 1}
        assert replay_record(export_record(ledger)).differences == []

    def test_of_a_call_that_was_refused_with_its_turn_the_entry_of_its_judgement_says_it(
        self, ran: Recorder, ledger: RecordingInMemoryLedger
    ) -> None:
        gate = ToolGate(ledger=ledger, argument_policies=[refuses_spam])
        talk = chat(
            [says(call("send", "a", to="spam"), call("send", "b", to="ann"))], [ran.tool("send", SEND)], gate=gate
        )
        talk.say()
        talk.answer("reject")
        refused, asked = told(ledger, "judged")
        assert (refused["by"], "by" in asked) == ({"kind": "policy", "id": "refuses_spam"}, False)
        by = {one["call"]["id"]: one["by"]["kind"] for one in told(ledger, "decided")}
        assert by == {"a": "judgement", "b": "person"}


class TestWhichCalls:
    def test_a_call_that_is_only_read_writes_nothing_by_default(
        self, ran: Recorder, ledger: RecordingInMemoryLedger
    ) -> None:
        chat([says(call("read", "a"))], [ran.tool("read", READ)], gate=ToolGate(ledger=ledger)).say()
        assert (ran.names, list(ledger.events())) == (["read"], [])

    @BOTH
    def test_with_record_all_it_is_written_too(
        self, ran: Recorder, ledger: RecordingInMemoryLedger, asynchronous: bool
    ) -> None:
        gate = ToolGate(ledger=ledger, record="all")
        chat([says(call("read", "a"))], [ran.tool("read", READ)], gate=gate, asynchronous=asynchronous).say()
        assert only(ledger, "decided")["by"] == {"kind": "configuration", "id": "approval rule"}
        assert only(ledger, "ended")["status"] == "finished"

    @BOTH
    def test_an_idempotent_tool_that_changes_the_world_is_written_although_nobody_was_asked(
        self, ran: Recorder, ledger: RecordingInMemoryLedger, asynchronous: bool
    ) -> None:
        tool = ran.tool("sync", ToolProfile(tier=Tier.ROUTINE, idempotent=True))
        gate = ToolGate(None, [Surface("chat", routine=Verdict.ALLOW)], ledger=ledger)
        chat([says(call("sync", "a"))], [tool], gate=gate, asynchronous=asynchronous).say()
        assert only(ledger, "decided")["decision"]["code"] == "not_required"
        assert only(ledger, "ended")["call"]["id"] == "a"

    def test_what_came_out_is_kept_itself_only_if_asked(self, ran: Recorder, ledger: RecordingInMemoryLedger) -> None:
        gate = ToolGate(ledger=ledger, record="all", record_results=True)
        chat([says(call("read", "a"))], [ran.tool("read", READ)], gate=gate).say()
        assert only(ledger, "ended")["result"]["content"] == "ran read"

    def test_a_tool_that_raises_ends_as_failed_and_the_kind_of_its_error_is_kept(
        self, ledger: RecordingInMemoryLedger
    ) -> None:
        def send() -> str:
            """Send."""
            raise OSError("disk full")

        gate = ToolGate(None, [Surface("chat", unclassified=Verdict.ALLOW, consequential=Verdict.ALLOW)], ledger=ledger)
        talk = chat([says(call("send", "a"))], [send], gate=gate)  # type: ignore[list-item]
        with pytest.raises(OSError, match="disk full"):
            talk.say()
        ended = only(ledger, "ended")
        assert (ended["status"], ended["error"]) == ("failed", "OSError")
        assert "disk full" not in str(ended)

    @pytest.mark.parametrize(
        ("given", "said"),
        [({"record": "everything"}, "record is 'everything'"), ({"record_results": "no"}, "record_results is 'no'")],
    )
    def test_a_level_that_there_is_not_is_an_error(self, given: dict[str, Any], said: str) -> None:
        with pytest.raises(ConfigurationError, match=said):
            ToolGate(**given)


class TestPausesInside:
    @BOTH
    def test_a_call_that_pauses_inside_and_goes_on_is_decided_once_and_ended_as_it_ended(
        self, sql: SqlLedger, asynchronous: bool
    ) -> None:
        @tool_profile(tier=Tier.CONSEQUENTIAL)
        @tool
        def send(to: str) -> str:
            """Send something, when the tool's own question is answered."""
            return f"sent to {to}: {interrupt('really?')}"

        heard: list[str] = []
        gate = ToolGate(ledger=sql, on_decision=lambda outcome: heard.append(outcome.code))
        talk = chat([says(call("send", "a", to="ann"))], [send], gate=gate, asynchronous=asynchronous)
        talk.say()
        talk.answer()
        talk.resume("yes")
        assert talk.result("a") == "sent to ann: yes"
        assert (len(told(sql, "decided")), heard) == (1, ["approved"])
        assert [one["status"] for one in told(sql, "ended")] == ["paused", "finished"]
        assert replay_record(export_record(sql)).differences == []

    def test_a_tool_that_wants_to_pause_where_nobody_is_there_is_told_and_written_as_refused(
        self, ledger: RecordingInMemoryLedger
    ) -> None:
        @tool_profile(tier=Tier.READ_ONLY)
        @tool
        def look(at: str) -> str:
            """Look at something, and ask."""
            return str(interrupt("really?"))

        heard: list[tuple[Verdict, str]] = []
        gate = ToolGate(ledger=ledger, on_decision=lambda outcome: heard.append((outcome.verdict, outcome.code)))
        chat([says(call("look", "a", at="it"))], [look], gate=gate, surface="cron").say()
        assert heard == [(Verdict.ALLOW, "not_required"), (Verdict.DENY, "unattended")]
        # That it was let through is not in the record, as of any call that is only read.
        assert only(ledger, "decided")["decision"]["code"] == "unattended"


class TestSensitiveFields:
    SECRET = "hunter2-and-more"

    def test_they_are_masked_in_the_record_and_never_in_what_the_approver_sees(
        self, ran: Recorder, sql: SqlLedger
    ) -> None:
        profile = ToolProfile(tier=Tier.CONSEQUENTIAL, sensitive=frozenset({"diagnosis"}))
        arguments = {"to": "ann", "apiKey": self.SECRET, "more": [{"diagnosis": self.SECRET}]}
        gate = ToolGate(ledger=sql, describe=lambda called, _: f"with {called['args']}", record_results=True)
        talk = chat([says(call("send", "a", **arguments))], [ran.tool("send", profile)], gate=gate)
        talk.say()
        assert talk.request.arguments == arguments
        assert self.SECRET in talk.request.description()
        talk.answer()
        assert ran.runs == [("send", arguments)]
        text = "".join(export_record(sql))
        assert self.SECRET not in text
        masked = {"to": "ann", "apiKey": MASK, "more": [{"diagnosis": MASK}]}
        assert only(sql, "decided")["call"]["arguments"] == only(sql, "judged")["call"]["arguments"] == masked
        assert replay_record(export_record(sql)).differences == []

    def test_exact_arguments_that_hold_one_are_not_remembered(self, ran: Recorder) -> None:
        profile = ToolProfile(tier=Tier.ROUTINE)
        turns = [says(call("send", "a", token="x")), says(call("send", "b", author="x"))]
        talk = chat(turns, [ran.tool("send", profile)])
        talk.say()
        assert {offer.what for offer in talk.request.remember} == {"tool"}
        talk.answer("reject", remember="arguments")
        assert "remembering arguments (thread) is not offered" in talk.request.error
        talk.answer()
        assert {offer.what for offer in talk.request.remember} == {"arguments", "tool"}, "the control"

    def test_a_policy_s_reason_and_a_change_may_quote_them_and_are_masked_with_them(
        self, ran: Recorder, ledger: RecordingInMemoryLedger
    ) -> None:
        def quotes(view: ArgumentView) -> PolicyAnswer:
            return PolicyAnswer(Verdict.ASK, f"looked at {view.arguments}")

        gate = ToolGate(ledger=ledger, argument_policies=[quotes])
        note = ran.tool("note", ToolProfile(tier=Tier.READ_ONLY))
        talk = chat([says(call("note", "a", token=self.SECRET))], [note], gate=gate)
        talk.say()
        assert self.SECRET in talk.request.reason
        talk.answer()
        assert self.SECRET not in "".join(export_record(ledger))
        assert replay_record(export_record(ledger)).differences == []
