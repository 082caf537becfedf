"""The limit of turns, and what is tried again."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from tests.agent.talking import CONSEQUENTIAL, READ, ROUTINE, Talk, talk
from tests.support import Recorder, call, says, with_profile
from toolgate_langchain import ApprovalSession, Tier, ToolProfile
from toolgate_langchain.errors import ConfigurationError, TurnLimitReached
from toolgate_langchain.hosts.gated.retrying import Retry, is_transient


class Waits:
    """Sleeps for nobody, and notes for how long it was asked to."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)

    async def asleep(self, seconds: float) -> None:
        self.seconds.append(seconds)

    def retry(self, **options: Any) -> Retry:
        return Retry(sleep=self.sleep, asleep=self.asleep, **options)


class ServiceError(Exception):
    def __init__(self, status_code: int) -> None:
        super().__init__(f"HTTP {status_code}")
        self.status_code = status_code


def failing(times: int, error: Exception, then: AIMessage) -> list[Callable[[list[BaseMessage]], AIMessage]]:
    """Turns of a model that fails some times and then says something."""

    def fail(_: list[BaseMessage]) -> AIMessage:
        raise error

    return [*[fail] * times, lambda _: then]


def unsteady(ran: Recorder, name: str, profile: ToolProfile, error: Exception, times: int = 1) -> Any:
    """A tool that fails some times before it works."""
    from langchain_core.tools import StructuredTool

    def run() -> str:
        ran.runs.append((name, {}))
        if ran.count(name) <= times:
            raise error
        return f"ran {name}"

    async def arun() -> str:
        return run()

    return with_profile(StructuredTool.from_function(run, arun, name=name, description="Unsteady."), profile)


class TestLimit:
    """`max_turns`."""

    @pytest.fixture
    def told(self, ran: Recorder, asynchronous: bool) -> Talk:
        script = [says(call("save", f"c{number}", n=number)) for number in range(9)]
        return talk(script, [ran.tool("save", ROUTINE)], ran, asynchronous=asynchronous, max_turns=2).say()

    def test_a_resume_does_not_start_the_count_again_and_the_error_carries_the_session(self, told: Talk) -> None:
        told.answer()
        with pytest.raises(TurnLimitReached, match="made 2 turns of the model, which is its limit") as raised:
            told.answer()
        session: ApprovalSession = raised.value.session
        assert (session.turns, session.status) == (2, "open")
        assert told.ran.count("save") == 2  # no call is left without its result
        assert [message.type for message in session.messages] == ["human", "ai", "tool", "ai", "tool"]
        with pytest.raises(TurnLimitReached):
            told.give({"session": session})

    def test_new_words_start_a_new_run_and_a_new_count(self, told: Talk) -> None:
        told.answer()
        with pytest.raises(TurnLimitReached) as raised:
            told.answer()
        told.give({"session": raised.value.session, "messages": "go on"})
        assert told.request.tool_call_id == "c2" and told.session.turns == 1

    def test_a_saved_count_is_the_count(self, told: Talk) -> None:
        read = ApprovalSession.from_json(told.session.to_json())
        assert read.turns == 1

    @pytest.mark.parametrize("wrong", [0, -1, True, "2", 1.5])
    def test_it_is_at_least_one(self, ran: Recorder, wrong: Any) -> None:
        with pytest.raises(ConfigurationError, match="max_turns"):
            talk([], [], ran, asynchronous=False, max_turns=wrong)


class TestModel:
    """Errors of the model."""

    @pytest.mark.parametrize(
        "error",
        [TimeoutError(), ConnectionResetError(), ServiceError(429), ServiceError(500), ServiceError(503)],
        ids=repr,
    )
    def test_a_transient_error_is_tried_again_with_growing_waits(
        self, ran: Recorder, asynchronous: bool, error: Exception
    ) -> None:
        waits, script = Waits(), failing(2, error, AIMessage("here"))
        told = talk(script, [], ran, asynchronous=asynchronous, retry=waits.retry(first_wait=1.0)).say()
        assert told.messages[-1].text == "here" and told.session.turns == 1
        first, second = waits.seconds
        assert 1.0 <= first <= 2.0 <= second <= 3.0

    def test_the_waits_double_up_to_the_longest_each_with_up_to_the_first_on_top(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        waits, script = Waits(), failing(5, TimeoutError(), AIMessage("here"))
        retry = waits.retry(attempts=6, first_wait=1.0, longest_wait=4.0)
        talk(script, [], ran, asynchronous=asynchronous, retry=retry).say()
        least = [1.0, 2.0, 4.0, 4.0, 4.0]
        assert all(low <= wait <= low + 1.0 for low, wait in zip(least, waits.seconds, strict=True))

    def test_it_has_an_end_and_the_models_own_error_is_raised(self, ran: Recorder, asynchronous: bool) -> None:
        waits, error = Waits(), ServiceError(503)
        told = talk(failing(9, error, AIMessage("")), [], ran, asynchronous=asynchronous, retry=waits.retry(attempts=4))
        with pytest.raises(ServiceError) as raised:
            told.say()
        assert raised.value is error and len(waits.seconds) == 3

    @pytest.mark.parametrize("error", [ServiceError(400), ServiceError(401), ValueError("no")], ids=repr)
    def test_an_error_that_stays_is_not_tried_again(self, ran: Recorder, asynchronous: bool, error: Exception) -> None:
        waits = Waits()
        told = talk(failing(1, error, AIMessage("")), [], ran, asynchronous=asynchronous, retry=waits.retry())
        with pytest.raises(type(error)):
            told.say()
        assert waits.seconds == []

    def test_which_errors_is_up_to_the_caller(self, ran: Recorder, asynchronous: bool) -> None:
        waits = Waits()
        retry = waits.retry(transient=lambda error: isinstance(error, ValueError))
        script = failing(1, ValueError("odd"), AIMessage("here"))
        told = talk(script, [], ran, asynchronous=asynchronous, retry=retry).say()
        assert told.messages[-1].text == "here" and len(waits.seconds) == 1


class TestTools:
    """Errors of tools."""

    @pytest.mark.parametrize(
        "profile", [READ, ToolProfile(tier=Tier.ROUTINE, idempotent=True)], ids=["read-only", "idempotent"]
    )
    def test_a_repeatable_call_is_tried_again_under_one_grant(
        self, ran: Recorder, asynchronous: bool, profile: ToolProfile
    ) -> None:
        waits, tool = Waits(), unsteady(ran, "look", profile, TimeoutError())
        script = [says(call("look", "a"))]
        told = talk(script, [tool], ran, asynchronous=asynchronous, retry=waits.retry()).say()
        if not told.done:
            told.answer()
        assert told.results["a"] == "ran look" and ran.count("look") == 2 and len(waits.seconds) == 1

    @pytest.mark.parametrize(
        "profile",
        [ROUTINE, CONSEQUENTIAL, ToolProfile(tier=Tier.CONSEQUENTIAL, idempotent=True), ToolProfile()],
        ids=["routine", "consequential", "consequential and idempotent", "unclassified"],
    )
    def test_any_other_call_never_is(self, ran: Recorder, asynchronous: bool, profile: ToolProfile) -> None:
        waits, tool = Waits(), unsteady(ran, "send", profile, TimeoutError())
        told = talk([says(call("send", "a"))], [tool], ran, asynchronous=asynchronous, retry=waits.retry()).say()
        with pytest.raises(TimeoutError):
            told.answer()
        assert ran.count("send") == 1 and waits.seconds == []

    def test_an_error_ends_the_run_what_ended_is_kept_and_the_rest_is_never_repeated(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        kept: list[ApprovalSession] = []
        tools = [ran.tool("save", ROUTINE), unsteady(ran, "send", ROUTINE, OSError("gone"))]
        turn = says(call("save", "a"), call("send", "b"))
        told = talk([turn], tools, ran, asynchronous=asynchronous, keep=kept.append).say().answer()
        with pytest.raises(OSError, match="gone"):
            told.answer()
        assert [message.type for message in kept[-1].messages] == ["human", "ai", "tool"]
        told.give({"session": kept[-1]})
        assert told.done and told.results["a"] == "ran save"
        assert (ran.count("save"), ran.count("send")) == (1, 1)
        assert "was not executed" in told.results["b"] or "unknown" in told.results["b"]


def test_attempts_are_at_least_one() -> None:
    with pytest.raises(ConfigurationError, match="attempts is 0"):
        Retry(attempts=0)


def test_a_status_may_be_that_of_the_response_and_says_more_than_the_type() -> None:
    class Response:
        status_code = 502

    class HttpError(ConnectionError):
        response = Response()

    assert is_transient(HttpError())
    Response.status_code = 404
    assert not is_transient(HttpError())
    Response.status_code = 501
    assert not is_transient(HttpError())


def test_the_usual_http_clients_errors_are_known_by_their_names() -> None:
    import httpx
    import openai

    request = httpx.Request("POST", "http://localhost")
    assert is_transient(httpx.ReadTimeout("slow", request=request))
    assert is_transient(httpx.ConnectError("down", request=request))
    assert is_transient(openai.APIConnectionError.__new__(openai.APIConnectionError))
    assert not is_transient(httpx.UnsupportedProtocol("odd", request=request))
    assert not is_transient(KeyboardInterrupt())
