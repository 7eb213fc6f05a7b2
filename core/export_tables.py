"""Tables of a study: CSV for spreadsheets, Parquet for programs."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import Any, TypeAlias

import pandas as pd

from core.files import Folder
from core.ports import Store, Study
from core.types import Dialogue, Judgement, Override

Row: TypeAlias = dict[str, Any]
_AT_ONCE = 2_000

# Columns and their pandas types; text that is absent stays absent.
_DIALOGUES = {
    "id": "string",
    "study_id": "string",
    "unit_id": "string",
    "attempt": "Int64",
    "dataset": "string",
    "persona_id": "string",
    "task_id": "string",
    "kind": "string",
    "domains": "string",
    "intent": "string",
    "arm": "string",
    "model": "string",
    "context": "string",
    "assistant": "string",
    "user_agent": "string",
    "prompts": "string",
    "repetition": "Int64",
    "seed": "Int64",
    "turns": "Int64",
    "stop_reason": "string",
    "stop_detail": "string",
    "created_at": "string",
    "seconds": "Float64",
    "author": "string",
    "parent_id": "string",
    "parent_message": "Int64",
}
_MESSAGES = {
    "dialogue_id": "string",
    "number": "Int64",
    "role": "string",
    "content": "string",
    "at": "string",
    "author": "string",
}
_JUDGEMENTS = {
    "id": "string",
    "dialogue_id": "string",
    "study_id": "string",
    "dimension": "string",
    "target": "string",
    "turn": "Int64",
    "status": "string",
    "value": "Int64",
    "rationale": "string",
    "evidence": "string",
    "raw": "string",
    "instrument_id": "string",
    "judge": "string",
    "rubric": "string",
    "prompt_hash": "string",
    "params": "string",
    "created_at": "string",
}
_OVERRIDES = {
    "id": "string",
    "judgement_id": "string",
    "dialogue_id": "string",
    "value": "Int64",
    "reason_kind": "string",
    "reason": "string",
    "author": "string",
    "created_at": "string",
    "supersedes": "string",
}

_README = """Tables of one study, as UTF-8 text (choose UTF-8 when a spreadsheet asks).

dialogues.csv    one row per dialogue
messages.csv     one row per message, numbered from 0, in the order of the dialogue
judgements.csv   one row per judgement; a judgement without a value has a status that says why
overrides.csv    one row per override

Cells that a spreadsheet would run as a formula, because they begin with = + - @, a tab or a
line end, have one apostrophe (') in front. So do cells that begin with apostrophes and then one
of these. To have the text as it was, take one apostrophe off such cells. The Parquet and JSONL
forms hold the texts unchanged.
"""

_FORMULA = re.compile(r"^'*[=+\-@\t\r\n]")


def defused(text: str) -> str:
    """Return text that no spreadsheet runs: an apostrophe goes before what begins a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def as_it_was(text: str) -> str:
    """Undo `defused`."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def write_csv(store: Store, study: Study, folder: Folder) -> dict[str, Any]:
    """Write the tables as CSV with a README; returns how many rows each has."""
    counts = _write(store, study, folder, csv_file, "csv")
    folder.write_text("README.txt", _README)
    return counts


def write_parquet(store: Store, study: Study, folder: Folder) -> dict[str, Any]:
    """Write the tables as Parquet, texts unchanged; returns how many rows each has."""
    return _write(store, study, folder, parquet_file, "parquet")


AddRows: TypeAlias = Callable[[pd.DataFrame], None]
OpenTable: TypeAlias = Callable[[Folder, str, dict[str, str]], AbstractContextManager[AddRows]]


def _write(
    store: Store, study: Study, folder: Folder, open_table: OpenTable, suffix: str
) -> dict[str, Any]:
    counts = {"dialogues": 0, "messages": 0}
    with (
        open_table(folder, f"dialogues.{suffix}", _DIALOGUES) as add_dialogues,
        open_table(folder, f"messages.{suffix}", _MESSAGES) as add_messages,
    ):
        for batch in _batches(store.iter_dialogues(study.id)):
            messages = [row for dialogue in batch for row in _message_rows(dialogue)]
            add_dialogues(frame_of(map(_dialogue_row, batch), _DIALOGUES))
            add_messages(frame_of(messages, _MESSAGES))
            counts["dialogues"] += len(batch)
            counts["messages"] += len(messages)
    judgements = map(_judgement_row, store.iter_judgements(study.id))
    overrides = map(_override_row, store.list_all_overrides(study.id))
    for name, rows, columns in (
        ("judgements", judgements, _JUDGEMENTS),
        ("overrides", overrides, _OVERRIDES),
    ):
        with open_table(folder, f"{name}.{suffix}", columns) as add_rows:
            counts[name] = _add_all(rows, columns, add_rows)
    return counts


def _add_all(rows: Iterable[Row], columns: dict[str, str], add_rows: AddRows) -> int:
    count = 0
    for batch in _batches(rows):
        add_rows(frame_of(batch, columns))
        count += len(batch)
    return count


def _batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    remaining = iter(items)
    while batch := list(islice(remaining, _AT_ONCE)):
        yield batch


def frame_of(rows: Iterable[Row], columns: dict[str, str]) -> pd.DataFrame:
    """Rows as a frame of these columns; what UTF-8 cannot hold is written as its escape."""
    whole = [{name: _encodable(value) for name, value in row.items()} for row in rows]
    return pd.DataFrame(whole, columns=list(columns)).astype(columns)


def _encodable(value: Any) -> Any:
    """Half of a surrogate pair, which UTF-8 cannot hold, is written as its escape."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value


# --- files ------------------------------------------------------------------------------------


@contextmanager
def csv_file(folder: Folder, name: str, columns: dict[str, str]) -> Iterator[AddRows]:
    """Open a CSV file for frames of these columns; no cell of it is run as a formula."""
    texts = [column for column, kind in columns.items() if kind == "string"]
    with folder.open(name) as file:
        csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(columns)

        def add(frame: pd.DataFrame) -> None:
            safe = frame.assign(**{c: frame[c].map(defused, na_action="ignore") for c in texts})
            safe.to_csv(
                file, index=False, header=False, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n"
            )

        yield add


@contextmanager
def parquet_file(folder: Folder, name: str, columns: dict[str, str]) -> Iterator[AddRows]:
    """Open a Parquet file for frames of these columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"string": pa.string(), "Int64": pa.int64(), "Float64": pa.float64()}
    kinds["boolean"] = pa.bool_()
    schema = pa.schema([(column, kinds[kind]) for column, kind in columns.items()])
    with folder.replacing(name) as path, pq.ParquetWriter(path, schema) as writer:

        def add(frame: pd.DataFrame) -> None:
            writer.write_table(pa.Table.from_pandas(frame, schema=schema, preserve_index=False))

        yield add


# --- rows -------------------------------------------------------------------------------------


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _dialogue_row(dialogue: Dialogue) -> Row:
    row = {name: getattr(dialogue, name, None) for name in _DIALOGUES}
    return row | {
        "kind": str(dialogue.kind),
        "domains": "|".join(dialogue.domains),
        "arm": dialogue.arm.name,
        "model": dialogue.arm.assistant.model,
        "context": dialogue.arm.context.label,
        "assistant": _json(dialogue.arm.to_dict()),
        "user_agent": _json(dialogue.user_agent.to_dict()),
        "prompts": _json(dict(dialogue.prompts)),
        "stop_reason": str(dialogue.stop_reason),
        "created_at": dialogue.created_at.isoformat(),
    }


def _message_rows(dialogue: Dialogue) -> Iterator[Row]:
    for number, message in enumerate(dialogue.messages):
        yield {
            "dialogue_id": dialogue.id,
            "number": number,
            "role": str(message.role),
            "content": message.content,
            "at": message.at.isoformat() if message.at else None,
            "author": message.author,
        }


def _judgement_row(judgement: Judgement) -> Row:
    instrument = judgement.instrument
    row = {name: getattr(judgement, name, None) for name in _JUDGEMENTS}
    return row | {
        "target": str(judgement.target),
        "status": str(judgement.status),
        "evidence": "|".join(map(str, judgement.evidence)),
        "instrument_id": instrument.id,
        "judge": instrument.judge,
        "rubric": instrument.rubric,
        "prompt_hash": instrument.prompt_hash,
        "params": _json(dict(instrument.params)),
        "created_at": judgement.created_at.isoformat(),
    }


def _override_row(override: Override) -> Row:
    row = {name: getattr(override, name) for name in _OVERRIDES}
    return row | {
        "reason_kind": str(override.reason_kind),
        "created_at": override.created_at.isoformat(),
    }
