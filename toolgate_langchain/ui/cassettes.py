"""Cassettes: recorded HTTP conversations with a chat model, replayed without a network or a key.

Matching is strict, the whole body included: a request that differs from the recorded one in a single
word has no reply, so a changed prompt, tool or refusal cannot go unnoticed.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.errors import ConfigurationError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langchain_openai import ChatOpenAI

__all__ = ["RECORDED_BASE_URL", "RECORDED_MODEL", "cassette", "chat_model", "is_unrecorded", "record", "replay"]

RECORDED_BASE_URL: Final = "http://127.0.0.1:18181/v1"
"""The address that the cassettes were recorded from. It is part of what is matched."""

RECORDED_MODEL: Final = "qwen2.5-coder-1.5b-instruct-q4_k_m"
"""The model that the cassettes were recorded from."""

_MATCH_ON: Final = ("method", "scheme", "host", "port", "path", "query", "body")

_REQUEST_HEADERS: Final = frozenset({"accept", "content-type"})
_RESPONSE_HEADERS: Final = frozenset({"content-type"})
"""All other headers are left out: they hold keys, user agents and the machine's details."""

_PACKAGE: Final = Path(__file__).parents[1]


def chat_model(
    base_url: str = RECORDED_BASE_URL, model: str = RECORDED_MODEL, *, api_key: str = "not-needed"
) -> ChatOpenAI:
    """A chat model with the settings that the cassettes were recorded with.

    Args:
        base_url: An OpenAI-compatible address.
        model: The model's name there.
        api_key: The key for the address; never recorded.

    Raises:
        MissingExtraError: If langchain-openai is not installed.
    """
    try:
        from langchain_openai import ChatOpenAI
        from openai import DefaultAsyncHttpxClient, DefaultHttpxClient
    except ModuleNotFoundError as error:
        raise MissingExtraError("A recorded conversation", "demo") from error
    from pydantic import SecretStr

    # Nothing leaves the machine for the recorded address, so a proxy's settings must not matter.
    proxies = base_url != RECORDED_BASE_URL
    return ChatOpenAI(
        http_client=DefaultHttpxClient(trust_env=proxies),
        http_async_client=DefaultAsyncHttpxClient(trust_env=proxies),
        model_name=model,
        openai_api_base=base_url,
        openai_api_key=SecretStr(api_key),
        temperature=0,
        seed=1,
        max_tokens=256,
        max_retries=0,
        request_timeout=300,
    )


def cassette(name: str) -> Path:
    """The path of a cassette, in a checkout or in an installed copy.

    Args:
        name: The name without `.yaml`.

    Raises:
        ConfigurationError: If there is none of this name.
    """
    folders = (_PACKAGE / "_cassettes", _PACKAGE.parent / "cassettes")
    for folder in folders:
        if (path := folder / f"{name}.yaml").is_file():
            return path
    raise ConfigurationError(f"there is no cassette {name!r} in {' or '.join(map(str, folders))}")


@contextmanager
def replay(path: Path) -> Iterator[None]:
    """Answer every HTTP request from a cassette; one that was not recorded fails, and nothing leaves.

    Args:
        path: The cassette.

    Raises:
        ConfigurationError: If there is no such file.
        MissingExtraError: If vcrpy is not installed.
    """
    if not path.is_file():
        raise ConfigurationError(f"there is no cassette at {path}")
    with _vcr("none").use_cassette(str(path), allow_playback_repeats=True):
        yield


@contextmanager
def record(path: Path, base_url: str = RECORDED_BASE_URL) -> Iterator[None]:
    """Record a cassette anew from a live model; the old one stays until everything went well.

    A request that was made before in the same recording is answered from it, so that conversations
    with a common beginning share it.

    Args:
        path: The cassette.
        base_url: Where the model is really reached; the cassette says `RECORDED_BASE_URL`.
    """
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / path.name
        with _vcr("new_episodes", base_url).use_cassette(str(fresh), allow_playback_repeats=True):
            yield
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(fresh.read_bytes())


def is_unrecorded(error: BaseException) -> bool:
    """Whether an error says, at its root, that a request is not on the cassette."""
    from vcr.errors import CannotOverwriteExistingCassetteException

    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, CannotOverwriteExistingCassetteException):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _vcr(record_mode: str, base_url: str = RECORDED_BASE_URL) -> Any:
    try:
        import vcr
    except ModuleNotFoundError as error:
        raise MissingExtraError("A recorded conversation", "demo") from error

    def without_the_machine(request: Any) -> Any:
        request.headers = {name: value for name, value in request.headers.items() if name.lower() in _REQUEST_HEADERS}
        request.uri = request.uri.replace(base_url.rstrip("/"), RECORDED_BASE_URL, 1)
        return request

    made = vcr.VCR(
        record_mode=record_mode,
        match_on=_MATCH_ON,
        before_record_request=without_the_machine,
        before_record_response=_without_the_server,
        decode_compressed_response=True,
        record_on_exception=False,
    )
    made.register_matcher("body", _same_body)
    return made


def _same_body(one: Any, other: Any) -> bool:
    """As vcrpy's own matcher, which also writes out how a body differs from each of those that were recorded."""
    return bool(one.body == other.body or _body_of(one) == _body_of(other))


def _body_of(request: Any) -> Any:
    """What a request says, whatever its spaces; the bytes themselves where they are no JSON."""
    try:
        return json.loads(request.body)
    except (TypeError, ValueError):
        return request.body


def _without_the_server(response: dict[str, Any]) -> dict[str, Any]:
    headers = {name: value for name, value in response["headers"].items() if name.lower() in _RESPONSE_HEADERS}
    body = {**response["body"], "string": _without_timings(response["body"]["string"])}
    return {**response, "headers": headers, "body": body}


def _without_timings(body: bytes | str) -> bytes | str:
    """A reply, whole or streamed, without the speed of the machine that made it."""
    if isinstance(body, bytes):
        return str(_without_timings(body.decode())).encode()
    return "\n".join(map(_line_without_timings, body.split("\n")))


def _line_without_timings(line: str) -> str:
    event, data = ("data: ", line[6:]) if line.startswith("data: ") else ("", line)
    try:
        reply = json.loads(data)
    except ValueError:
        return line
    if not isinstance(reply, dict) or "timings" not in reply:
        return line
    del reply["timings"]
    return event + json.dumps(reply, separators=(",", ":"), ensure_ascii=False)
