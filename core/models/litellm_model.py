"""The only importer of litellm: one request to any provider, with honest costs and errors.

litellm takes seconds to import, so it is loaded at the first call. Its own retries, prints,
telemetry and dropping of parameters are off: requests are counted here, and what was sent is
what the study says. Called from many threads at once.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from core.errors import AppError, ModelError, ModelMisconfigured
from core.models import openai_like
from core.models.call_params import check_params, key_of, prices, response_format, sent_params
from core.models.costs import listed, priced
from core.models.heard import LONGEST_REPLY, Heard
from core.models.interruptible import pieces
from core.models.keys import VARIABLES, ProviderKey, is_set, key_presence, missing_key
from core.models.provider_errors import sort_error, unknown_provider
from core.models.retry import RetryPolicy, Waiting, with_retries
from core.ports import Again, ChatRequest, IsCancelled, OnDelta, Reply
from core.settings import Settings
from core.types import ModelSpec

_ROLE_TOKENS = 16  # what a provider may add around each message

__all__ = [
    "LONGEST_REPLY",
    "LitellmModel",
    "ProviderKey",
    "check_model",
    "key_presence",
    "load_litellm",
]

logger = logging.getLogger(__name__)

NO_KEY = "no-key-needed"  # what a server of one's own is sent where no key is set
GRACE_SECONDS = 1.0  # litellm's own time-out shall come first: it closes the connection
# Providers that find credentials elsewhere than in a variable, so that none is missed.
_AMBIENT = ("bedrock", "vertex_ai", "sagemaker", "azure_ai")
_NOISY = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "httpx", "httpx2", "openai")

_loading = threading.Lock()


@functools.cache
def _configured() -> Any:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it downloads its prices
    # OpenAI and servers like it are called as all others are, which takes a third less processor
    # time than litellm's detour over OpenAI's own client.
    os.environ["EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER"] = "True"
    # Reports for callbacks, of which there are none here, cost a sixth of each call.
    os.environ["LOGGING_EXECUTOR_MAX_PENDING_TASKS"] = "0"
    import litellm

    from core.models.transport import shared_client

    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.drop_params = False
    litellm.disable_streaming_logging = True  # else it runs an event loop for every piece
    litellm.client_session = shared_client()
    atexit.register(litellm.client_session.close)
    return litellm


def load_litellm() -> Any:
    """litellm, silent and offline. Takes seconds the first time: call it before a rush."""
    with _loading:
        return _configured()


@dataclass
class _Told(Heard):
    """What litellm hears; `cost` is its own figure, which streams come without."""

    usage: Any = None
    named: str = ""
    cost: float | None = None

    def take(self, response: Any) -> str:
        """Add a response, or one piece of a streamed one; returns its text."""
        if (usage := getattr(response, "usage", None)) is not None:
            self.usage = usage
            self.count(usage.prompt_tokens, usage.completion_tokens)
        self.named = response.model or self.named
        self.cost = getattr(response, "_hidden_params", {}).get("response_cost")
        for choice in response.choices[:1]:
            said = choice.delta if hasattr(choice, "delta") else choice.message
            return self.add(said.content or "", choice.finish_reason, _refusal(said))
        return ""


def _refusal(said: Any) -> str:
    fields = getattr(said, "provider_specific_fields", None) or {}
    return str(getattr(said, "refusal", None) or fields.get("refusal") or "")


def _system_chance() -> Callable[[], float]:
    return random.Random().random


@dataclass(frozen=True)
class LitellmModel:
    """Implements `ports.ChatModel` for every model that litellm can reach.

    `Reply.seconds` is the time of the attempt that was answered.
    """

    settings: Settings
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = field(default_factory=_system_chance)

    def reply(
        self,
        request: ChatRequest,
        *,
        on_delta: OnDelta | None = None,
        is_cancelled: IsCancelled | None = None,
        again: Again | None = None,
    ) -> Reply:
        """Answer one request. Raises a `ModelError` of the right kind, or `Cancelled`."""
        started = self.clock()

        def send(attempt: int) -> Reply:
            if attempt > 1 and on_delta is not None:
                on_delta("")
            began = self.clock()
            reply = self._ask(request, on_delta, is_cancelled)
            return replace(reply, attempts=attempt, seconds=self.clock() - began)

        try:
            self._refuse_unusable(request.spec)
            policy = RetryPolicy(self.settings.retry_seconds)
            waiting = Waiting(self.clock, self.sleep, self.chance)
            reply = with_retries(send, policy, waiting, is_cancelled, again)
        except AppError as error:
            _log(request, self.clock() - started, error)
            raise
        _log(request, reply.seconds, reply)
        return reply

    def worst_cost(self, request: ChatRequest) -> float | None:
        """The most that `request` can cost in dollars; None where no price or limit is known.

        A token of the prompt is at least one byte of it, so that its bytes bound its tokens; a
        request that is sent again asks for a place of its own each time.
        """
        sent = sent_params(request)
        limit = sent.get("max_tokens", sent.get("max_completion_tokens"))
        if limit is None:
            return None
        prompt = sum(len(m.content.encode()) + _ROLE_TOKENS for m in request.messages)
        if (own := prices(request.spec)) is not None:
            return own.cost(prompt, int(limit))
        litellm = load_litellm()
        if not priced(litellm, request.spec.model):
            return None
        parts = litellm.cost_per_token(
            model=request.spec.model, prompt_tokens=prompt, completion_tokens=int(limit)
        )
        return float(sum(parts))

    def check(self, spec: ModelSpec) -> str | None:
        """`check_model` with the settings' own default server."""
        return check_model(self._resolved(spec))

    def _resolved(self, spec: ModelSpec) -> ModelSpec:
        """The spec with the default server, if it is one that the default is for."""
        ours = spec.model.startswith("openai/") and spec.api_base is None
        return replace(spec, api_base=self.settings.api_base) if ours else spec

    def _refuse_unusable(self, spec: ModelSpec) -> None:
        if complaint := self.check(spec):
            raise ModelMisconfigured(complaint, attempts=0)

    def _ask(
        self, request: ChatRequest, on_delta: OnDelta | None, is_cancelled: IsCancelled | None
    ) -> Reply:
        litellm, spec = load_litellm(), self._resolved(request.spec)
        direct = on_delta is None and needs_no_translation(litellm, spec)
        start = (self._directly if direct else self._translated)(litellm, spec, request, on_delta)
        patience = self.settings.request_timeout + GRACE_SECONDS
        coming = pieces(start, wait_seconds=patience, is_cancelled=is_cancelled)
        try:
            with contextlib.closing(coming):  # type: ignore[type-var]
                heard = next(coming) if direct else _listen(coming, on_delta)
        except AppError:
            raise
        except Exception as error:
            raise sort_error(error, spec.model, sent_params(request)) from None
        return heard.reply(spec.model, _cost(litellm, spec, heard))

    def _directly(
        self, litellm: Any, spec: ModelSpec, request: ChatRequest, _: OnDelta | None
    ) -> Callable[[], Iterable[Heard]]:
        """Ask the server that the spec names; everything comes in one piece."""
        assert spec.api_base is not None
        name = spec.model.partition("/")[2]
        messages = [{"role": m.role, "content": m.content} for m in request.messages]
        body = {"model": name, "messages": messages} | sent_params(request)
        if request.schema is not None and _structured(litellm, spec):
            body["response_format"] = response_format(request.schema)
        key = key_of(spec) or os.environ.get("OPENAI_API_KEY", "").strip() or NO_KEY
        client, timeout = litellm.client_session, self.settings.request_timeout
        base = spec.api_base
        return lambda: [openai_like.ask(client, base, key, body, timeout=timeout)]

    def _translated(
        self, litellm: Any, spec: ModelSpec, request: ChatRequest, on_delta: OnDelta | None
    ) -> Callable[[], Iterable[Any]]:
        """Let litellm ask, whatever the provider speaks."""
        arguments: dict[str, Any] = {
            "model": spec.model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "timeout": self.settings.request_timeout,
            "max_retries": 0,
            "num_retries": 0,
            "drop_params": False,
        }
        if request.schema is not None and _structured(litellm, spec):
            arguments["response_format"] = response_format(request.schema)
        if on_delta is not None:
            arguments |= {"stream": True, "stream_options": {"include_usage": True}}
        arguments |= _server(litellm, spec) | _client(litellm, spec) | sent_params(request)

        def start() -> Iterable[Any]:
            response = litellm.completion(**arguments)
            return response if on_delta is not None else [response]

        return start


def _listen(coming: Iterator[Any], on_delta: OnDelta | None) -> _Told:
    heard = _Told()
    for piece in coming:
        text = heard.take(piece)
        if text and on_delta is not None:
            on_delta(text)
        if heard.full:
            break
    return heard


def needs_no_translation(litellm: Any, spec: ModelSpec) -> bool:
    """Whether the model is one of a server of one's own that speaks OpenAI's protocol.

    What litellm knows by name goes through it: it knows prices, and which parameters such a
    model takes under other names.
    """
    return (
        spec.api_base is not None
        and spec.model.startswith("openai/")
        and not listed(litellm, spec.model)
    )


def _server(litellm: Any, spec: ModelSpec) -> dict[str, Any]:
    """Address and key, where litellm would not find them itself."""
    key = key_of(spec)
    if spec.api_base is None:
        return {} if key is None else {"api_key": key}
    if key is None and not any(is_set(n) for n in VARIABLES.get(_provider(litellm, spec), ())):
        key = NO_KEY
    return {"api_base": spec.api_base} | ({} if key is None else {"api_key": key})


def _client(litellm: Any, spec: ModelSpec) -> dict[str, Any]:
    """The connections to use, where litellm would open others than `client_session`'s."""
    return {"client": _handler(litellm)} if _provider(litellm, spec) == "openai" else {}


@functools.cache
def _handler(litellm: Any) -> Any:
    from litellm.llms.custom_httpx.http_handler import HTTPHandler

    return HTTPHandler(client=litellm.client_session)


def _structured(litellm: Any, spec: ModelSpec) -> bool:
    wanted = spec.params.get("structured")
    return _supports_schema(litellm, spec.model) if wanted is None else bool(wanted)


@functools.lru_cache(maxsize=256)
def _supports_schema(litellm: Any, model: str) -> bool:
    return bool(litellm.supports_response_schema(model))


def _cost(litellm: Any, spec: ModelSpec, heard: Heard) -> float | None:
    """Dollars by the spec's prices, else by litellm's list; None where nobody knows."""
    if (own := prices(spec)) is not None:
        return own.cost(heard.tokens_in, heard.tokens_out)
    if heard.tokens_in is None or not isinstance(heard, _Told) or not priced(litellm, spec.model):
        return None
    if heard.cost is not None:
        return heard.cost
    response = litellm.ModelResponse(model=heard.named or spec.model, usage=heard.usage)
    try:
        return float(litellm.completion_cost(completion_response=response, model=spec.model))
    except Exception:  # a price that cannot be computed is unknown, whatever the reason
        return None


def _log(request: ChatRequest, seconds: float, outcome: Reply | AppError) -> None:
    """One line per call, to be joined with the call log by the request's hash. No texts."""
    if not logger.isEnabledFor(logging.INFO):
        return
    said = outcome if isinstance(outcome, Reply) else None
    logger.info(
        "model call %s model=%s tokens_in=%s tokens_out=%s seconds=%.2f attempts=%s outcome=%s",
        request.hash[:12],
        request.spec.model,
        said and said.tokens_in,
        said and said.tokens_out,
        seconds,
        outcome.attempts if isinstance(outcome, Reply | ModelError) else None,
        said.finish_reason if said else type(outcome).__name__,
    )


# --- before a study starts --------------------------------------------------------------------


def check_model(spec: ModelSpec) -> str | None:
    """Say in one sentence why the model cannot be used, or None. Sends nothing.

    For the main providers this needs no litellm, so that a page may ask.
    """
    if spec.scripted:
        return None
    try:
        check_params(spec)
    except ModelMisconfigured as error:
        return str(error)
    if spec.api_base is not None and not _is_web(spec.api_base):
        return f"{spec.model}: api_base must be an address such as http://127.0.0.1:8000/v1."
    prefix, slash, _ = spec.model.partition("/")
    if slash and prefix in VARIABLES:
        return None if _needs_no_key(spec) else missing_key(spec.model, prefix)
    return _check_with_litellm(spec)


def _is_web(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def _needs_no_key(spec: ModelSpec) -> bool:
    return spec.api_base is not None or key_of(spec) is not None


def _check_with_litellm(spec: ModelSpec) -> str | None:
    litellm = load_litellm()
    provider = _provider(litellm, spec)
    if not provider:
        return unknown_provider(spec.model)
    if _needs_no_key(spec) or provider in _AMBIENT:
        return None
    if provider in VARIABLES:
        return missing_key(spec.model, provider)
    return _missing_elsewhere(litellm, spec.model)


def _provider(litellm: Any, spec: ModelSpec) -> str:
    return _provider_of(litellm, spec.model)


@functools.lru_cache(maxsize=256)
def _provider_of(litellm: Any, model: str) -> str:
    """litellm's name for the provider of a model; empty when it knows none."""
    try:
        return str(litellm.get_llm_provider(model)[1])
    except Exception:
        return ""


def _missing_elsewhere(litellm: Any, model: str) -> str | None:
    needed = litellm.validate_environment(model)["missing_keys"]
    names = [n for n in needed if n.endswith(("_KEY", "_TOKEN"))]
    return f"{model} needs a key: set {names[0]} in the environment." if names else None
