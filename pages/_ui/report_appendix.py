"""The end of a report file: the ledger of its claims, and what one needs to make them again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.report import Report
from core.report_ledger import ROW_COLUMNS, Claim
from pages._ui import report_words as words
from pages._ui import text

MOST_IDS = 200
"""Ids of dialogues that are listed under one claim; the web app shows all."""

_e = text.escape_html


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """A table of cells that are HTML already; `note` stands above it."""
    head = "".join(f"<th>{_e(h)}</th>" for h in heads)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    caption = f"<caption>{note}</caption>" if note else ""
    return (
        f'<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def ledger_section(report: Report, marks: dict[str, int], app: str) -> str:
    """Every claim with what it rests on, and the dialogues behind it."""
    rows = [_ledger_row(report, claim, marks[claim.id], app) for claim in report.claims]
    lists = "".join(_behind(claim, marks[claim.id]) for claim in report.claims)
    intro = (
        "Each number of this report is here once. To see which of them stored rows still support: "
        "<code>python cli.py report --check FILE</code>."
    )
    return (
        f'<section id="claims"><h2>Ledger of claims</h2><p>{intro}</p>'
        f"{table(words.LEDGER_HEADS, rows)}<h3>Dialogues behind the claims</h3>{lists}</section>"
    )


def _ledger_row(report: Report, claim: Claim, number: int, app: str) -> list[str]:
    address = words.app_address(report, claim, app)
    behind = f'<a href="#d{number}">{text.count(len(claim.dialogue_ids))}</a>, '
    return [
        f'<span id="c{number}">{number}</span>',
        _e(words.claim_words(claim)),
        _e(words.claim_numbers(claim)),
        _e(words.claim_basis(claim)),
        _e(claim.instrument or words.NOTHING),
        f'<code title="{claim.data_hash}">{claim.data_hash[:12]}</code>',
        (behind if claim.dialogue_ids else "") + f'<a href="{_e(address)}">in the app</a>',
    ]


def _behind(claim: Claim, number: int) -> str:
    if not claim.dialogue_ids:
        return ""
    ids = claim.dialogue_ids[:MOST_IDS]
    more = len(claim.dialogue_ids) - len(ids)
    rest = f" and {text.count(more)} more, which the web app lists" if more else ""
    return (
        f'<details id="d{number}"><summary>{number} · {_e(words.claim_words(claim))}</summary>'
        f'<p class="ids">{_e(", ".join(ids))}{rest}</p>'
        f'<p class="ids muted">Data hash {claim.data_hash}; {_e(claim.method)}</p></details>'
    )


def reproduce_section(report: Report) -> str:
    """The study file, versions, and how hashes are made."""
    spec = report.study.spec
    versions = [[_e(name), _e(value)] for name, value in report.versions.items()]
    file = ""
    if spec is not None:
        steps = (
            f"Save the study below as study.yaml, import the dataset {spec.dataset}, then run "
            "python cli.py run study.yaml and python cli.py report NAME --to FILE.html."
        )
        file = f"<p>{_e(steps)}</p><pre>{_e(spec.to_yaml())}</pre>"
    return (
        f'<section id="reproduce"><h2>To do it again</h2>{file}'
        f"{table(('Package', 'Version'), versions)}"
        f"<p>{_e(words.hash_recipe(ROW_COLUMNS))} The file carries the lines in the element "
        "<code>rows</code>, and all claims in the element <code>ledger</code>.</p></section>"
    )
