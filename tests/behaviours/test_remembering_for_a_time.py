"""How long "don't ask again" counts where it is given for a time."""

from datetime import timedelta

from langchain_core.messages import AIMessage

from tests.support import Clock, Recorder, call, chat, says
from toolgate_langchain import Tier, ToolGate, ToolProfile

ROUTINE = ToolProfile(tier=Tier.ROUTINE)
CONSEQUENTIAL = ToolProfile(tier=Tier.CONSEQUENTIAL)
OK = AIMessage("ok")


class TestHowLongAMemoryCounts:
    """An answer is kept with its time, when it is first consumed, and not when the turn's last one is."""

    def test_expires_in_counts_from_the_answer_also_where_the_turn_waits_on(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        clock = Clock()
        talk = chat(
            [says(call("save", n=1), call("save", n=2)), OK, says(call("save", "late", n=1))],
            [ran.tool("save", ROUTINE)],
            gate=ToolGate(clock=clock),
            asynchronous=asynchronous,
        )
        talk.say()
        said_at = clock.now
        talk.answer("approve", remember={"what": "arguments", "expires_in": 3600})
        clock.forward(minutes=59)
        talk.answer("reject")
        assert [(rule.created_at, rule.expires_at) for rule in talk.rules] == [(said_at, said_at + timedelta(hours=1))]
        clock.forward(minutes=1)
        talk.say("an hour after the answer")
        assert talk.request.tool_call_id == "late"
        assert any("expired" in note for note in talk.request.notes)

    def test_before_that_it_holds(self, ran: Recorder, asynchronous: bool) -> None:
        """The positive control."""
        clock = Clock()
        talk = chat(
            [says(call("save", n=1), call("send")), OK, says(call("save", n=1))],
            [ran.tool("save", ROUTINE), ran.tool("send", CONSEQUENTIAL)],
            gate=ToolGate(clock=clock),
            asynchronous=asynchronous,
        )
        talk.say()
        talk.answer("approve", remember={"what": "arguments", "expires_in": 3600})
        clock.forward(minutes=59)
        talk.answer("reject")
        talk.say("in time")
        assert (talk.requests, ran.count("save")) == ([], 2)

    def test_what_it_cleared_in_its_turn_is_not_asked_in_a_replay_and_does_not_run_once_it_is_over(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        """The queue depends on saved verdicts and recorded answers alone; today's time decides where calls run."""
        clock = Clock()
        turn = says(call("save", "a", n=1), call("save", "same", n=1), call("save", "c", n=2))
        talk = chat([turn], [ran.tool("save", ROUTINE)], gate=ToolGate(clock=clock), asynchronous=asynchronous)
        talk.say()
        talk.answer("approve", remember={"what": "arguments", "expires_in": 60})
        assert talk.request.tool_call_id == "c"
        clock.forward(hours=2)
        talk.answer("approve")
        assert talk.requests == []
        assert sorted(arguments["n"] for _, arguments in ran.runs) == [1, 2]
        assert "no longer the same" in talk.result("same")
