"""Departures of a source from its own format: counted, with a few examples, never silent.

The kinds follow the list in the PersonaLens notes (arXiv 2506.09902 and its data release).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from core.types import Irregularity

_EXAMPLES = 5
_SHORT = 100


@dataclass(frozen=True, slots=True)
class Kind:
    """What one kind of irregularity is, and whether the importer repairs it."""

    what: str
    repaired: bool = False


KINDS: dict[str, Kind] = {
    # profiles
    "misspelt_mask_key": Kind("interest key misspelt; read as the domain it means", True),
    "mask_order": Kind("personas whose interests list the domains in another order"),
    "masked_domain_has_affinities": Kind(
        "domains that a persona does not care for, with affinities and a summary all the same; kept"
    ),
    "unknown_affinity": Kind("affinities that the format does not name; kept"),
    "unknown_demographic": Kind(
        "personas with a demographic of N/A or Prefer not to say; kept as that text"
    ),
    "value_outside_vocabulary": Kind("values that are not in the affinity's closed list; kept"),
    "value_case_variant": Kind("values that differ from the closed list in case only; kept"),
    "duplicate_value": Kind("values listed twice in one affinity; kept"),
    "empty_list": Kind("affinities with an empty list; kept as no value"),
    "literal_na_value": Kind("affinity values that say N/A; kept as that text"),
    "no_preference": Kind("affinity values that say no preference; kept as that text"),
    "near_constant_affinity": Kind(
        "affinities that nine personas in ten answer alike: they cannot tell personas apart"
    ),
    "summary_announces_itself": Kind(
        "interaction summaries that open by announcing themselves (Here is …); kept"
    ),
    "summary_based_on": Kind("interaction summaries that open with Based on …; kept"),
    "empty_summary": Kind("interaction summaries without text; kept"),
    "near_synonymous_affinities": Kind("pairs of affinities of one domain with nearly one name"),
    "schema_fault": Kind("slips in res/schema.json; the vocabulary is used as it stands"),
    # tasks
    "placeholder_in_task": Kind("task texts with a slot in brackets that nobody filled; kept"),
    "task_without_state": Kind(
        "tasks that speak of something no profile holds (a calendar, a booking), so that the "
        "parties must invent it; kept"
    ),
    "instance_differs_from_definition": Kind(
        "scenarios whose task differs from its definition; the definition holds", True
    ),
    "affinity_name_spelling": Kind(
        "references to affinities in another spelling (Favorite, Favourite); resolved", True
    ),
    "affinity_name_qualified": Kind(
        "references to affinities with their domain in brackets; resolved", True
    ),
    "affinity_from_other_domain": Kind(
        "references to affinities that only domains outside the task have; resolved to those", True
    ),
    "ambiguous_affinity_name": Kind(
        "references to a name that several of the task's domains have; resolved to all of them",
        True,
    ),
    "unresolvable_affinity": Kind("references to affinities that exist nowhere; left out", True),
    "scenario_outside_interests": Kind(
        "scenarios in a domain that their persona does not care for; kept"
    ),
    # situations
    "placeholder_in_situation": Kind("situation fields with a slot in brackets; kept"),
    "vague_situation_value": Kind("situation fields that leave open which of several; kept"),
    # dialogues
    "user_model_equals_assistant": Kind(
        "dialogues whose user model is given as the assistant's, as the reference code writes it"
    ),
    "stop_reason_inferred": Kind(
        "dialogues that do not say why they ended; inferred from whose message is the last", True
    ),
    "empty_message": Kind("messages without text; kept"),
    "stop_word_in_message": Kind("messages that hold the word TERMINATE; kept"),
    # conversations by real people
    "post_not_object": Kind("items among the posts that are no objects; left out", True),
    "post_without_author": Kind("posts without an author; kept, and nobody's targets", True),
    "author_differs_from_group": Kind(
        "posts whose author is not the one they are listed under; the list holds", True
    ),
    "post_without_comments": Kind("posts without comments; kept"),
    "comments_not_list": Kind("comments or replies that are no list; read as none", True),
    "comment_not_object": Kind("comments that are no objects; left out", True),
    "null_body": Kind("comments without a text; kept, and never a target"),
    "deleted_text": Kind("comments whose text was deleted or removed; kept, never a target"),
    "written_by_bot": Kind("comments written by a bot; kept"),
    "score_not_number": Kind("comments whose score is no number; kept, without a score"),
    "time_missing": Kind("posts and comments without a time; kept, shown to no model"),
    "time_unreadable": Kind("posts and comments whose time cannot be read; as without one"),
    "time_as_number": Kind("times given as seconds since 1970; read as such", True),
    "domain_unknown": Kind("posts of a domain that is none of the ten; kept under its name"),
    "mention_replaced": Kind("names of people in texts; replaced by their pseudonyms", True),
    "link_replaced": Kind("links and mail addresses; replaced by a mark", True),
}


class Irregularities:
    """Counts by kind, and up to five short examples of each."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {}

    def add(self, kind: str, example: str, count: int = 1) -> None:
        """Count `count` cases of a kind that `KINDS` names."""
        if kind not in KINDS:
            raise KeyError(kind)
        self._counts[kind] += count
        kept = self._examples.setdefault(kind, [])
        if len(kept) < _EXAMPLES:
            kept.append(_shortened(example))

    def found(self) -> tuple[Irregularity, ...]:
        """Return what was counted, in the order of `KINDS`."""
        return tuple(
            Irregularity(
                key, self._counts[key], kind.repaired, kind.what, tuple(self._examples[key])
            )
            for key, kind in KINDS.items()
            if self._counts[key]
        )


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHORT else f"{line[: _SHORT - 1]}…"
