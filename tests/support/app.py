"""Pages under `AppTest`: open one, and look at what it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from core.clock import now
from core.settings import Settings

ROOT = Path(__file__).parents[2]


def open_page(name: str, **query: str) -> AppTest:
    """The app, gone to a page with these query parameters."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=20)
    app.run()
    app.switch_page(f"pages/{name}.py")
    for key, value in query.items():
        app.query_params[key] = value
    return app.run()


@contextmanager
def own_store(now: Callable[[], datetime] = now) -> Iterator[Any]:
    """The store that the app under test will open, to put something in beforehand."""
    from storage.store import open_store

    store = open_store(Settings.from_env().database_url, now=now)
    try:
        yield store
    finally:
        store.close()


def no_fault(app: AppTest) -> bool:
    """Whether the page was drawn to its end, without an error on it."""
    return not app.exception and not app.error


def texts(app: AppTest) -> list[str]:
    """Everything shown word for word."""
    return [element.value for element in app.text]


def marked(app: AppTest) -> list[str]:
    """Everything that is read as markdown: prose, captions, headings, cells of tables."""
    kinds = (app.markdown, app.caption, app.title, app.subheader, app.info, app.success)
    found = [str(e.value) for kind in kinds for e in kind]
    found += [str(e.value) for kind in (app.warning, app.error) for e in kind]
    cells = [str(v) for t in app.table for row in t.value.to_numpy().tolist() for v in row]
    heads = [str(name) for t in app.table for name in t.value.columns]
    return found + cells + heads


def links(app: AppTest) -> list[tuple[str, str]]:
    """Page and query string of every link on the page."""
    return [(e.proto.page, e.proto.query_string) for e in app.get("page_link")]
