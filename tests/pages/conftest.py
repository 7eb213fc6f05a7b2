"""What tests of pages stand on."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.runtime.pages_manager import PagesManager


class SettledPages(PagesManager):
    """The pages of a process in which the navigation has been declared before."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        PagesManager.uses_pages_directory = False
        super().__init__(*args, **kwargs)


@pytest.fixture(autouse=True)
def _settled_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run of `AppTest` be a rerun, not the first deep link into a fresh process.

    Each run of `AppTest` forgets that the app declares its pages. Streamlit would run the
    page's file by itself first, and the guard in `frame.enter` would start over with `app.py`:
    by then a click is forgotten.
    """
    monkeypatch.setattr("streamlit.testing.v1.app_test.PagesManager", SettledPages)
