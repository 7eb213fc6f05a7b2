"""The one place that turns faults into words and next steps on the screen."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from core.errors import AppError
from pages._ui import text

log = logging.getLogger(__name__)


@contextmanager
def shown() -> Iterator[None]:
    """Show what is raised inside: an `AppError` as its sentence, anything else with an id."""
    try:
        yield
    except AppError as error:
        show(error)
    except Exception as error:
        if _is_streamlits_own(error):
            raise
        unknown(error)


def show(error: AppError) -> None:
    st.error(text.escape_md(str(error)), icon=":material/error:")


def unknown(error: Exception) -> None:
    """An unforeseen fault: logged whole, shown with an id to find it by."""
    fault = uuid.uuid4().hex[:8]
    log.error("fault %s", fault, exc_info=error)
    st.error(
        f"Something unforeseen went wrong on this page; nothing was changed. The log names it "
        f"as fault {fault}.",
        icon=":material/error:",
    )


def _is_streamlits_own(error: Exception) -> bool:
    """Reruns and stops are exceptions of Streamlit that must pass."""
    return type(error).__module__.startswith("streamlit.runtime.scriptrunner")
