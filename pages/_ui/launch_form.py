"""The form of the page Launch: a scenario, an arm, the user's side, and the judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.assets import Rubric
from core.bench import Judging
from core.live import Launch
from core.parties.make import SCRIPTED_JUDGE, SCRIPTED_USER
from core.parties.scripted import SCRIPTED_ASSISTANTS
from core.personas import headline, with_personas
from core.ports import Store
from core.types import Arm, ContextSetting, ModelSpec, Part, Scenario
from pages._ui import filters, model_picker, people, plain, state, tables, text, wiring
from pages._ui.model_picker import Choice, Picker
from pages._ui.rubric_picker import pick_rubrics

PERSONALENS_SET = (
    "task_completion",
    "personalization",
    "naturalness_user",
    "naturalness_assistant",
    "coherence_user",
    "coherence_assistant",
)
_PACES: Mapping[str, float] = {"at once": 0.0, "brisk": 0.4, "to read along": 1.5, "slow": 3.0}
_PACE = "brisk"


@dataclass(frozen=True, slots=True)
class Arms:
    """What the right side of the form says."""

    assistant: Choice
    context: ContextSetting
    user_agent: Choice
    judge: Choice
    rubrics: tuple[Rubric, ...]
    pace: float

    @property
    def arm(self) -> Arm | None:
        spec = self.assistant.spec
        if spec is None or not spec.model:
            return None
        name = f"{spec.model.rpartition('/')[2]}, {text.context_label(self.context).lower()}"
        return Arm(name, spec, self.context)

    @property
    def complaint(self) -> str:
        """Why this cannot be launched, or nothing."""
        found = (c.complaint for c in (self.assistant, self.user_agent, self.judge))
        return next((complaint for complaint in found if complaint), "")

    def launch(self, scenario: Scenario, author: str) -> Launch | None:
        """What is to be made, or None while there is a complaint."""
        arm, user = self.arm, self.user_agent.spec
        if arm is None or user is None or self.complaint:
            return None
        judging: tuple[Judging, ...] = ()
        if self.judge.spec is not None and self.rubrics:
            judging = (Judging(self.judge.spec, self.rubrics),)
        return Launch(scenario, arm, user, judging, author, self.pace)


# --- scenario ---------------------------------------------------------------------------------


def pick_scenario(store: Store) -> Scenario | None:
    """Draw the choice of dataset, persona and task; None where there is nothing to choose."""
    dataset = filters.pick_dataset(with_personas(store.list_datasets()), key="launch.dataset").name
    at = people.at(dataset)
    persona = _pick_persona(at)
    if persona is None:
        st.info("This dataset has no personas.", icon=":material/person_off:")
        return None
    task = _pick_task(at, persona)
    if task is None:
        st.info("This person has no tasks; choose somebody else.", icon=":material/info:")
        return None
    scenario = store.get_scenario(dataset, persona, task)
    st.caption("Intent, told to the user agent")
    plain.show(scenario.task.intent)
    st.caption("Situation")
    tables.facts(list(scenario.situation.fields.items()), columns=3)
    return scenario


def _pick_persona(at: people.At) -> str | None:
    shown = {p.id: headline(p) for p in people.everyone(at)}
    return _pick("Persona", "persona", shown, {"task": None})


def _pick_task(at: people.At, persona: str) -> str | None:
    shown = {
        task.id: f"{' + '.join(task.domains)}: {task.description}"
        for _, task in people.scenarios_of(at, persona)
    }
    return _pick("Task", "task", shown, {})


def _pick(label: str, name: str, shown: Mapping[str, str], reset: dict[str, None]) -> str | None:
    """A searchable box whose value is a parameter of the address."""
    ids = list(shown)
    if not ids:
        return None
    key = f"launch.{name}"
    chosen = state.choice(name, ids, ids[0])
    st.session_state[key] = chosen
    st.selectbox(
        f"{label} ({text.count(len(ids))})",
        ids,
        key=key,
        format_func=lambda i: shown[i],
        on_change=lambda: state.put(**{name: st.session_state[key]}, **reset),
    )
    state.put(**{name: chosen})
    return chosen


# --- arm --------------------------------------------------------------------------------------


def pick_arms() -> Arms:
    """Draw the choice of assistant, context, user agent, judge, rubrics and pace."""
    settings = wiring.settings()
    scripted = tuple(SCRIPTED_ASSISTANTS)
    assistant = Picker("launch.assistant", "Assistant", scripted, settings.assistant_model).choose()
    context = _pick_context()
    left, right = st.columns(2, gap="small")
    with left:
        user = Picker(
            "launch.user", "User agent", (SCRIPTED_USER,), settings.user_model, temperature="0.5"
        ).choose()
    with right:
        judge = Picker(
            "launch.judge", "Judge", (SCRIPTED_JUDGE,), settings.judge_model, optional=True
        ).choose()
    rubrics = () if judge.spec is None else _pick_rubrics()
    pace = _pick_pace((assistant.spec, user.spec))
    return Arms(assistant, context, user, judge, rubrics, pace)


def _pick_context() -> ContextSetting:
    chosen = []
    with st.container(gap="xsmall"):
        st.caption("The assistant is told")
        row = st.container(horizontal=True, gap="small")
    for part in Part:
        label = text.PARTS[part]
        key = f"launch.context.{part}"
        st.session_state.setdefault(key, part is Part.INTERACTIONS)
        if row.toggle(label[:1].upper() + label[1:], key=key, persist_state="session"):
            chosen.append(part)
    return ContextSetting.of(*chosen)


def _pick_rubrics() -> tuple[Rubric, ...]:
    chosen = st.session_state.get("launch.rubrics", PERSONALENS_SET)
    with st.expander(f"Rubrics ({len(chosen)})", icon=":material/checklist:", key="launch.by"):
        return pick_rubrics("launch.rubrics", PERSONALENS_SET)


def _pick_pace(specs: Sequence[ModelSpec | None]) -> float:
    if not any(spec is not None and spec.scripted for spec in specs):
        return 0.0
    st.session_state.setdefault("launch.pace", _PACE)
    pace = st.segmented_control(
        "Pace of scripted parties",
        list(_PACES),
        key="launch.pace",
        required=True,
        persist_state="session",
    )
    return _PACES[pace or _PACE]


def fill(launch: Launch) -> None:
    """Put what was launched into the form and the address."""
    scenario = launch.scenario
    state.put(dataset=scenario.dataset, persona=scenario.persona.id, task=scenario.task.id)
    model_picker.fill("launch.assistant", launch.arm.assistant)
    model_picker.fill("launch.user", launch.user_agent)
    for part in Part:
        st.session_state[f"launch.context.{part}"] = part in launch.arm.context
    judging = launch.judging[0] if launch.judging else None
    model_picker.fill("launch.judge", None if judging is None else judging.spec)
    if judging is not None:
        st.session_state["launch.rubrics"] = [rubric.name for rubric in judging.rubrics]
