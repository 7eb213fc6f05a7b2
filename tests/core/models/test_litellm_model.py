"""The real litellm against a server that misbehaves to order."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from core.errors import (
    Cancelled,
    ContextOverflow,
    EmptyReply,
    ModelError,
    ModelMisconfigured,
    ModelRefused,
    ModelUnavailable,
)
from core.models.litellm_model import (
    LONGEST_REPLY,
    LitellmModel,
    check_model,
    key_presence,
    load_litellm,
)
from core.models.transport import shared_client
from core.ports import ChatMessage, ChatRequest
from core.settings import Settings
from core.types import ModelSpec
from tests.support.answers import WEIRD_TEXT, Answer, Fault
from tests.support.provider import Provider

ROOT = Path(__file__).parents[3]
SECRET = "sk-test-51aB9xQ7verysecret"
SCHEMA = {
    "type": "object",
    "properties": {"value": {"type": "integer", "minimum": 2, "maximum": 3}},
    "required": ["value"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def shared_provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def provider(shared_provider: Provider) -> Provider:
    shared_provider.forget()
    return shared_provider


class FakeTime:
    def __init__(self) -> None:
        self.now, self.slept = 0.0, [0.0]
        self.slept.clear()

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def make_model(
    *, timeout: float = 20, retry: float = 30, api_base: str | None = None
) -> tuple[LitellmModel, FakeTime]:
    """A model whose waits between attempts take no time."""
    clock = FakeTime()
    settings = Settings(request_timeout=timeout, retry_seconds=retry, api_base=api_base)
    return LitellmModel(settings, lambda: clock.now, clock.sleep, lambda: 0.0), clock


def ask(
    provider: Provider,
    text: str = "Hello",
    *,
    model: str = "openai/local",
    params: Mapping[str, Any] | None = None,
    schema: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> ChatRequest:
    return ChatRequest(
        ModelSpec(model, provider.url, params or {}),
        (ChatMessage("system", "Be brief."), ChatMessage("user", text)),
        temperature=0.5,
        max_tokens=100,
        seed=seed,
        schema=schema,
    )


# The same server, asked as directly as can be, and through litellm.
MODELS = ("openai/local", "hosted_vllm/local")

# --- what goes out ----------------------------------------------------------------------------


def test_a_local_server_answers_when_no_key_is_set(provider: Provider) -> None:
    reply = make_model()[0].reply(ask(provider))
    assert "Shall I go ahead?" in reply.text
    assert (reply.finish_reason, reply.attempts) == ("stop", 1)
    assert reply.tokens_in == provider_tokens(provider)
    assert provider.requests[0].key == "no-key-needed"


def test_nothing_is_reported_in_the_background_when_a_call_has_ended(provider: Provider) -> None:
    make_model()[0].reply(ask(provider))
    assert not [t for t in threading.enumerate() if t.name.startswith("litellm-logging")]


def provider_tokens(provider: Provider) -> int:
    return sum(len(m["content"]) for m in provider.requests[0].messages) // 4 + 1


def test_exactly_the_request_is_sent(provider: Provider) -> None:
    make_model()[0].reply(ask(provider, seed=7))
    assert provider.requests[0].body == {
        "model": "local",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello"},
        ],
        "temperature": 0.5,
        "max_tokens": 100,
        "seed": 7,
    }


def test_explicit_params_win_and_null_leaves_one_out(provider: Provider) -> None:
    params = {"temperature": 0, "seed": None, "max_completion_tokens": 9, "top_p": 0.1}
    make_model()[0].reply(ask(provider, params=params, seed=7))
    body = provider.requests[0].body
    assert (body["temperature"], body["max_completion_tokens"], body["top_p"]) == (0, 9, 0.1)
    assert not {"seed", "max_tokens"} & set(body)


def test_the_units_own_seed_is_sent_when_params_say_true(provider: Provider) -> None:
    make_model()[0].reply(ask(provider, params={"seed": True}, seed=7))
    assert provider.requests[0].body["seed"] == 7


def test_a_schema_is_sent_only_when_it_is_supported(provider: Provider) -> None:
    model = make_model()[0]
    model.reply(ask(provider, schema=SCHEMA))
    model.reply(ask(provider, schema=SCHEMA, params={"structured": True}))
    model.reply(ask(provider, schema=SCHEMA, model="openai/gpt-4o-mini"))
    model.reply(
        ask(provider, schema=SCHEMA, model="openai/gpt-4o-mini", params={"structured": False})
    )
    bodies = [r.body for r in provider.requests]
    assert ["response_format" in b for b in bodies] == [False, True, True, False]
    assert bodies[1]["response_format"]["json_schema"] == {
        "name": "answer",
        "schema": SCHEMA,
        "strict": True,
    }
    assert not any("structured" in b for b in bodies)


def test_a_schema_is_not_called_strict_when_it_leaves_something_open(provider: Provider) -> None:
    loose = {**SCHEMA, "required": []}
    make_model()[0].reply(ask(provider, schema=loose, params={"structured": True}))
    assert provider.requests[0].body["response_format"]["json_schema"]["strict"] is False


def test_the_default_server_is_used_when_a_model_names_none(provider: Provider) -> None:
    model = make_model(api_base=provider.url)[0]
    request = ask(provider)
    bare = ChatRequest(ModelSpec("openai/local"), request.messages, 0.5, 100)
    assert model.check(bare.spec) is None
    assert model.reply(bare).attempts == provider.served == 1


def test_a_key_of_ones_own_is_sent_when_the_params_name_its_variable(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_API_KEY", "lab-key")
    make_model()[0].reply(ask(provider, params={"api_key_env": "LAB_API_KEY"}))
    assert provider.requests[0].key == "lab-key"
    assert "api_key_env" not in provider.requests[0].body


@pytest.mark.parametrize("name", ["api_key", "extra_headers", "stream", "drop_params", "n"])
def test_a_param_that_may_not_be_set_is_refused_and_nothing_is_sent(
    provider: Provider, name: str
) -> None:
    with pytest.raises(ModelMisconfigured, match=f": {name} cannot stand in params"):
        make_model()[0].reply(ask(provider, params={name: "x"}))
    assert provider.served == 0


def test_a_variable_is_not_read_when_it_is_not_named_as_a_key(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "hunter22")
    with pytest.raises(ModelMisconfigured, match="ends in _API_KEY"):
        make_model()[0].reply(ask(provider, params={"api_key_env": "DATABASE_PASSWORD"}))
    assert provider.served == 0


@pytest.mark.parametrize(
    ("model", "params", "named"),
    [
        ("anthropic/claude-sonnet-4-5", {"seed": 3}, "seed"),
        ("openai/o3-mini", {"temperature": 0.3}, "temperature"),
    ],
)
def test_the_parameter_is_named_when_a_provider_does_not_take_it(
    provider: Provider, model: str, params: dict[str, Any], named: str
) -> None:
    with pytest.raises(ModelMisconfigured, match=f"does not take the parameter {named} as given"):
        make_model()[0].reply(ask(provider, model=model, params=params))
    assert provider.served == 0


# --- what comes back --------------------------------------------------------------------------


@pytest.mark.parametrize("streamed", [False, True])
def test_weird_text_comes_back_as_it_was_sent(provider: Provider, streamed: bool) -> None:
    provider.script("local", [Fault.WEIRD])
    parts: list[str] = []
    reply = make_model()[0].reply(ask(provider), on_delta=parts.append if streamed else None)
    assert reply.text.encode() == WEIRD_TEXT.encode()
    assert "".join(parts) == (WEIRD_TEXT if streamed else "")


def test_a_reply_cut_for_length_is_kept(provider: Provider) -> None:
    provider.script("local", [Answer(text="half a", fault=Fault.LENGTH)])
    reply = make_model()[0].reply(ask(provider))
    assert (reply.text, reply.finish_reason) == ("half a", "length")


@pytest.mark.parametrize("streamed", [False, True])
def test_an_oversized_reply_is_cut_and_says_so(provider: Provider, streamed: bool) -> None:
    provider.script("local", [Fault.OVERSIZED])
    reply = make_model()[0].reply(ask(provider), on_delta=(lambda _: None) if streamed else None)
    assert (len(reply.text), reply.finish_reason) == (LONGEST_REPLY, "length")


def test_a_refusal_in_plain_words_is_a_reply_like_any_other(provider: Provider) -> None:
    provider.script("local", [Fault.APOLOGY])
    assert make_model()[0].reply(ask(provider)).text == "I am sorry, I cannot help with that."


def test_cost_is_unknown_when_nobody_prices_the_model(provider: Provider) -> None:
    assert make_model()[0].reply(ask(provider)).cost_usd is None


def test_cost_is_unknown_when_litellm_lists_the_model_without_a_price(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = {"litellm_provider": "openai", "mode": "chat", "max_tokens": 4096}
    monkeypatch.setitem(load_litellm().model_cost, "listed-only", listed)
    reply = make_model()[0].reply(ask(provider, model="openai/listed-only"))
    assert reply.tokens_in is not None
    assert reply.cost_usd is None


def test_cost_and_tokens_are_unknown_when_the_provider_counts_nothing(provider: Provider) -> None:
    provider.script("gpt-4o-mini", [Answer(text="hi", usage=False)])
    reply = make_model()[0].reply(ask(provider, model="openai/gpt-4o-mini"))
    assert (reply.tokens_in, reply.tokens_out, reply.cost_usd) == (None, None, None)


@pytest.mark.parametrize("streamed", [False, True])
def test_cost_is_computed_when_litellm_prices_the_model(provider: Provider, streamed: bool) -> None:
    model = make_model()[0]
    request = ask(provider, model="openai/gpt-4o-mini")
    reply = model.reply(request, on_delta=(lambda _: None) if streamed else None)
    assert reply.tokens_in is not None
    assert reply.tokens_out is not None
    # list prices: 0.15 and 0.60 dollars for a million tokens
    expected = reply.tokens_in * 0.15e-6 + reply.tokens_out * 0.6e-6
    assert reply.cost_usd == pytest.approx(expected)


def test_the_studys_own_prices_are_used_and_not_sent(provider: Provider) -> None:
    prices = {"input_cost_per_token": 0.5, "output_cost_per_token": 2}
    reply = make_model()[0].reply(ask(provider, params=prices))
    assert reply.tokens_in is not None
    assert reply.tokens_out is not None
    assert reply.cost_usd == reply.tokens_in * 0.5 + reply.tokens_out * 2
    assert not set(prices) & set(provider.requests[0].body)


@pytest.mark.parametrize("price", [-1, "cheap", True, float("nan"), None])
def test_a_price_that_is_none_is_refused(provider: Provider, price: object) -> None:
    prices = {"input_cost_per_token": 0.5, "output_cost_per_token": price}
    with pytest.raises(ModelMisconfigured, match="must both be dollars per token"):
        make_model()[0].reply(ask(provider, params=prices))


# --- faults -----------------------------------------------------------------------------------

HOPELESS: list[tuple[Fault, type[ModelError], str]] = [
    (Fault.BAD_KEY, ModelMisconfigured, "refused the key"),
    (Fault.FORBIDDEN, ModelMisconfigured, "may not use it"),
    (Fault.UNKNOWN_MODEL, ModelMisconfigured, "does not know it"),
    (Fault.BAD_REQUEST, ModelMisconfigured, "refused the request: max_tokens is too large: 99\\.$"),
    (Fault.QUOTA, ModelMisconfigured, "no credit left"),
    (Fault.CONTEXT_OVERFLOW, ContextOverflow, "longer than .*/local takes"),
    (Fault.FILTERED_PROMPT, ModelRefused, "filter refused"),
    (Fault.CONTENT_FILTER, ModelRefused, "filter stopped"),
]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("fault", "kind", "words"), HOPELESS)
def test_one_request_is_sent_when_another_would_not_help(
    provider: Provider, fault: Fault, kind: type[ModelError], words: str, streamed: bool, model: str
) -> None:
    provider.script("local", [fault] * 3)
    request = ask(provider, model=model)
    with pytest.raises(kind, match=words) as caught:
        make_model()[0].reply(request, on_delta=(lambda _: None) if streamed else None)
    assert provider.served == caught.value.attempts == 1


# What a failed attempt cost: 0 where the provider says why it did not answer, what its tokens
# cost where it counted some, and unknown where the answer was lost on its way.
COSTS: list[tuple[Fault, bool | None]] = [
    *((fault, False) for fault in (Fault.BAD_KEY, Fault.BAD_REQUEST, Fault.CONTEXT_OVERFLOW)),
    *((fault, False) for fault in (Fault.RATE_LIMIT, Fault.SERVER_ERROR, Fault.UNAVAILABLE)),
    *((fault, True) for fault in (Fault.REFUSAL, Fault.CONTENT_FILTER, Fault.EMPTY)),
    *((fault, None) for fault in (Fault.RESET, Fault.TRUNCATED, Fault.INVALID_JSON)),
    (Fault.WRONG_SCHEMA, None),
]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("fault", "charged"), COSTS)
def test_a_failed_attempt_says_what_it_cost(
    provider: Provider, fault: Fault, charged: bool | None, model: str
) -> None:
    provider.script("local", [fault] * 3)
    prices = {"input_cost_per_token": 0.5, "output_cost_per_token": 2.0}
    with pytest.raises(ModelError) as caught:
        make_model(retry=0)[0].reply(ask(provider, model=model, params=prices))
    cost = caught.value.cost_usd
    if charged:
        assert cost == (caught.value.tokens_in or 0) * 0.5 + (caught.value.tokens_out or 0) * 2.0
        assert cost > 0
    else:
        assert cost == (0.0 if charged is False else None)


def test_an_attempt_costs_nothing_when_nobody_listens(provider: Provider) -> None:
    request = ChatRequest(ModelSpec("openai/local", "http://127.0.0.1:9/v1"), (), 0.0, 10)
    with pytest.raises(ModelUnavailable) as caught:
        make_model(retry=0)[0].reply(request)
    assert caught.value.cost_usd == 0.0


def test_a_refusal_in_its_own_field_is_no_empty_reply(provider: Provider) -> None:
    provider.script("local", [Fault.REFUSAL] * 2)
    with pytest.raises(ModelRefused, match="declined") as caught:
        make_model()[0].reply(ask(provider))
    assert provider.served == caught.value.attempts == 1


PASSING = [
    Fault.RATE_LIMIT,
    Fault.SERVER_ERROR,
    Fault.UNAVAILABLE,
    Fault.RESET,
    Fault.TRUNCATED,
    Fault.INVALID_JSON,
    Fault.WRONG_SCHEMA,
    Fault.EMPTY,
]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("fault", PASSING)
def test_the_second_answer_is_taken_when_a_fault_passes(
    provider: Provider, fault: Fault, model: str
) -> None:
    provider.script("local", [fault, "at last"])
    reply = make_model()[0].reply(ask(provider, model=model))
    assert (reply.text, reply.attempts, provider.served) == ("at last", 2, 2)


@pytest.mark.parametrize("fault", [Fault.RATE_LIMIT, Fault.CUT_STREAM, Fault.TRUNCATED])
def test_a_stream_starts_again_when_a_fault_passes(provider: Provider, fault: Fault) -> None:
    provider.script("local", [Answer(text="a first try, cut", fault=fault), "at last"])
    parts: list[str] = []
    reply = make_model()[0].reply(ask(provider), on_delta=parts.append)
    restart = parts.index("")
    assert "".join(parts[restart:]) == reply.text == "at last"
    assert (reply.attempts, reply.tokens_out) == (2, len("at last") // 4 + 1)


def test_a_model_is_unavailable_when_a_fault_does_not_pass(provider: Provider) -> None:
    provider.script("local", [Fault.UNAVAILABLE] * 100)
    model, clock = make_model(retry=30)
    with pytest.raises(ModelUnavailable, match="status 503") as caught:
        model.reply(ask(provider))
    # waits of 0.25, 0.5, 1, 2, 4, 8 fit in 30 seconds, the next would not
    assert clock.slept == [0.25, 0.5, 1, 2, 4, 8]
    assert caught.value.attempts == provider.served == 7


def test_an_empty_reply_is_an_error_when_it_comes_twice(provider: Provider) -> None:
    provider.script("local", [Answer(text=" \n"), Answer(text="", finish_reason="length")])
    with pytest.raises(EmptyReply, match="raise max_tokens") as caught:
        make_model()[0].reply(ask(provider))
    assert caught.value.attempts == provider.served == 2


def test_retry_after_is_honoured(provider: Provider) -> None:
    provider.script("local", [Answer(fault=Fault.RATE_LIMIT, retry_after="17"), "now"])
    model, clock = make_model()
    assert model.reply(ask(provider)).text == "now"
    assert clock.slept == [17.0]
    assert clock.now == 17.0


def test_retry_after_is_passed_on_when_it_is_too_long(provider: Provider) -> None:
    provider.script("local", [Answer(fault=Fault.UNAVAILABLE, retry_after="86400")])
    with pytest.raises(ModelUnavailable) as caught:
        make_model()[0].reply(ask(provider))
    assert (caught.value.retry_after, caught.value.attempts) == (86400.0, 1)


def test_a_stalled_request_times_out(provider: Provider) -> None:
    provider.script("local", [Fault.STALL])
    with pytest.raises(ModelUnavailable, match="took too long"):
        make_model(timeout=0.3, retry=0)[0].reply(ask(provider))


def test_a_model_is_unavailable_when_nothing_listens(provider: Provider) -> None:
    request = ChatRequest(ModelSpec("openai/local", "http://127.0.0.1:9/v1"), (), 0.0, 1)
    with pytest.raises(ModelUnavailable, match="connection failed"):
        make_model(retry=0)[0].reply(request)


# --- cancelling -------------------------------------------------------------------------------


def cancelled_after(
    provider: Provider, seconds: float, *, streamed: bool = False, retry_after: str | None = None
) -> float:
    """How long a call lives on after it was cancelled; the waits are real here."""
    cancel = threading.Event()
    threading.Timer(seconds, cancel.set).start()
    model = LitellmModel(Settings(request_timeout=30, retry_seconds=60))
    started = time.monotonic()
    with pytest.raises(Cancelled):
        model.reply(
            ask(provider),
            on_delta=(lambda _: None) if streamed else None,
            is_cancelled=cancel.is_set,
        )
    return time.monotonic() - started - seconds


def test_a_call_ends_within_a_second_when_it_is_cancelled_in_a_stall(provider: Provider) -> None:
    provider.script("local", [Fault.STALL])
    assert cancelled_after(provider, 0.2) < 1


def test_a_stream_ends_within_a_second_when_it_is_cancelled_in_a_stall(provider: Provider) -> None:
    provider.script("local", [Fault.STALL_STREAM])
    assert cancelled_after(provider, 0.2, streamed=True) < 1


def test_a_wait_ends_within_a_second_when_it_is_cancelled(provider: Provider) -> None:
    provider.script("local", [Answer(fault=Fault.RATE_LIMIT, retry_after="50")])
    assert cancelled_after(provider, 0.2) < 1
    assert provider.served == 1


def test_a_stream_is_closed_when_it_is_cancelled(provider: Provider) -> None:
    provider.script("local", [Answer(text="on and on " * 500, piece_seconds=0.02)])
    assert cancelled_after(provider, 0.2, streamed=True) < 1
    assert eventually(lambda: provider.hung_up == 1)


def eventually(holds: Callable[[], bool], seconds: float = 5) -> bool:
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()


def test_the_stream_is_closed_when_the_listener_fails(provider: Provider) -> None:
    provider.script("local", [Answer(text="on and on " * 500, piece_seconds=0.02)])

    def fail(_: str) -> None:
        raise KeyError("the page is gone")

    with pytest.raises(KeyError):
        make_model()[0].reply(ask(provider), on_delta=fail)
    assert provider.served == 1
    assert eventually(lambda: provider.hung_up == 1)


# --- threads ----------------------------------------------------------------------------------


def test_each_thread_gets_its_own_answer_when_32_ask_at_once(provider: Provider) -> None:
    provider.rule = lambda received: Answer(
        text=f"echo {received.messages[-1]['content']}",
        latency=0.2,
        fault=Fault.SERVER_ERROR
        if received.occurrence == 1 and _odd(received.hash)
        else Fault.NONE,
    )
    model = make_model()[0]
    try:
        with ThreadPoolExecutor(32) as pool:
            replies = list(pool.map(lambda n: model.reply(ask(provider, f"number {n}")), range(96)))
    finally:
        provider.rule = None
    assert [r.text for r in replies] == [f"echo number {n}" for n in range(96)]
    assert sum(r.attempts for r in replies) == provider.served > 96
    assert provider.peak > 4


def test_connections_are_used_again_when_one_thread_asks_often(provider: Provider) -> None:
    model = make_model()[0]
    before = provider.accepted
    for n in range(64):
        model.reply(ask(provider, f"number {n}"))
    assert provider.accepted - before <= 1


def test_a_proxy_is_used_when_the_environment_names_one(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{provider.port}")
    with shared_client() as client:
        client.post("http://example.invalid/v1/chat/completions", json={"model": "m"})
    assert provider.requests[0].model == "m"


def _odd(digest: str) -> bool:
    return int(digest, 16) % 2 == 1


# --- keys and logs ----------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [f for f, _, _ in HOPELESS] + PASSING)
def test_no_key_and_no_prompt_is_in_any_error_or_log(
    provider: Provider,
    fault: Fault,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    caplog.set_level(logging.DEBUG)
    provider.script("local", [fault] * 50)
    request = ask(provider, "a private matter")
    secretive = ModelSpec("openai/local", provider.url.replace("//", "//ann:hunter22@"))
    with pytest.raises(ModelError) as caught:
        make_model()[0].reply(ChatRequest(secretive, request.messages, 0.5, 100))
    assert provider.served >= 1
    told = f"{caught.value!r} {caplog.text} {''.join(capfd.readouterr())}"
    for private in (SECRET, SECRET[8:], "hunter22", "a private matter"):
        assert private not in told
    assert caught.value.__cause__ is None
    assert str(caught.value).count("\n") == 0


def test_one_line_is_logged_when_a_model_answers(
    provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    request = ask(provider)
    reply = make_model()[0].reply(request)
    lines = [r.getMessage() for r in caplog.records]
    assert lines == [
        f"model call {request.hash[:12]} model=openai/local tokens_in={reply.tokens_in} "
        f"tokens_out={reply.tokens_out} seconds=0.00 attempts=1 outcome=stop"
    ]


# --- before a study starts --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        (ModelSpec("scripted/attentive"), None),
        (ModelSpec("openai/gpt-4o-mini"), "set OPENAI_API_KEY"),
        (ModelSpec("gpt-4o-mini"), "set OPENAI_API_KEY"),
        (ModelSpec("cerebras/llama3.1-8b"), "set CEREBRAS_API_KEY"),
        (ModelSpec("openai/mine", "http://127.0.0.1:8000/v1"), None),
        (ModelSpec("openai/mine", "127.0.0.1:8000"), "api_base must be an address"),
        (ModelSpec("openai/mine", "http://[::1"), "api_base must be an address"),
        (ModelSpec("hosted_vllm/mine", "http://127.0.0.1:8000/v1"), None),
        (ModelSpec("ollama/llama3"), None),
        (ModelSpec("nope/x"), "names no known provider"),
        (ModelSpec("justname"), "names no known provider"),
        (ModelSpec(""), "names no known provider"),
        (ModelSpec("openai/x", None, {"api_key": "x"}), "api_key cannot stand in params"),
        (ModelSpec("openai/x", None, {"api_key_env": "NO_SUCH_API_KEY"}), "set NO_SUCH_API_KEY"),
    ],
)
def test_a_complaint_says_what_is_missing_before_anything_is_sent(
    spec: ModelSpec, complaint: str | None
) -> None:
    said = check_model(spec)
    if complaint is None:
        assert said is None
    else:
        assert said is not None
        assert complaint in said


def test_no_complaint_is_made_when_the_key_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "x")
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    assert check_model(ModelSpec("gemini/gemini-2.5-flash")) is None
    assert check_model(ModelSpec("openai/gpt-4o-mini")) is not None


def test_a_model_without_a_key_is_refused_before_anything_is_sent() -> None:
    request = ChatRequest(ModelSpec("openai/gpt-4o-mini"), (), 0.0, 1)
    with pytest.raises(ModelMisconfigured, match="OPENAI_API_KEY") as caught:
        make_model()[0].reply(request)
    assert caught.value.attempts == 0


def test_keys_are_told_as_present_or_not_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    keys = {k.provider: k for k in key_presence()}
    assert (keys["anthropic"].variable, keys["anthropic"].present) == ("ANTHROPIC_API_KEY", True)
    assert not keys["openai"].present
    assert SECRET not in repr(keys)


# --- loading ----------------------------------------------------------------------------------

_WATCHED = """
import socket, sys
import core.models.litellm_model as adapter
assert "litellm" not in sys.modules and "httpx" not in sys.modules
def refuse(*_): raise SystemExit("it opened a connection")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
assert adapter.check_model(adapter.ModelSpec("openai/x", "http://127.0.0.1:1/v1")) is None
assert "litellm" not in sys.modules
adapter.load_litellm()
print("quiet")
"""


@pytest.mark.slow
def test_litellm_is_loaded_late_in_silence_and_without_a_connection() -> None:
    command = [sys.executable, "-c", _WATCHED]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "quiet\n", "")


def _of(model: str, text: str, **params: Any) -> ChatRequest:
    spec = ModelSpec(model, None, params)
    return ChatRequest(spec, (ChatMessage("user", text),), 0.0, 100)


def test_worst_cost_bounds_the_cost_of_any_answer() -> None:
    model = LitellmModel(Settings.from_env())
    priced = {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}
    worst = model.worst_cost(_of("openai/mine", "word " * 50, **priced))
    # 250 bytes and a little around them, and 100 tokens out
    assert worst == pytest.approx(250e-6 + 200e-6, abs=20e-6)
    listed = model.worst_cost(_of("openai/gpt-4o-mini", "word " * 50))
    assert listed is not None
    assert 0 < listed < 0.01


@pytest.mark.parametrize(
    ("name", "params"),
    [("openai/nobody-lists-this", {}), ("openai/gpt-4o-mini", {"max_tokens": None})],
)
def test_worst_cost_is_unknown_without_a_price_or_a_limit(
    name: str, params: dict[str, Any]
) -> None:
    model = LitellmModel(Settings.from_env())
    assert model.worst_cost(_of(name, "word", **params)) is None
