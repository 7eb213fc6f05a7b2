"""The fields of a study: drawn, read into a mapping as YAML would hold it, and filled from one.

The mapping need not be a study yet: what is half typed is in it as it was typed, so that a
draft loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from core.assets import list_rubrics
from core.parties.make import SCRIPTED_JUDGE, SCRIPTED_USER
from core.parties.scripted import SCRIPTED_ASSISTANTS
from core.study_file import Limits
from core.types import ContextSetting, Part
from pages._ui import study_rows, text, wiring
from pages._ui.model_picker import OTHER, Picker, params_of

ASSISTANTS = tuple(SCRIPTED_ASSISTANTS)
_KINDS = {"all": "all tasks", "single": "one domain", "multi": "several domains"}
_LIMITS = {
    "concurrency": ("Model calls at once", None),
    "requests_per_minute": ("Requests a minute", "no limit"),
    "tokens_per_minute": ("Tokens a minute", "no limit"),
    "budget_usd": ("Budget, US dollars", "none"),
    "max_turns": ("Turns of a dialogue", "20, or 30 in several domains"),
}


def _get(name: str) -> Any:
    return st.session_state.get(f"studies.{name}")


def _set(name: str, value: Any) -> None:
    st.session_state[f"studies.{name}"] = value


# --- filling ----------------------------------------------------------------------------------


def fill(given: Mapping[str, Any]) -> None:
    """Put a mapping into the fields; what does not fit a field is left at its default."""
    for name in ("name", "question", "dataset"):
        _set(name, _words(given.get(name)))
    _set("primary", _words(given.get("primary")) or "personalization")
    _set("repetitions", _whole(given.get("repetitions")) or 1)
    _fill_scenarios(_mapping(given.get("scenarios")))
    limits = _mapping(given.get("limits"))
    for name in _LIMITS:
        number = _number(limits.get(name))
        _set(f"limits.{name}", float(number) if name == "budget_usd" and number else number)
    _set("limits.cache", limits.get("cache") is True)
    _set("limits.concurrency", _whole(limits.get("concurrency")) or Limits().concurrency)
    _fill_model("user", _mapping(given.get("user_agent")), (SCRIPTED_USER,), SCRIPTED_USER)
    study_rows.clear("arm")
    for entry in _list(given.get("arms")):
        add_arm(_mapping(entry))
    study_rows.clear("judge")
    for entry in _list(given.get("judges")):
        add_judge(_mapping(entry))


def _fill_scenarios(given: Mapping[str, Any]) -> None:
    kind = given.get("kind")
    _set("kind", kind if kind in _KINDS else "all")
    _set("domains", [str(d) for d in _list(given.get("domains"))])
    _set("users", _words(given.get("users")))
    _set("seed", _whole(given.get("seed", 7)) or 0)
    for name in ("limit", "limit_single", "limit_multi"):
        _set(name, _whole(given.get(name)))


def _fill_model(name: str, given: Mapping[str, Any], listed: Sequence[str], first: str) -> None:
    model = _words(given.get("model")) if given else first
    _set(name, model if model in listed else OTHER)
    if model not in listed:
        _set(f"{name}.name", model)
        _set(f"{name}.base", _words(given.get("api_base")))
        params = given.get("params")
        _set(f"{name}.params", study_rows.params_text(params))


def add_arm(given: Mapping[str, Any], *, after: int | None = None) -> int:
    """One more arm with these values; returns its number."""
    i = study_rows.add("arm", after=after)
    context = given.get("context", [])
    parts = {"all": list(Part), "none": []}.get(str(context), context)
    _set(f"arm.{i}.title", _words(given.get("name")))
    _set(f"arm.{i}.context", [str(p) for p in _list(parts) if p in list(Part)])
    _set(f"arm.{i}.prompt", _words(given.get("prompt")) or "assistant@1")
    _fill_model(f"arm.{i}", given, ASSISTANTS, ASSISTANTS[0])
    return i


def add_judge(given: Mapping[str, Any]) -> int:
    """One more judge with these values; returns its number."""
    i = study_rows.add("judge")
    _set(f"judge.{i}.rubrics", [str(r) for r in _list(given.get("rubrics"))])
    _fill_model(f"judge.{i}", given, (SCRIPTED_JUDGE,), SCRIPTED_JUDGE)
    return i


# --- reading ----------------------------------------------------------------------------------


def collect() -> dict[str, Any]:
    """What stands in the fields, in the shape of a study file."""
    scenarios = {
        "kind": _get("kind"),
        "domains": list(_get("domains") or ()),
        "users": _text("users") or None,
        "limit": _get("limit"),
        "limit_single": _get("limit_single"),
        "limit_multi": _get("limit_multi"),
        "seed": _get("seed") or 0,
    }
    return {
        "name": _text("name"),
        "question": _text("question"),
        "dataset": _get("dataset") or "",
        "scenarios": scenarios,
        "user_agent": _model("user"),
        "arms": [arm(i) for i in study_rows.rows("arm")],
        "repetitions": _get("repetitions") or 1,
        "judges": [
            _model(f"judge.{i}") | {"rubrics": list(_get(f"judge.{i}.rubrics") or ())}
            for i in study_rows.rows("judge")
        ],
        "primary": _get("primary"),
        "limits": {name: _get(f"limits.{name}") for name in _LIMITS}
        | {"cache": bool(_get("limits.cache"))},
    }


def arm(i: int) -> dict[str, Any]:
    """One arm as a study file says it."""
    return _model(f"arm.{i}") | {
        "name": _text(f"arm.{i}.title"),
        "context": list(_get(f"arm.{i}.context") or ()),
        "prompt": _get(f"arm.{i}.prompt") or "assistant@1",
    }


def _model(name: str) -> dict[str, Any]:
    chosen = _get(name)
    if chosen != OTHER and str(chosen).startswith("scripted/"):
        return {"model": chosen, "api_base": None, "params": {}}
    model = _text(f"{name}.name") if chosen == OTHER else chosen
    params = params_of(_get(f"{name}.params") or "")
    return {"model": model, "api_base": _text(f"{name}.base") or None, "params": params}


def _text(name: str) -> str:
    return str(_get(name) or "").strip()


# --- drawing ----------------------------------------------------------------------------------


def draw_head(datasets: Sequence[str]) -> None:
    """Name, question and dataset."""
    left, right = st.columns([3, 2], gap="small")
    left.text_input("Name", key="studies.name", max_chars=80, persist_state="session")
    if _get("dataset") not in datasets:
        _set("dataset", datasets[0])
    right.selectbox("Dataset", datasets, key="studies.dataset", persist_state="session")
    st.text_input(
        "Question",
        key="studies.question",
        placeholder="What should the study find out?",
        persist_state="session",
    )


def draw_scenarios(domains: Sequence[str]) -> None:
    """Which scenarios: kind, domains, people, how many of them, and the seed of the draw."""
    left, right = st.columns([2, 3], gap="small")
    left.selectbox(
        "Tasks",
        list(_KINDS),
        key="studies.kind",
        format_func=_KINDS.__getitem__,
        persist_state="session",
    )
    # A domain of another dataset stays shown, so that the sentence about it has an object.
    options = list(dict.fromkeys([*domains, *(_get("domains") or ())]))
    right.multiselect(
        "Domains", options, key="studies.domains", placeholder="all", persist_state="session"
    )
    people, limit, seed = st.columns([3, 2, 1], gap="small")
    people.text_input(
        "People",
        key="studies.users",
        placeholder="all; or sample-20, 0-49, 7,66",
        help="Numbers and ranges of personas, or one of the benchmark's own samples.",
        persist_state="session",
    )
    _count(limit, "limit", "Scenarios, at most", "all", least=1)
    seed.number_input(
        "Seed",
        key="studies.seed",
        step=1,
        min_value=0,
        max_value=2**31 - 1,
        help="Scenarios are drawn at random; the same seed draws the same ones.",
        persist_state="session",
    )
    with st.expander("Draw single- and multi-domain tasks apart", icon=":material/call_split:"):
        one, several = st.columns(2, gap="small")
        _count(one, "limit_single", "In one domain, at most", "all", least=0)
        _count(several, "limit_multi", "In several domains, at most", "all", least=0)


def _count(
    column: Any, name: str, label: str, placeholder: str | None, *, least: int, most: int = 10**9
) -> None:
    column.number_input(
        label,
        key=f"studies.{name}",
        min_value=least,
        max_value=most,
        step=1,
        value=None,
        placeholder=placeholder,
        persist_state="session",
    )


def draw_arms() -> None:
    """Each arm, with what can be done to it; then what adds one."""
    for i in study_rows.rows("arm"):
        with st.container(border=True, key=f"studies.arm.{i}.box"):
            _draw_arm(i)
    st.button("Add an arm", key="studies.arm.add", icon=":material/add:", on_click=_new_arm)


def _new_arm() -> None:
    named = {arm(i)["name"] for i in study_rows.rows("arm")}
    free = (s.rpartition("/")[2] for s in ASSISTANTS)
    name = next((n for n in free if n not in named), f"arm {len(named) + 1}")
    model = f"scripted/{name}" if f"scripted/{name}" in ASSISTANTS else ASSISTANTS[0]
    add_arm({"name": name, "model": model, "context": "all"})


def _draw_arm(i: int) -> None:
    left, right = st.columns(2, gap="small")
    left.text_input("Arm", key=f"studies.arm.{i}.title", max_chars=80, persist_state="session")
    with right:
        Picker(f"studies.arm.{i}", "Assistant", ASSISTANTS, ASSISTANTS[0], free=True).choose()
    st.multiselect(
        "The assistant is told",
        [str(p) for p in Part],
        key=f"studies.arm.{i}.context",
        format_func=lambda part: text.PARTS[Part(part)],
        placeholder="nothing about the person",
        persist_state="session",
    )
    with st.container(horizontal=True, gap="small"):
        _act(i, "duplicate", "Duplicate", ":material/content_copy:", _duplicate)
        _act(i, "ablate", "All eight contexts", ":material/grid_view:", _ablate)
        _act(i, "remove", "Remove", ":material/delete:", lambda i: study_rows.remove("arm", i))


def _act(i: int, name: str, label: str, icon: str, act: Any) -> None:
    helps = {"ablate": "Replaces this arm by eight: one for each set of parts that it is told"}
    st.button(
        label,
        key=f"studies.arm.{i}.{name}",
        icon=icon,
        type="tertiary",
        help=helps.get(name),
        on_click=act,
        args=(i,),
    )


def _duplicate(i: int) -> None:
    values = arm(i)
    add_arm(values | {"name": study_rows.unlike(values["name"], _arm_names())}, after=i)


def _ablate(i: int) -> None:
    """Eight arms of this one's model, from nothing to everything."""
    values, last = arm(i), i
    base = str(values["name"]).partition(" · ")[0] or str(values["model"]).rpartition("/")[2]
    for setting in ContextSetting.every():
        named = {"name": f"{base} · {setting.label}"[:80], "context": setting.to_list()}
        last = add_arm(values | named, after=last)
    study_rows.remove("arm", i)


def _arm_names() -> set[str]:
    return {str(arm(i)["name"]) for i in study_rows.rows("arm")}


def draw_user() -> None:
    Picker("studies.user", "User agent", (SCRIPTED_USER,), SCRIPTED_USER, free=True).choose()


def draw_judges() -> None:
    """Each judge with its rubrics, what adds one, and the dimension that counts most."""
    for i in study_rows.rows("judge"):
        with st.container(border=True, key=f"studies.judge.{i}.box"):
            Picker(
                f"studies.judge.{i}", "Judge", (SCRIPTED_JUDGE,), SCRIPTED_JUDGE, free=True
            ).choose()
            _draw_rubrics(i)
            st.button(
                "Remove",
                key=f"studies.judge.{i}.remove",
                icon=":material/delete:",
                type="tertiary",
                on_click=study_rows.remove,
                args=("judge", i),
            )
    st.button("Add a judge", key="studies.judge.add", icon=":material/add:", on_click=_new_judge)
    dimensions = list(dict.fromkeys([r.dimension for r in list_rubrics()] + [_get("primary")]))
    st.selectbox(
        "Primary dimension",
        dimensions,
        key="studies.primary",
        format_func=text.dimension_name,
        help="The one that the study's question is about",
        persist_state="session",
    )


def _new_judge() -> None:
    model = wiring.settings().judge_model
    add_judge({"model": model, "rubrics": ["task_completion", "personalization"]})


def _draw_rubrics(i: int) -> None:
    titles = {r.name: r.title for r in list_rubrics()}
    options = list(dict.fromkeys([*titles, *(_get(f"judge.{i}.rubrics") or ())]))
    st.multiselect(
        "Rubrics",
        options,
        key=f"studies.judge.{i}.rubrics",
        format_func=lambda name: titles.get(name, name),
        persist_state="session",
    )


def draw_limits() -> None:
    """How often each dialogue is made, and how fast, how long and how dear it may be."""
    columns = st.columns(3, gap="small")
    _count(columns[0], "repetitions", "Repetitions", None, least=1, most=100)
    for place, (name, (label, placeholder)) in enumerate(_LIMITS.items(), start=1):
        column = columns[place % 3]
        if name == "budget_usd":
            column.number_input(
                label,
                key="studies.limits.budget_usd",
                min_value=0.0,
                step=1.0,
                value=None,
                placeholder=placeholder,
                help="The study stops before the call that could pass it",
                persist_state="session",
            )
        else:
            most = {"concurrency": 1000, "max_turns": 200}.get(name, 10**9)
            _count(column, f"limits.{name}", label, placeholder, least=1, most=most)
    st.checkbox(
        "Share answers with other studies",
        key="studies.limits.cache",
        help="Exactly the same request in the same repetition is asked once by all that share",
        persist_state="session",
    )


# --- what a file may hold in the place of a field -----------------------------------------------


def _words(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> int | float | None:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return value if plain and 0 <= value <= 10**9 else None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return int(number) if number is not None else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []
