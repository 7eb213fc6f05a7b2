"""The composition root of the web app: settings, the store and models, made once a process.

The only module of `pages` that may meet `storage` and the litellm adapter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import streamlit as st

from core.clock import now
from core.parties.lexicon import Lexicon, build_lexicon
from core.ports import Store
from core.review_ports import ReviewingStore
from core.roles import Guarded, Role, claim_first, require, role_of
from core.sample import ensure_sample
from core.settings import Settings
from core.types import ModelSpec
from pages._ui import who

if TYPE_CHECKING:
    from core.bulk_override import BulkStore
    from core.models.litellm_model import LitellmModel
    from storage.store import SqlStore


def settings() -> Settings:
    """The settings in force. Raises `SettingsError`."""
    return Settings.from_env()


def store() -> Store:
    """The store of these settings, opened, migrated and filled with the sample.

    Where the app is shared, as the person at work may use it: each write asks for a role.
    """
    return cast("Store", _allowed())


def bulk_store() -> BulkStore:
    """The same store, for overriding many judgements at once."""
    return cast("BulkStore", _allowed())


def reviews() -> ReviewingStore:
    """The same store, for what needs designs and labels."""
    return cast("ReviewingStore", _allowed())


def _allowed() -> object:
    opened = _store(settings())
    if who.own_machine(settings()):
        return opened
    person = who.signed_in()
    if person:
        claim_first(person, opened, now=now)
    return Guarded(opened, person, lambda: _role(person))


def _role(person: str) -> Role:
    """Read anew each time: a role that was taken away holds no longer."""
    return role_of(person, _store(settings()), shared=True) if person else Role.VIEWER


def demand(role: Role) -> None:
    """Raise `NotAllowed` unless the person at work has this role; for work of other processes."""
    if not who.own_machine(settings()):
        require(_role(who.signed_in()), role)


def model() -> LitellmModel:
    """What answers model calls, and says beforehand why it could not.

    litellm itself is loaded with the first call.
    """
    return _model(settings())


def token_price(spec: ModelSpec) -> tuple[float, float] | None:
    """Dollars of a token sent and one received, or None when they are not known."""
    from core.models.price_list import token_price as found

    return found(spec)


def lexicon(dataset: str) -> Lexicon:
    """The words of a dataset that scripted parties read by."""
    return _lexicon(settings(), dataset)


@st.cache_resource(show_spinner="Opening the database …")
def _store(settings: Settings) -> SqlStore:
    from storage.store import open_store

    opened = open_store(settings.database_url)
    ensure_sample(opened)
    return opened


@st.cache_resource(show_spinner=False)
def _model(settings: Settings) -> LitellmModel:
    from core.models.litellm_model import LitellmModel

    return LitellmModel(settings)


@st.cache_resource(show_spinner=False)
def _lexicon(settings: Settings, dataset: str) -> Lexicon:
    return build_lexicon(_store(settings).vocabulary(dataset))
