"""Alembic's entry: migrates over the connection it is handed, or `RAPPORT_DATABASE_URL`.

`storage.migrate` hands a connection in. Without one this serves a developer who writes the
next migration with the `alembic` command.
"""

from __future__ import annotations

import logging
import os

import sqlalchemy as sa
from alembic import context

import storage.tables  # noqa: F401 (fills the metadata)
from storage.database import Database
from storage.fields import Base

logging.getLogger("alembic").setLevel(logging.WARNING)


def _migrate(connection: sa.Connection) -> None:
    context.configure(connection=connection, target_metadata=Base.metadata)
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    _migrate(given)
else:
    with Database(os.environ["RAPPORT_DATABASE_URL"]).write() as own:
        _migrate(own)
