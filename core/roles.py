"""Who may do what where several people share one Rapport.

On one's own machine whoever sits there may do everything. Where it is shared, everybody may
read, and each write asks for a role: it is checked here, at the write itself, whatever a page
has drawn before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from core.errors import AppError
from core.review_ports import ReviewingStore


class Role(StrEnum):
    """Each may do what those before it may."""

    VIEWER = "viewer"
    ANNOTATOR = "annotator"
    ADJUDICATOR = "adjudicator"
    ADMIN = "admin"


class NotAllowed(AppError):
    """This person may not do this."""


# What asks for which role. A write that stands nowhere here is for admins.
NEEDED = {
    "reserve": Role.ANNOTATOR,
    "keep_draft": Role.ANNOTATOR,
    "add_annotations": Role.ANNOTATOR,
    "add_fault": Role.ANNOTATOR,
    "add_override": Role.ANNOTATOR,
    "add_overrides": Role.ADJUDICATOR,
    "add_decision": Role.ADJUDICATOR,
    "add_design": Role.ADJUDICATOR,
}
_READS = ("get_", "find_", "list_", "count_", "iter_", "search_", "rated_", "stored_")
_READERS = frozenset(
    {
        *("recent_seconds", "threads_of_members"),
        *("revision", "ratings", "eligible", "progress", "vocabulary", "study_annotations"),
        *("arm_progress", "lease_holders", "lease_owners", "judgement_statuses", "past"),
        *("failure_kinds", "dialogues_without", "call_owners", "role_of", "close"),
    }
)


@dataclass(frozen=True, slots=True)
class Guarded:
    """A store as one person may use it: reads go through, writes are asked for first.

    `allowed` says the person's role now, so that one that was taken away holds no longer.
    """

    store: ReviewingStore
    person: str
    allowed: Callable[[], Role]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.store, name)
        if name in _READERS or name.startswith(_READS):
            return found
        need = NEEDED.get(name, Role.ADMIN)

        def checked(*args: Any, **options: Any) -> Any:
            require(self.allowed(), need)
            if need is not Role.ADMIN:
                _own_name(self.person, (*args, *options.values()))
            return found(*args, **options)

        return checked


_RANK = {role: rank for rank, role in enumerate(Role)}


def require(role: Role, need: Role) -> None:
    """Raise `NotAllowed` when `role` is not enough."""
    if _RANK[role] < _RANK[need]:
        raise NotAllowed(
            f"This is for people with the role {need}, and yours is {role}; sign in, or ask an "
            "admin."
        )


_NAMED = ("annotator", "author")


def _own_name(person: str, values: Iterable[Any]) -> None:
    """Raise `NotAllowed` for a row that is signed with another's name."""
    for value in values:
        rows = value if isinstance(value, list | tuple) else (value,)
        for row in rows:
            names = {getattr(row, name, person) for name in _NAMED}
            if names != {person}:
                raise NotAllowed("What you save is signed with your own name, and no other.")


def role_of(person: str, store: ReviewingStore, *, shared: bool) -> Role:
    """The role of a person. Where nothing is shared everybody is an admin.

    Where it is, who was given none may look; the first person to sign in is the admin, so that
    there is one.
    """
    if not shared:
        return Role.ADMIN
    given = store.role_of(person)
    if given is not None:
        return Role(given)
    return Role.VIEWER


def claim_first(person: str, store: ReviewingStore, *, now: Callable[[], datetime]) -> None:
    """Make the first person who signs in to a shared Rapport its admin."""
    if person and not store.list_roles():
        store.give_role(person, str(Role.ADMIN), person, now())


def give(
    person: str, role: Role, by: str, store: ReviewingStore, *, now: Callable[[], datetime]
) -> None:
    """Give somebody a role. The last admin keeps theirs."""
    roles = store.list_roles()
    admins = {name for name, held in roles.items() if held == Role.ADMIN}
    if role is not Role.ADMIN and admins == {person}:
        raise NotAllowed("This is the last admin; make somebody else one first.")
    store.give_role(person, str(role), by, now())
