"""What the documents say is true."""

from __future__ import annotations

import re
from pathlib import Path

import typer.main
import yaml

import cli
from core import types
from core.settings import settings_table
from pages._ui.desk_view import KEYS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").lower()


def test_every_setting_stands_in_the_readme() -> None:
    for variable, _, meaning in settings_table():
        assert f"| `{variable}` |" in README
        assert meaning in README


def test_every_command_of_the_readme_exists_and_every_command_is_in_it() -> None:
    commands = set(typer.main.get_command(cli.app).commands)  # type: ignore[attr-defined]
    named = {
        name for line in re.findall(r"python cli\.py ([a-z|]+)", README) for name in line.split("|")
    } | set(re.findall(r"`make (demo)`", README))
    assert named == commands


def test_commands_and_options_of_the_deployment_page_exist() -> None:
    commands = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
    text = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    lines = re.findall(r"cli\.py,? (\w+)([^`\n#]*)", text)
    assert {name for name, _ in lines} == {"copy", "doctor", "run", "worker"}
    for name, rest in lines:
        known = {option for p in commands[name].params for option in p.opts}
        assert set(re.findall(r"--[a-z][a-z-]*", rest)) <= known, (name, rest)


def test_manifests_of_the_deployment_page_are_yaml() -> None:
    text = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    (manifest,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    kinds = [part["kind"] for part in yaml.safe_load_all(manifest)]
    assert kinds == ["Deployment", "Service", "Deployment"]


def test_both_commands_of_the_readme_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("run", "test", "check", "demo"):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_every_file_that_the_readme_links_to_exists() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_guide_for_annotators_has_the_keys_of_the_desk() -> None:
    guide = (ROOT / "docs" / "annotating.md").read_text(encoding="utf-8")
    rows = [re.findall(r"^\| (.+?) \| (.+?) \|$", text, re.MULTILINE) for text in (KEYS, guide)]
    assert len(rows[0]) > 8
    for (key, does), (known, told) in zip(*rows, strict=True):
        assert key == known
        assert told.startswith(does)


def test_commands_and_options_of_the_page_on_labels_exist() -> None:
    labels = typer.main.get_command(cli.app).commands["labels"]  # type: ignore[attr-defined]
    lines = re.findall(
        r"cli\.py labels (\w+)(.*)", (ROOT / "docs" / "labels.md").read_text("utf-8")
    )
    assert {name for name, _ in lines} == {"export", "import"}
    for name, rest in lines:
        known = {option for p in labels.commands[name].params for option in p.opts}
        assert set(re.findall(r"--[a-z][a-z-]*", rest)) <= known, (name, rest)


def test_every_noun_of_the_core_is_in_the_glossary() -> None:
    nouns = ("Persona", "Affinity", "Task", "Situation", "Scenario", "Dataset", "ContextSetting")
    nouns += ("Arm", "WorkUnit", "Message", "Dialogue", "ModelCall", "Instrument", "Judgement")
    nouns += ("Override", "Irregularity", "StopReason", "Vocabulary")
    for noun in nouns:
        assert hasattr(types, noun)
        words = re.sub(r"(?<!^)(?=[A-Z])", " ", noun).lower()
        assert f"**{words}**" in GLOSSARY, noun
