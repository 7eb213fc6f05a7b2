"""Whose machine it is decides what the app remembers and offers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import streamlit as st
from streamlit import config

from core.settings import Settings
from pages._ui import who


@pytest.fixture
def _server_address() -> Iterator[None]:
    before = st.get_option("server.address")
    yield
    config.set_option("server.address", before)


@pytest.mark.usefixtures("_server_address")
@pytest.mark.parametrize(
    ("setting", "listens_on", "own"),
    [
        ("127.0.0.1", "localhost", True),
        ("localhost", "127.0.0.1", True),
        ("127.0.0.1", "0.0.0.0", False),
        ("127.0.0.1", None, False),
        ("0.0.0.0", "localhost", False),
        ("rapport.example", "localhost", False),
    ],
)
def test_machine_is_ones_own_only_when_nobody_else_can_reach_it(
    monkeypatch: pytest.MonkeyPatch, setting: str, listens_on: str | None, own: bool
) -> None:
    monkeypatch.setenv("RAPPORT_ADDRESS", setting)
    config.set_option("server.address", listens_on)
    assert who.own_machine(Settings.from_env()) is own
