"""A turn as it is saved: plain JSON that comes back as it was, of a size that does not grow with the talk."""

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import Caller, RunConfiguration, Tier, ToolGate, ToolProfile, TrustZone, Verdict
from toolgate_langchain.approvals.preview import SavedPreview
from toolgate_langchain.approvals.turn import CallRecord, Run, TurnRecord, raw_digest
from toolgate_langchain.hosts.engine.run_state import CHANNELS, RULES, RUN, TURN, read_run, write_run
from toolgate_langchain.policy.context import RunContext

ASKED = ToolProfile(tier=Tier.ROUTINE)
UNASKED = ToolProfile(tier=Tier.READ_ONLY)
OK = AIMessage("ok")

BARE = CallRecord(
    call_id="c", name="deploy", raw="0", request_id="r", verdict=Verdict.ASK, code="approval_required", layer="surface",
    reason="why",
)  # fmt: skip
FULL = replace(
    BARE, verdict=Verdict.ALLOW, needs_person=True, must_ask=True, origin="server:a", fingerprint="f",
    tier=Tier.CONSEQUENTIAL, memory="arguments", arguments={"a": [1, 1.0, None, {"b": True}]}, shown="{}", exact=False,
    digest="d", predicate=False, heuristic="careful", heuristics_run=True, warnings=("w",), variant=True, at_cap=True,
    notes=("n", "m"), outcome="rejected", message="no", by="ann", allowed=("reject",), args_schema={"type": "object"},
    input_schema={"type": "object", "properties": {"x": {}}}, sensitive=True, preview=SavedPreview("it would", "d"),
)  # fmt: skip


def turn(*calls: CallRecord, settled: bool = False) -> TurnRecord:
    return TurnRecord(turn_id="t", run_id="run", message_id="m", calls=list(calls), settled=settled)


class TestJson:
    def test_every_field_of_the_full_record_is_not_its_default(self) -> None:
        """So that the round trip below says something about each of them."""
        same = {one.name for one in fields(CallRecord) if getattr(FULL, one.name) == getattr(BARE, one.name)}
        assert same == {"call_id", "name", "raw", "request_id", "code", "layer", "reason"}

    @pytest.mark.parametrize("record", [turn(), turn(BARE), turn(BARE, FULL, settled=True)])
    def test_a_turn_comes_back_from_json_text_as_it_was(self, record: TurnRecord) -> None:
        again = TurnRecord.from_json(json.loads(json.dumps(record.to_json())))
        assert again == record
        assert again is not None
        assert [one.facts for one in again.calls] == [one.facts for one in record.calls]

    def test_arguments_keep_the_kind_of_their_numbers(self) -> None:
        again = TurnRecord.from_json(json.loads(json.dumps(turn(FULL).to_json())))
        assert again is not None
        assert json.dumps(again.calls[0].arguments) == json.dumps(FULL.arguments)

    def test_defaults_are_left_out(self) -> None:
        """SQLite repeats every channel in every checkpoint."""
        assert set(turn(BARE).to_json()["calls"][0]) == {
            "call_id", "name", "raw", "request_id", "verdict", "code", "layer", "reason",
        }  # fmt: skip

    @pytest.mark.parametrize(
        "value",
        [
            None, {}, [], "turn", {"v": 1}, {**turn().to_json(), "v": 2}, {**turn().to_json(), "extra": 1},
            {**turn().to_json(), "calls": [{}]}, {**turn().to_json(), "calls": {}},
            {**turn().to_json(), "calls": [{**turn(BARE).to_json()["calls"][0], "verdict": "yes"}]},
            {**turn().to_json(), "calls": [{**turn(BARE).to_json()["calls"][0], "outcome": "allowed"}]},
        ],
    )  # fmt: skip
    def test_anything_else_is_no_turn(self, value: Any) -> None:
        """What cannot be read releases nothing."""
        assert TurnRecord.from_json(value) is None

    def test_one_call_of_a_long_turn_is_read_by_itself(self) -> None:
        """Whatever is wrong with the others does not matter to it."""
        saved = turn(replace(BARE, call_id="a"), FULL).to_json()
        saved["calls"] = [*saved["calls"], {"call_id": "b"}, "b"]
        assert TurnRecord.from_json(saved) is None
        one = TurnRecord.from_json(saved, only="c")
        assert one is not None and one.calls == [FULL]
        assert TurnRecord.from_json(saved, only="b") is None

    def test_only_an_approval_or_an_edit_is_a_release_by_a_person(self) -> None:
        outcomes: tuple[Any, ...] = ("", "released", "approved", "edited", "rejected", "responded", "refused")
        assert [one for one in outcomes if replace(BARE, outcome=one).person_released] == ["approved", "edited"]

    def test_a_run_comes_back_as_it_was(self) -> None:
        gate = ToolGate()
        configuration = RunConfiguration(groups={"mail"}, tools=["b", "a"])  # type: ignore[arg-type]
        context = RunContext(gate.surface("cli"), Caller("ann", admin=True), (configuration,), TrustZone.LOCAL)
        run = Run("id", context, "thread", ("delegate",))
        assert read_run(json.loads(json.dumps(write_run(run))), gate.surfaces, None, "thread") == run


class TestRawDigest:
    @pytest.mark.parametrize(
        "other", [{"n": 1.0}, {"n": "1"}, {"n": True}, {}, {"n": 1, "m": None}, {"n": float("nan")}]
    )
    def test_other_arguments_have_another_digest(self, other: dict[str, Any]) -> None:
        assert raw_digest({"name": "a", "args": {"n": 1}}) != raw_digest({"name": "a", "args": other})

    def test_another_name_has_another_digest(self) -> None:
        assert raw_digest({"name": "a", "args": {}}) != raw_digest({"name": "b", "args": {}})

    def test_the_order_of_keys_does_not_matter(self) -> None:
        one, two = {"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"d": 2, "c": 1}, "a": 1}
        assert raw_digest({"name": "a", "args": one}) == raw_digest({"name": "a", "args": two})

    def test_what_json_cannot_carry_has_a_digest_of_its_own(self) -> None:
        unreadable = {"name": "a", "args": {"n": float("inf")}}
        assert raw_digest(unreadable) == raw_digest(unreadable)
        assert raw_digest(unreadable) != raw_digest({"name": "a", "args": {"n": float("-inf")}})


# --- the channels ----------------------------------------------------------------------------------


def writes(talk: Chat) -> Iterator[tuple[str, Any]]:
    """Every write to the gate's channels that any checkpoint of the thread records, oldest first."""
    for saved in reversed(list(talk.agent.checkpointer.list(talk.config))):
        for _, channel, value in saved.pending_writes:
            if channel in CHANNELS:
                yield channel, value


def sizes(talk: Chat) -> dict[str, set[int]]:
    """How large each of the gate's channels was when it was written."""
    found: dict[str, set[int]] = {}
    for channel, value in writes(talk):
        found.setdefault(channel, set()).add(len(json.dumps(value)))
    return found


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


class TestChannels:
    """The gate's channels, serialised, stay constant over turns; unchanged ones are not written again."""

    def talk(self, *script: AIMessage, asynchronous: bool, **gate: Any) -> Chat:
        ran = Recorder()
        tools = [ran.tool("deploy", ASKED), ran.tool("list", UNASKED)]
        talk = chat(script, tools, gate=ToolGate(**gate), asynchronous=asynchronous)
        talk.agent = talk.agent.with_config(recursion_limit=1_000)
        return talk

    def test_turns_that_need_nobody_write_nothing(self, asynchronous: bool) -> None:
        talk = self.talk(*[says(call("list"), call("list", n=1)) for _ in range(20)], asynchronous=asynchronous)
        talk.say()
        assert [channel for channel, _ in writes(talk)] == [RUN]

    def test_a_turn_takes_the_place_of_the_last_one(self, asynchronous: bool) -> None:
        """Twenty turns that were auto-approved leave one of constant size, written once each."""
        script = [says(call("deploy", f"id{n:02}", n=n + 10)) for n in range(20)]
        talk = self.talk(*script, asynchronous=asynchronous, heuristics=[lambda _, __: True])
        talk.say()
        assert [channel for channel, _ in writes(talk)] == [RUN, *[TURN] * 20]
        assert len(sizes(talk)[TURN]) == 1

    def test_a_turn_that_is_asked_about_is_written_twice_however_often_it_is_replayed(self, asynchronous: bool) -> None:
        """Once when it is judged, once when it is settled; questions and bad answers in between write nothing."""
        script = [says(*[call("deploy", f"{t:02}-{n}", n=n) for n in range(3)]) for t in range(5)]
        talk = self.talk(*script, asynchronous=asynchronous)
        talk.say()
        for _ in range(5):
            talk.resume("nonsense")
            for _ in range(3):
                talk.answer("approve")
        assert talk.requests == []
        assert [channel for channel, _ in writes(talk)] == [RUN, *[TURN, TURN] * 5]
        judged = [len(json.dumps(value)) for channel, value in writes(talk) if channel == TURN]
        assert len(set(judged[0::2])) == len(set(judged[1::2])) == 1

    def test_rules_are_written_when_they_change_and_only_then(self, asynchronous: bool) -> None:
        """A rule that is used writes nothing, in its own run or a later one."""
        script = [says(call("deploy", n=1)), *[says(call("deploy", n=1))] * 10, OK, says(call("deploy", n=1)), OK]
        talk = self.talk(*script, asynchronous=asynchronous)
        talk.say()
        talk.answer("approve", remember="arguments")
        talk.say("a new run")
        assert talk.requests == []
        assert [channel for channel, _ in writes(talk)].count(RULES) == 1

    def test_a_rule_that_goes_to_the_ledger_writes_nothing(
        self, asynchronous: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("toolgate_langchain.hosts.engine.base_turns.MAX_RULES_IN_STATE", 1)
        talk = self.talk(says(call("deploy", n=1)), says(call("deploy", n=2)), asynchronous=asynchronous)
        talk.say()
        for _ in range(2):
            talk.answer("approve", remember="arguments")
        assert [channel for channel, _ in writes(talk)].count(RULES) == 1
        assert [rule.arguments for rule in talk.gate.ledger.thread_rules(talk.thread)] == [{"n": 2}]  # type: ignore[union-attr]

    def test_a_new_run_closes_the_last_turn_once(self, asynchronous: bool) -> None:
        """What is closed is not closed again: later runs that need nobody write only who they are."""
        talk = self.talk(
            says(call("deploy")), OK, says(call("list")), OK, says(call("list")), OK, asynchronous=asynchronous
        )
        talk.say()
        talk.answer("approve")
        before = len(list(writes(talk)))
        talk.say("second")
        talk.say("third")
        later = [channel for channel, _ in writes(talk)][before:]
        assert sorted(later) == sorted([RUN, TURN, RUN])
        assert talk.agent.get_state(talk.config).values[TURN] == {}
