"""Fields that tables are made of: short names for columns of the types in `columns`."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlmodel import Field, SQLModel

from storage.columns import BigKey, Json, Text, UtcTime

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}


def text_field(**options: Any) -> Any:
    """Text of any content, not null unless `nullable` says so."""
    return Field(sa_type=Text, **options)


def json_field() -> Any:
    """A JSON value."""
    return Field(sa_type=Json)


def time_field(**options: Any) -> Any:
    """A moment with its time zone."""
    return Field(sa_type=UtcTime, **options)


def key_field() -> Any:
    """A row number that the database gives."""
    return Field(default=None, sa_type=BigKey, primary_key=True)


def ref_field(target: str, **options: Any) -> Any:
    """The row number of another table, `table.column`."""
    return Field(sa_type=BigKey, foreign_key=target, **options)


def big_field(**options: Any) -> Any:
    """A whole number of 64 bits."""
    return Field(sa_type=sa.BigInteger, **options)


def one_of(column: str, values: Iterable[StrEnum]) -> sa.CheckConstraint:
    """A check that a column holds one of `values`."""
    listed = ", ".join(f"'{v}'" for v in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


def only_where(condition: str) -> dict[str, Any]:
    """Options of an index over the rows that fit a condition, for both engines."""
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


class Base(SQLModel):
    """What all tables share: metadata of their own, which a reloaded module makes anew."""

    metadata: ClassVar[sa.MetaData] = sa.MetaData(naming_convention=NAMING)
