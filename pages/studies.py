"""Studies: define them, launch them, and watch them come along."""

from __future__ import annotations

from pages._ui import frame, state, study_form, study_list, study_monitor

frame.enter()
study, draft = state.get("study"), state.get("draft")
if study is not None:
    study_monitor.show(study)
elif draft is not None:
    study_form.show(draft)
else:
    study_list.show()
