"""Time and identity, so that everything else can be given another clock."""

from __future__ import annotations

import os
import socket
import uuid
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

LEASE_SECONDS = 30.0
"""How long a claim outlives its last heartbeat, and a study its silence before it counts as
stalled. A dead runner's last beat is older than its death, so that it is seen sooner."""


def now() -> datetime:
    """The present moment, aware, in UTC."""
    return datetime.now(UTC)


def new_id() -> str:
    return uuid.uuid4().hex


def process_owner() -> str:
    """A name for this start of this process: machine, process id and something unique.

    A name that two starts shared would let the second renew the first one's leases for ever.
    """
    return f"{_machine()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


@cache
def _machine() -> str:
    """Within this, a process id means one process.

    Machines may share a name, and containers on one machine may share its name while each
    counts processes for itself; the kernel's start and the space of process ids tell them apart.
    """
    try:
        start = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        return socket.gethostname()
    mark = uuid.uuid5(uuid.NAMESPACE_OID, f"{start} {space}").hex[:8]
    return f"{socket.gethostname()}/{mark}"


def owner_is_dead(owner: str) -> bool:
    """Whether `owner` was a process of this machine that is no more."""
    machine, pid, _ = owner.rsplit(":", 2)
    if machine != _machine():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _is_zombie(int(pid))


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False
