"""A report as one HTML file that needs no network: text, charts that work, the ledger, the rows.

All text is escaped as it is written; a policy in the file forbids it to load anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.report import Report, embedded_json
from core.report_check import sealed
from core.report_examples import Example
from core.report_ledger import Claim
from pages._ui import report_words as words
from pages._ui import text
from pages._ui.report_appendix import ledger_section, reproduce_section, table
from pages._ui.report_charts import drawing, figures, library
from pages._ui.report_style import STYLE
from pages._ui.turns import ROLES, numbered

MOST_ROWS = 50_000
"""Rows that the file carries to compute everything again; of more there are only the hashes."""

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
)
_e = text.escape_html


def report_html(report: Report, *, app: str = "http://127.0.0.1:8501") -> str:
    """The whole document, sealed. `app` is the address of the web app for links to dialogues."""
    marks = {claim.id: number for number, claim in enumerate(report.claims, 1)}
    parts = words.parts(report)
    scripts: list[str] = []
    body = [
        _head(report, parts[0], marks),
        _arms(report, marks),
        _design(report),
        _instruments(report),
        *_results(report, parts, marks, scripts),
        _list_section("agreement", "Agreement with people", words.agreement_lines(report)),
        _list_section("limits", "Limits", words.limits(report)),
        ledger_section(report, marks, app),
        reproduce_section(report),
    ]
    return sealed(_document(report, "\n".join(body), scripts))


def _document(report: Report, body: str, scripts: Sequence[str]) -> str:
    rows = report.ledger.rows if len(report.ledger.rows) <= MOST_ROWS else []
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="rapport-seal" content="">
<title>{_e(report.study.name)}: report</title>
<style>{STYLE}</style>
</head>
<body>
{body}
<script type="application/json" id="ledger">{embedded_json(report.to_dict())}</script>
<script type="application/json" id="rows">{embedded_json(list(rows))}</script>
<script>{library()}</script>
<script>{"".join(scripts)}</script>
</body>
</html>
"""


# --- sections ---------------------------------------------------------------------------------


def _head(report: Report, primary: words.Part, marks: dict[str, int]) -> str:
    spec = report.study.spec
    asked = spec.question if spec is not None else ""
    question = f'<p class="question">{_e(asked)}</p>' if asked else ""
    claims = words.claims_of(report, "difference", primary)
    claims = claims or words.claims_of(report, "arm", primary)
    lines = words.corrected_lines(report, primary)
    people = f'<p class="lead">{_e(" ".join(lines))}</p>' if lines else ""
    return (
        f'<header id="question"><h1>{_e(report.study.name)}</h1>{question}{people}'
        f'<p class="lead">{_e(words.headline(primary))}{_marks(claims, marks)}</p>'
        f'<p class="muted">Made {_e(text.when(report.made_at))} UTC. Small numbers lead to the '
        "ledger, where each claim says what it rests on.</p></header>"
    )


def _arms(report: Report, marks: dict[str, int]) -> str:
    spec = report.study.spec
    entries = {entry.name: entry.arm for entry in spec.arms} if spec is not None else {}
    rows = []
    for claim in words.claims_of(report, "dialogues"):
        arm = entries.get(claim.arm)
        said = claim.numbers
        rows.append(
            [
                _e(claim.arm) + _marks([claim], marks),
                _e(arm.assistant.model if arm else words.NOTHING),
                _e(text.context_label(arm.context) if arm else words.NOTHING),
                _e(", ".join(report.prompts.get(claim.arm, ())) or words.NOTHING),
                *(words.number_cell(said[k]) for k in ("dialogues", "judgeable", "excluded")),
            ]
        )
    heads = ("Arm", "Assistant", "Is told", "Prompts", "Dialogues", "Judgeable", "Excluded")
    note = "Excluded: broken off (model error, refusal, budget, cancelled), so never judged."
    return f'<section id="arms"><h2>Arms</h2>{table(heads, rows, note)}</section>'


def _design(report: Report) -> str:
    rows = [[_e(name), _e(value)] for name, value in words.design_lines(report)]
    return f'<section id="design"><h2>Design</h2>{table(("What", "How"), rows)}</section>'


def _instruments(report: Report) -> str:
    rows = [
        [_e(i.judge), _e(i.rubric), _code(i.prompt_hash), _code(str(dict(i.params))), _code(i.id)]
        for i in report.instruments
    ]
    heads = ("Judge", "Rubric", "Prompt", "Parameters", "Instrument")
    note = "Two instruments are two rulers: their values are never put into one number."
    return f'<section id="instruments"><h2>Instruments</h2>{table(heads, rows, note)}</section>'


def _results(
    report: Report, parts: Sequence[words.Part], marks: dict[str, int], scripts: list[str]
) -> Iterable[str]:
    yield '<section id="results"><h2>Results</h2>'
    for index, part in enumerate(parts):
        several = len(report.ledger.comparison.instruments(part.dimension)) > 1
        yield f"<h3>{_e(words.title_of(part, several))}</h3>"
        yield from _corrected(report, part, marks)
        yield f"<p>{_e(words.headline(part))}</p>"
        yield from _charts(part, index, scripts)
        arms = words.claims_of(report, "arm", part)
        yield _claims_table(words.ARM_HEADS, arms, map(words.arm_cells, arms), marks)
        pairs = words.claims_of(report, "difference", part)
        if pairs:
            cells = map(words.difference_cells, pairs)
            yield _claims_table(words.DIFFERENCE_HEADS, pairs, cells, marks)
        for claim in pairs or arms:
            yield _finding(report, claim, marks, shown=index == 0)
    yield "</section>"


def _corrected(report: Report, part: words.Part, marks: dict[str, int]) -> Iterable[str]:
    """What people's labels say, before what the judge says; nothing where there are none."""
    claims = words.corrected_claims(report, part)
    if claims:
        yield from (f"<p>{_e(line)}</p>" for line in words.corrected_lines(report, part))
        cells = map(words.corrected_cells, claims)
        yield _claims_table(words.CORRECTED_HEADS, claims, cells, marks)
        yield '<p class="muted">The judge alone, uncorrected:</p>'


def _charts(part: words.Part, index: int, scripts: list[str]) -> Iterable[str]:
    for name, figure in figures(part).items():
        element = f"chart-{index}-{name}"
        scripts.append(drawing(element, figure))
        yield f'<figure><div class="scroll"><div class="chart" id="{element}"></div></div></figure>'


def _claims_table(
    heads: Sequence[str],
    claims: Sequence[Claim],
    cells: Iterable[Sequence[str]],
    marks: dict[str, int],
) -> str:
    rows = []
    for claim, row in zip(claims, cells, strict=True):
        first, *rest = map(_e, row)
        rows.append([first + _marks([claim], marks), *rest])
    notes = dict.fromkeys(note for claim in claims for note in claim.warnings)
    return table(heads, rows, "; ".join(map(_e, notes)))


# --- examples ---------------------------------------------------------------------------------


def _finding(report: Report, claim: Claim, marks: dict[str, int], *, shown: bool) -> str:
    found = report.examples_of(claim.id)
    if not found:
        return ""
    title = f"Three dialogues: {words.claim_words(claim)}"
    return "\n".join(
        [f'<p class="muted">{_e(title)}</p>', *(_example(e, marks, shown=shown) for e in found)]
    )


def _example(example: Example, marks: dict[str, int], *, shown: bool) -> str:
    dialogue, judgement = example.dialogue, example.judgement
    other = "" if example.other is None else f"; baseline {words.number_cell(example.other, 2)}"
    value = f"rated {words.number_cell(example.value, 2)}{other}"
    line = f"{example.role}: {dialogue.arm.name} · {dialogue.intent} · {value}"
    said = "" if judgement is None else f"<p><b>Judge:</b> {_e(judgement.rationale)}</p>"
    messages = "".join(
        f'<p class="message {message.role}"><b>{turn} {_e(ROLES[message.role])}</b>'
        f"{_e(message.content)}</p>"
        for turn, message in numbered(dialogue.messages)
    )
    opened = " open" if shown else ""
    persona = f"{dialogue.persona_id} · {dialogue.task_id} · {dialogue.id}"
    return (
        f"<details{opened}><summary>{_e(line)}{_marks([example.claim], marks)}</summary>"
        f'<p class="ids muted">{_e(persona)}</p>{messages}{said}</details>'
    )


# --- pieces -----------------------------------------------------------------------------------


def _list_section(name: str, title: str, lines: Sequence[str]) -> str:
    items = "".join(f"<li>{_e(line)}</li>" for line in lines)
    return f'<section id="{name}"><h2>{_e(title)}</h2><ul>{items}</ul></section>'


def _marks(claims: Iterable[Claim], marks: dict[str, int]) -> str:
    numbers = [marks[claim.id] for claim in claims]
    return "".join(f'<sup><a href="#c{n}">{n}</a></sup>' for n in numbers)


def _code(words_: str) -> str:
    return f"<code>{_e(words_)}</code>"
