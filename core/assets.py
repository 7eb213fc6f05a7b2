"""Prompts and rubrics: versioned files, validated when they are loaded, never edited.

A prompt is `assets/prompts/<name>/v<version>.md`: a YAML header between two `---` lines, then
parts headed `## system` and so on. A rubric is `assets/rubrics/<name>.v<version>.yaml`. A new
wording is a new version in a new file, because results name the version they were made with.
Files are read once in a process.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from core.context import Section
from core.errors import AssetError
from core.ports import ChatMessage
from core.types import Message, Role, Target, digest

ASSETS = Path(__file__).resolve().parent.parent / "assets"
NOTHING = "Nothing is known."
_MARK = "\u200b"  # zero-width space: visible to a tokeniser, so that a tag is no tag any more
_PART = re.compile(r"^## +(\S+)[ \t]*$", re.MULTILINE)
_TAG = re.compile(r"</([a-z_]+)>")
_REF = re.compile(r"([a-z][a-z0-9_]*)(?:@([1-9][0-9]*))?")
_TITLES = {
    Section.DEMOGRAPHICS: "About the person",
    Section.AFFINITIES: "Likings and habits",
    Section.INTERACTIONS: "What happened with assistants before",
    Section.SITUATION: "The moment",
    Section.INTENT: "What the person wants",
    Section.GOAL: "What has to be reached",
}


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


# --- prompts ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prompt:
    """One version of the texts for one party: a system text and one text per occasion."""

    name: str
    version: int
    parts: Mapping[str, str]
    placeholders: frozenset[str]
    hash: str

    @property
    def ref(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def id(self) -> str:
        return f"{self.ref}:{self.hash[:8]}"

    def placeholders_of(self, part: str) -> frozenset[str]:
        """Names that `render(part, ...)` needs: those of `part` and of the system text."""
        texts = (self.parts["system"], self._text(part))
        return frozenset(name for t in texts for name in Template(t).get_identifiers())

    def render(self, part: str, **values: str) -> tuple[ChatMessage, ...]:
        """Fill the system text and `part`: always one system and one user message.

        Values are inserted once and never read as templates; whatever in them looks like a
        delimiter of this prompt is neutralised. Raises `AssetError` unless `values` are
        exactly the placeholders of `part`.
        """
        self._refuse_other_names(part, frozenset(values))
        tags = self._tags()
        safe = {name: neutralise(value, tags) for name, value in values.items()}
        return tuple(
            ChatMessage(role, Template(text).substitute(safe))
            for role, text in (("system", self.parts["system"]), ("user", self._text(part)))
        )

    def _text(self, part: str) -> str:
        if part not in self.parts:
            raise AssetError(f"The prompt {self.ref} has no part '{part}'.")
        return self.parts[part]

    def _tags(self) -> frozenset[str]:
        return frozenset(tag for text in self.parts.values() for tag in _TAG.findall(text))

    def _refuse_other_names(self, part: str, given: frozenset[str]) -> None:
        needed = self.placeholders_of(part)
        if given != needed:
            fault = "lacks" if needed - given else "does not know"
            names = ", ".join(sorted(needed - given or given - needed))
            raise AssetError(f"The prompt {self.ref}, part '{part}', {fault}: {names}.")


def neutralise(text: str, tags: Iterable[str]) -> str:
    """Break whatever in `text` could pass for one of `tags` or for a model's control token.

    A zero-width space goes in after the `<`. Only what is sent is changed, never what is
    stored; `restore` undoes it exactly.
    """
    return re.sub(rf"<(?={_lookalike(tags)})", f"<{_MARK}", text)


def restore(text: str, tags: Iterable[str]) -> str:
    """Undo `neutralise` with the same `tags`."""
    return re.sub(rf"<{_MARK}(?={_lookalike(tags)})", "<", text)


def _lookalike(tags: Iterable[str]) -> str:
    names = "|".join(map(re.escape, sorted(tags)))
    tag = rf"\s*/?\s*(?i:{names})\b" if names else r"(?!)"
    return rf"{_MARK}*(?:\||{tag})"


def sections_text(sections: Sequence[tuple[Section, str]]) -> str:
    """A briefing's sections as one text for a prompt; says so when there are none."""
    blocks = [f"{_TITLES[section]}:\n{text or '(empty)'}" for section, text in sections]
    return "\n\n".join(blocks) if blocks else NOTHING


def dialogue_text(messages: Sequence[Message], *, numbered: bool = False) -> str:
    """The dialogue as lines of text, one message after the other.

    Further lines of a message are indented, so that none can pass for another message. With
    `numbered`, each starts with its turn (`2 A: …`), as judges cite it.
    """
    lines, turn = [], 0
    for message in messages:
        turn += message.role is Role.USER
        user = message.role is Role.USER
        label = f"{max(turn, 1)} {'U' if user else 'A'}" if numbered else message.role.capitalize()
        lines.append(f"{label}: " + "\n    ".join(message.content.splitlines()))
    return "\n".join(lines) if lines else "(no messages yet)"


class _PromptHeader(_Frozen):
    name: str
    version: int = Field(ge=1)
    placeholders: tuple[str, ...] = ()


def load_prompt(ref: str, *, root: Path = ASSETS) -> Prompt:
    """Load `name@version` (or the newest of `name`). Raises `AssetError` naming the fault."""
    return _read_prompt(_find("prompt", ref, _prompt_files(root)))


def list_prompts(*, root: Path = ASSETS) -> list[Prompt]:
    """Every prompt of every version, by name and version."""
    return [_read_prompt(path) for _, path in sorted(_prompt_files(root).items())]


@lru_cache(maxsize=8)
def _prompt_files(root: Path) -> dict[tuple[str, int], Path]:
    paths = (root / "prompts").glob("*/v*.md")
    return {(p.parent.name, _version(p, p.stem)): p for p in paths}


@lru_cache(maxsize=128)
def _read_prompt(path: Path) -> Prompt:
    text = _read(path)
    _, _, rest = text.partition("---\n")
    head, fence, body = rest.partition("\n---\n")
    if not text.startswith("---\n") or not fence:
        raise AssetError(f"{_shown(path)} does not start with a header between '---' lines.")
    header = _validated(_PromptHeader, _yaml(head, path), path)
    if (header.name, header.version) != (path.parent.name, _version(path, path.stem)):
        raise AssetError(f"{_shown(path)}: name and version differ from the file's own name.")
    parts = _parts(body, path)
    _check_placeholders(parts, frozenset(header.placeholders), path)
    hashed = hashlib.sha256(text.encode()).hexdigest()
    return Prompt(header.name, header.version, parts, frozenset(header.placeholders), hashed)


def _parts(body: str, path: Path) -> dict[str, str]:
    before, *pieces = _PART.split(body)
    names = pieces[::2]
    if before.strip() or "system" not in names or len(names) < 2 or len(set(names)) != len(names):
        raise AssetError(f"{_shown(path)} needs '## system' and another part, each once.")
    return {name: text.strip() for name, text in zip(names, pieces[1::2], strict=True)}


def _check_placeholders(parts: Mapping[str, str], declared: frozenset[str], path: Path) -> None:
    for name, text in parts.items():
        if not Template(text).is_valid():
            raise AssetError(f"{_shown(path)}, part '{name}': write a plain dollar sign as '$$'.")
    used = frozenset(n for text in parts.values() for n in Template(text).get_identifiers())
    if used != declared:
        names = ", ".join(sorted(used ^ declared))
        raise AssetError(f"{_shown(path)}: placeholders used and declared differ in: {names}.")


# --- rubrics ----------------------------------------------------------------------------------


class Anchor(_Frozen):
    """What one level of a scale means."""

    value: int
    label: str = Field(min_length=1)
    text: str = Field(min_length=1)


class Scale(_Frozen):
    """The values a rubric allows: whole numbers from `low` to `high`, each with its anchor.

    A verdict is the scale of 0 (no) and 1 (yes).
    """

    kind: Literal["rating", "verdict"]
    low: int
    high: int
    anchors: tuple[Anchor, ...]

    @model_validator(mode="after")
    def _complete(self) -> Scale:
        if self.low >= self.high or self.low < 0 or self.high > 9:
            raise ValueError("low must be below high, both between 0 and 9")
        if self.kind == "verdict" and (self.low, self.high) != (0, 1):
            raise ValueError("a verdict runs from 0 (no) to 1 (yes)")
        if [a.value for a in self.anchors] != list(self.values):
            raise ValueError("there must be one anchor for each value, in rising order")
        return self

    @property
    def values(self) -> range:
        return range(self.low, self.high + 1)

    def label(self, value: int) -> str:
        """The anchor's word for `value`, or `value` itself where the scale has none."""
        return next((a.label for a in self.anchors if a.value == value), str(value))


class Criterion(_Frozen):
    name: str = Field(min_length=1)
    text: str = Field(min_length=1)


class Example(_Frozen):
    """A worked rating: what was known and said, the value it deserves, and why."""

    domain: str
    shows: str = Field(min_length=1)
    value: int
    why: str = Field(min_length=1)


class Rubric(_Frozen):
    """How one dimension is rated.

    `inputs` are the sections a judge is given beside the transcript; `given_to_assistant`
    adds what the assistant itself was given. `reads` says which messages it sees; a rubric
    whose target is a turn sees the dialogue up to that turn.
    """

    name: str
    version: int = Field(ge=1)
    dimension: str
    title: str = Field(min_length=1)
    target: Target
    question: str = Field(min_length=1)
    scale: Scale
    criteria: tuple[Criterion, ...] = ()
    inputs: tuple[Section, ...] = ()
    given_to_assistant: bool = False
    reads: Literal["dialogue", "first_message"] = "dialogue"
    notes: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Rubric:
        if any(e.value not in self.scale.values for e in self.examples):
            raise ValueError("an example has a value outside the scale")
        if Section.RELEVANT in self.inputs:
            raise ValueError("'relevant' is for scripted parties and cannot be an input")
        return self

    @property
    def ref(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def hash(self) -> str:
        """Hash of the content: a later key with a default leaves it as it is."""
        return digest(self.model_dump(mode="json", exclude_defaults=True))

    @property
    def needs_scenario(self) -> bool:
        return bool(self.inputs) or self.given_to_assistant


def load_rubric(ref: str, *, root: Path = ASSETS) -> Rubric:
    """Load `name@version`, or the newest of `name`. Raises `AssetError` naming the fault."""
    return _read_rubric(_find("rubric", ref, _rubric_files(root)))


def list_rubrics(*, root: Path = ASSETS) -> list[Rubric]:
    """Every rubric of every version, by name and version."""
    return [_read_rubric(path) for _, path in sorted(_rubric_files(root).items())]


@lru_cache(maxsize=8)
def _rubric_files(root: Path) -> dict[tuple[str, int], Path]:
    found = ((p, p.stem.rpartition(".")) for p in (root / "rubrics").glob("*.yaml"))
    return {(name, _version(p, version)): p for p, (name, _, version) in found}


@lru_cache(maxsize=128)
def _read_rubric(path: Path) -> Rubric:
    rubric = _validated(Rubric, _yaml(_read(path), path), path)
    if f"{rubric.name}.v{rubric.version}" != path.stem:
        raise AssetError(f"{_shown(path)}: name and version differ from the file's own name.")
    return rubric


# --- files ------------------------------------------------------------------------------------


def forget_files() -> None:
    """Look again which files there are: one was added."""
    _prompt_files.cache_clear()
    _rubric_files.cache_clear()


M = TypeVar("M", bound=BaseModel)


def _find(kind: str, ref: str, files: Mapping[tuple[str, int], Path]) -> Path:
    match = _REF.fullmatch(ref)
    name, wanted = match.groups() if match else (ref, None)
    versions = [v for n, v in files if n == name]
    version = int(wanted) if wanted else max(versions, default=0)
    if version not in versions:
        known = ", ".join(f"{n}@{v}" for n, v in sorted(files)) or "none"
        raise AssetError(f"There is no {kind} '{ref}'; known are: {known}.")
    return files[name, version]


def _version(path: Path, text: str) -> int:
    if not re.fullmatch(r"v[1-9][0-9]*", text):
        raise AssetError(f"{_shown(path)}: the file's name must end in '.v1', '.v2', and so on.")
    return int(text[1:])


def _shown(path: Path) -> str:
    """The path inside the assets folder: enough to find it, nothing of the machine."""
    inside = 3 if path.suffix == ".md" else 2
    return "/".join(path.parts[-inside:])


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise AssetError(f"Cannot read {_shown(path)}: {reason}.") from None


# The same as `yaml.safe_load`, ten times as fast where the C library is there.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _yaml(text: str, path: Path) -> Any:
    try:
        return yaml.load(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise AssetError(f"{_shown(path)}{where}: this is not valid YAML.") from None


def _validated(model: type[M], data: Any, path: Path) -> M:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise AssetError(f"{_shown(path)}, {field}: {first['msg']}.") from None
