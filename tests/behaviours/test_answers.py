"""Answers: what is pending, what counts as a yes, and what happens to an answer that comes twice, late or wrong."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from tests.behaviours.answering import approve, give, reject
from tests.cores import every_core
from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import Tier, ToolGate, ToolProfile
from toolgate_langchain.errors import AlreadyAnsweredError
from toolgate_langchain.hosts.langgraph.driving import AnswerResult

ROUTINE = ToolProfile(tier=Tier.ROUTINE)
CONSEQUENTIAL = ToolProfile(tier=Tier.CONSEQUENTIAL)


class TestAnUnknownRequestIdOrOneFromAnotherThreadSurfaceOrTurn:
    """Unknown request id, or an id from another thread, surface or turn: refused, named as not pending."""

    def test_an_unknown_id_is_refused_as_not_pending_and_the_pending_one_stays(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(says(call("send")))
        pending = talk.request.request_id
        given = give(talk, approve("0" * 32))
        assert (given.status, ran.runs) == ("not_pending", [])
        assert "0" * 32 in given.detail
        assert talk.request.request_id == pending

    def test_through_a_bare_resume_too_and_it_is_named_in_the_request(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(says(call("send", "s")))
        pending = talk.request.request_id
        for _ in range(5):
            talk.resume(approve("unknown"))
        assert "Request unknown is not pending" in talk.request.error
        assert (talk.request.request_id, ran.runs) == (pending, [])
        talk.answer("approve")
        assert ran.count("send") == 1

    def test_an_id_from_another_thread_changes_nothing_on_either(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        ours = start(says(call("send", "s")), says(call("send", "s")))
        theirs = Chat(ours.agent, ours.model, ours.gate, "theirs", ours.asynchronous)
        theirs.say()
        our_id, their_id = ours.request.request_id, theirs.request.request_id
        assert give(ours, approve(their_id)).status == "not_pending"
        ours.resume(approve(their_id))
        assert ran.runs == []
        assert (ours.request.request_id, theirs.request.request_id) == (our_id, their_id)

    def test_a_rejection_sent_to_another_thread_takes_no_approval_back(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(says(call("send", "a", n=1), call("send", "b", n=2)))
        first = talk.request.request_id
        give(talk, approve(first))
        elsewhere = Chat(talk.agent, talk.model, talk.gate, "elsewhere", talk.asynchronous)
        assert give(elsewhere, reject(first)).status == "not_pending"
        talk.answer("approve")
        assert sorted(ran.runs, key=str) == [("send", {"n": 1}), ("send", {"n": 2})]

    def test_an_id_from_another_surface_is_not_pending(self, ran: Recorder, asynchronous: bool) -> None:
        saver, gate = InMemorySaver(), ToolGate()
        tools = [ran.tool("send", CONSEQUENTIAL)]
        talks = [
            chat([says(call("send", "s"))], tools, gate=gate, checkpointer=saver, thread=name, surface=name,
                 asynchronous=asynchronous)
            for name in ("chat", "cli")
        ]  # fmt: skip
        for talk in talks:
            talk.say()
        on_chat, on_cli = talks
        assert give(on_cli, approve(on_chat.request.request_id)).status == "not_pending"
        on_cli.resume(approve(on_chat.request.request_id))
        assert ran.runs == []
        assert len(on_cli.requests) == len(on_chat.requests) == 1

    def test_an_id_from_an_earlier_turn_does_not_answer_the_next(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(says(call("send", "a", n=1)), says(call("send", "b", n=2)))
        earlier = talk.request.request_id
        talk.answer("reject")
        assert give(talk, approve(earlier)).status == "already_answered"
        talk.resume(approve(earlier))
        assert ran.runs == []
        assert talk.request.tool_call_id == "b"

    def test_an_answer_to_a_thread_where_nothing_is_pending_changes_nothing(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start()
        before = talk.messages
        assert give(talk, approve("0" * 32)).status == "not_pending"
        talk.resume(approve("0" * 32))
        assert (talk.messages, ran.runs) == (before, [])


class TestTheSameAnswerSentTwice:
    """The same answer sent twice (double click): one execution; the second gets "already answered"."""

    def test_one_after_the_other(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "s")))
        answer = approve(talk.request.request_id)
        assert give(talk, answer).status == "accepted"
        history = talk.messages
        again = give(talk, answer)
        assert (again.status, again.detail.split()[-1]) == ("already_answered", "'approve'")
        talk.resume(answer)
        assert (ran.count("send"), talk.messages) == (1, history)

    def test_while_the_next_turn_of_the_model_waits(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "a", n=1)), says(call("send", "b", n=2)))
        answer = approve(talk.request.request_id)
        assert [give(talk, answer).status, give(talk, answer).status] == ["accepted", "already_answered"]
        talk.resume(answer)
        assert ran.runs == [("send", {"n": 1})]
        assert talk.request.tool_call_id == "b"

    def test_from_two_threads_at_once(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "s")))
        answer = approve(talk.request.request_id)
        statuses = at_once(lambda: give(talk, answer).status, times=4)
        assert sorted(statuses) == ["accepted", *["already_answered"] * 3]
        assert (ran.count("send"), talk.result("s")) == (1, "ran send")

    def test_from_two_threads_at_once_through_bare_resumes(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "s")))
        answer = approve(talk.request.request_id)

        def resume() -> str:
            try:
                talk.resume(answer)
            except AlreadyAnsweredError:
                return "already answered"
            return "went on"

        told = at_once(resume, times=4)
        assert {"went on"} <= set(told) <= {"went on", "already answered"}
        assert ran.count("send") == 1
        assert len([one for one in talk.results if one.tool_call_id == "s"]) == 1

    def test_two_tasks_of_one_loop_at_once(self, ran: Recorder) -> None:
        talk = chat([says(call("send", "s"))], [ran.tool("send", CONSEQUENTIAL)])
        talk.say()
        answer = approve(talk.request.request_id)

        async def both() -> list[AnswerResult]:
            return list(await asyncio.gather(*[talk.gate.aanswer(talk.agent, talk.config, answer) for _ in range(4)]))

        statuses = [given.status for given in asyncio.run(both())]
        assert sorted(statuses) == ["accepted", *["already_answered"] * 3]
        assert ran.count("send") == 1


@every_core()
def at_once(work: Callable[[], Any], *, times: int) -> list[Any]:
    """Do something in several threads that all start together."""
    barrier, done = threading.Barrier(times), []

    def doing() -> None:
        barrier.wait()
        done.append(work())

    threads = [threading.Thread(target=doing) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == times
    return done


class TestAnAnswerToRequest1ReSentWhileRequest2IsShown:
    """Answer to request 1 re-sent while request 2 is shown: request 2 stays unanswered."""

    def test_through_the_gate(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "a", n=1), call("send", "b", n=2)))
        answer = approve(talk.request.request_id)
        give(talk, answer)
        assert give(talk, answer).status == "already_answered"
        assert (talk.request.tool_call_id, talk.request.error, ran.runs) == ("b", "", [])

    def test_through_a_bare_resume(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "a", n=1), call("send", "b", n=2)))
        answer = approve(talk.request.request_id)
        talk.resume(answer)
        for _ in range(4):
            talk.resume(answer)
        assert (talk.request.tool_call_id, ran.runs) == ("b", [])
        assert "was already answered" in talk.request.error

    def test_keyed_by_the_interrupt_that_showed_request_1(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "a", n=1), call("send", "b", n=2)))
        (shown,) = talk.agent.get_state(talk.config).interrupts
        answer = {shown.id: approve(talk.request.request_id)}
        talk.resume(answer)
        talk.resume(answer)
        assert (talk.request.tool_call_id, ran.runs) == ("b", [])


class TestApproveThenReject:
    """Approve, then reject for the same request before the turn is complete: the rejection holds."""

    def test_through_the_gate(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "a", n=1), call("send", "b", n=2)))
        first = talk.request.request_id
        give(talk, approve(first))
        assert give(talk, reject(first, message="changed my mind")).status == "withdrawn"
        assert talk.request.tool_call_id == "b"
        talk.answer("approve")
        assert ran.runs == [("send", {"n": 2})]
        assert "changed my mind" in talk.result("a")

    def test_through_the_next_interrupt(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "a", n=1), call("send", "b", n=2)))
        first = talk.request.request_id
        talk.answer("approve")
        talk.resume(reject(first, message="changed my mind"))
        assert "was taken back" in talk.request.error
        talk.answer("approve")
        assert ran.runs == [("send", {"n": 2})]
        assert "changed my mind" in talk.result("a")

    def test_an_approval_that_follows_the_rejection_changes_nothing(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(says(call("send", "a", n=1), call("send", "b", n=2)))
        first = talk.request.request_id
        talk.answer("reject")
        assert give(talk, approve(first)).status == "already_answered"
        talk.resume(approve(first))
        talk.answer("approve")
        assert ran.runs == [("send", {"n": 2})]

    def test_a_text_in_place_of_the_result_is_taken_back_as_well(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(says(call("send", "a", n=1), call("send", "b", n=2)))
        first = talk.request.request_id
        give(talk, {"type": "respond", "request_id": first, "message": "it is sunny"})
        assert give(talk, reject(first)).status == "withdrawn"
        talk.answer("approve")
        assert "sunny" not in talk.result("a")
        assert give(talk, reject(first)).status == "already_answered"

    def test_the_call_that_was_taken_back_is_refused_for_the_rest_of_the_run(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(says(call("send", "a", n=1), call("send", "b", n=2)), says(call("send", "c", n=1)))
        first = talk.request.request_id
        give(talk, approve(first))
        give(talk, reject(first))
        talk.answer("approve")
        assert ran.runs == [("send", {"n": 2})]
        assert "rejected exactly this call" in talk.result("c")

    def test_between_the_last_answer_and_the_tool_the_rejection_holds(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(says(call("send", "a", n=1)), says(call("send", "b", n=1)), agent={"interrupt_before": ["tools"]})
        first = talk.request.request_id
        give(talk, approve(first))
        assert give(talk, reject(first, message="not today")).status == "withdrawn"
        talk.invoke(None)
        talk.invoke(None)
        assert ran.runs == []
        assert "not today" in talk.result("a")
        assert "rejected exactly this call" in talk.result("b")

    def test_after_its_grant_was_used_it_is_refused_as_too_late(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(says(call("send", "s")))
        first = talk.request.request_id
        give(talk, approve(first))
        history = talk.messages
        late = give(talk, reject(first))
        assert (late.status, late.detail) == ("too_late", "the approval was used already")
        assert (ran.count("send"), talk.messages) == (1, history)

    def test_a_text_that_is_the_result_already_cannot_be_taken_back(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(says(call("send", "s")))
        first = talk.request.request_id
        give(talk, {"type": "respond", "request_id": first, "message": "it is sunny"})
        assert give(talk, reject(first)).status == "too_late"
        assert "it is sunny" in talk.result("s")
