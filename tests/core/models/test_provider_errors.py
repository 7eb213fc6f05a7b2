"""Sorting what providers raise: what the test server cannot send, and the headers."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ModelError, ModelMisconfigured, ModelUnavailable
from core.models.keys import without_secrets
from core.models.provider_errors import retry_after, sort_error

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


class ProviderError(Exception):
    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.__dict__.update(fields)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": format_datetime(NOW.replace(second=30), usegmt=True)}, 30.0),
        ({"retry-after": format_datetime(NOW.replace(hour=1), usegmt=True)}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_a_wish_is_read_from_seconds_and_from_dates(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, NOW) == seconds


@given(st.text())
def test_no_header_makes_a_wish_fail_or_negative(text: str) -> None:
    wish = retry_after({"retry-after": text}, NOW)
    assert wish is None or wish >= 0


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ProviderError("Missing credentials. Please pass an `api_key`", status_code=500), "key"),
        (ProviderError("Overloaded", status_code=529), "unavailable"),
        (ProviderError("conflict", status_code=409), "unavailable"),
        (ProviderError("too early", status_code=425), "unavailable"),
        (ProviderError("gone", status_code=410), "refused the request: gone"),
        (ProviderError("no money", status_code=402), "no credit"),
        (ProviderError("check your plan and billing details", status_code=429), "unavailable"),
        (ValueError("what is this"), "unavailable"),
    ],
)
def test_each_error_is_of_the_kind_that_says_what_helps(error: Exception, kind: str) -> None:
    sorted_ = sort_error(error, "some/model", ())
    if kind == "unavailable":
        assert isinstance(sorted_, ModelUnavailable)
    else:
        assert isinstance(sorted_, ModelMisconfigured)
        assert kind in str(sorted_)


def test_what_broke_a_stream_counts_when_litellm_wraps_it() -> None:
    class MidStreamFallbackError(ProviderError):
        pass

    inner = ProviderError("bad key", status_code=401)
    outer = MidStreamFallbackError("wrapped", status_code=500, original_exception=inner)
    assert isinstance(sort_error(outer, "some/model", ()), ModelMisconfigured)


@given(st.text(), st.sampled_from([0, 400, 401, 403, 404, 413, 422, 429, 500, 503, 529]))
def test_every_error_becomes_one_short_line(message: str, status: int) -> None:
    error = sort_error(ProviderError(message, status_code=status), "some/model", ("seed",))
    assert isinstance(error, ModelError)
    assert len(str(error).splitlines()) == 1
    assert len(str(error)) < 300


def test_secrets_are_taken_out_whatever_they_look_like(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD_API_KEY", "p@ss word!")
    text = "p@ss word! sk-abcdef123 https://u:p@host/v1?key=x AIza-1234567 " + "a" * 40
    assert without_secrets(text) == "*** *** (address) *** ***"
