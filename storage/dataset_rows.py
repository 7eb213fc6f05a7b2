"""Rows of datasets to core values and back; see `storage.rows` for the manner."""

from __future__ import annotations

import hashlib

from core.types import (
    Affinity,
    AffinityRef,
    Dataset,
    ImportReport,
    Irregularity,
    Persona,
    PersonaSummary,
    Task,
    TaskKind,
)
from storage.columns import number_in, to_json
from storage.database import AnyRow
from storage.rows import Values


def _content_hash(content: Values) -> str:
    """Tells whether a row that comes again is the same."""
    text = to_json(content).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:32]


def dataset_of(row: AnyRow) -> Dataset:
    """A dataset with the counts of its row."""
    return Dataset(
        name=row.name,
        kind=row.kind,
        personas=row.personas,
        tasks=row.tasks,
        scenarios=row.scenarios,
        imported_at=row.imported_at,
        sample=row.sample,
    )


def report_values(report: ImportReport) -> Values:
    """The columns of an import report."""
    return {
        "dataset": report.dataset,
        "kind": report.kind,
        "source": report.source,
        "personas": report.personas,
        "tasks": report.tasks,
        "scenarios": report.scenarios,
        "dialogues": report.dialogues,
        "added": report.added,
        "seconds": report.seconds,
        "at": report.at,
        "irregularities": [
            [i.kind, i.count, i.repaired, i.what, i.examples] for i in report.irregularities
        ],
    }


def report_of(row: AnyRow) -> ImportReport:
    """An import report with its irregularities."""
    return ImportReport(
        dataset=row.dataset,
        kind=row.kind,
        source=row.source,
        personas=row.personas,
        tasks=row.tasks,
        scenarios=row.scenarios,
        dialogues=row.dialogues,
        added=row.added,
        irregularities=tuple(
            Irregularity(kind, count, repaired, what, tuple(examples))
            for kind, count, repaired, what, examples in row.irregularities
        ),
        seconds=row.seconds,
        at=row.at,
    )


def persona_values(persona: Persona) -> Values:
    """The columns of a persona but for its dataset, with the hash of its content."""
    content: Values = {
        "demographics": dict(persona.demographics),
        "interests": sorted(persona.interests),
        "affinities": [[a.domain, a.name, a.listed, a.values] for a in persona.affinities],
        "interactions": dict(persona.interactions),
    }
    key = {"persona_id": persona.id, "number": number_in(persona.id)}
    return content | key | {"content_hash": _content_hash(content)}


def persona_text(persona: Persona) -> list[str]:
    """What a search looks into, case-folded: one piece for the short facts, one per summary."""
    facts = list(persona.demographics.values())
    for affinity in persona.affinities:
        facts += [affinity.name, *affinity.values]
    return [piece.casefold() for piece in ("\n".join(facts), *persona.interactions.values())]


def summary_of(row: AnyRow) -> PersonaSummary:
    """A persona without affinities and summaries, from its light columns."""
    return PersonaSummary(row.persona_id, row.demographics, frozenset(row.interests))


def persona_of(row: AnyRow) -> Persona:
    """A whole persona."""
    return Persona(
        id=row.persona_id,
        demographics=row.demographics,
        interests=frozenset(row.interests),
        affinities=tuple(
            Affinity(domain, name, tuple(values), listed)
            for domain, name, listed, values in row.affinities
        ),
        interactions=row.interactions,
    )


def task_values(task: Task) -> Values:
    """The columns of a task but for its dataset, with the hash of its content."""
    content: Values = {
        "kind": str(task.kind),
        "domains": list(task.domains),
        "description": task.description,
        "intent": task.intent,
        "goal": task.goal,
        "relevant": [[r.domain, r.name] for r in task.relevant],
    }
    key = {"task_id": task.id, "number": number_in(task.id)}
    return content | key | {"content_hash": _content_hash(content)}


def task_of(row: AnyRow) -> Task:
    """A whole task."""
    return Task(
        id=row.task_id,
        kind=TaskKind(row.kind),
        domains=tuple(row.domains),
        description=row.description,
        intent=row.intent,
        goal=row.goal,
        relevant=tuple(AffinityRef(domain, name) for domain, name in row.relevant),
    )
