"""Who is alive: only what this machine can know is taken for known."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from core import clock
from core.clock import owner_is_dead, process_owner


def test_this_process_is_alive() -> None:
    assert not owner_is_dead(process_owner())


def test_process_that_has_ended_is_dead() -> None:
    code = "from core.clock import process_owner; print(process_owner())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert owner_is_dead(ran.stdout.strip())


def test_no_two_starts_share_a_name() -> None:
    assert process_owner() != process_owner()


def test_process_of_another_machine_is_never_taken_for_dead() -> None:
    assert not owner_is_dead(f"elsewhere:{os.getpid()}:0")


@pytest.mark.skipif(not os.path.exists("/proc/self/ns/pid"), reason="needs Linux's /proc")
def test_process_of_a_container_that_shares_our_name_is_never_taken_for_dead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Containers on one machine may bear its name and still count processes each for itself."""
    monkeypatch.setattr(os, "readlink", lambda _: "pid:[1]")
    clock._machine.cache_clear()
    elsewhere = process_owner().split(":")[0]
    monkeypatch.undo()
    clock._machine.cache_clear()
    here = process_owner().split(":")[0]
    assert elsewhere.split("/")[0] == here.split("/")[0]
    assert not owner_is_dead(f"{elsewhere}:999999999:0")
    assert owner_is_dead(f"{here}:999999999:0")
