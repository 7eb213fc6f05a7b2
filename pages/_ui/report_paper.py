"""A report for a paper: Markdown for an appendix, LaTeX tables. The same numbers, no charts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from core.report import Report
from core.report_ledger import ROW_COLUMNS, Claim
from pages._ui import report_words as words
from pages._ui import text

_MARKED = re.compile(r"[\\`*_\[\]<>|#$~&!]|^[-+](?=\s)|^\d+(?=[.)]\s)")
_PAPER_LEDGER = ("No.", "Claim", "Numbers", "Rests on", "Data hash")


def _md(words_: str) -> str:
    """Make text inert in Markdown, and leave it readable as it stands: one line."""
    plain = " ".join(" ".join(text.plain_lines(words_)).split())
    return _MARKED.sub(r"\\\g<0>", plain)


def report_markdown(report: Report) -> str:
    """The appendix of a paper: everything but charts and dialogues."""
    spec = report.study.spec
    lines = [f"# {_md(report.study.name)}", ""]
    if spec is not None and spec.question:
        lines += [_md(spec.question), ""]
    lines += ["## Design", ""]
    lines += _bullets(f"{name}: {value}" for name, value in words.design_lines(report))
    lines += ["## Instruments", ""]
    lines += _bullets(
        f"{i.label}, prompt {i.prompt_hash}, parameters {dict(i.params)}, id {i.id}"
        for i in report.instruments
    )
    lines += ["## Results", ""]
    for part in words.parts(report):
        lines += _section(report, part)
    lines += ["## Agreement with people", "", *_bullets(words.agreement_lines(report))]
    lines += ["## Limits", "", *_bullets(words.limits(report))]
    lines += ["## Ledger of claims", "", *_table(_PAPER_LEDGER, _ledger(report))]
    lines += [_md(words.hash_recipe(ROW_COLUMNS)), ""]
    lines += ["## To do it again", "", *_bullets(f"{k} {v}" for k, v in report.versions.items())]
    if spec is not None:
        lines += _indented(spec.to_yaml())
    return "\n".join(lines).rstrip() + "\n"


def _section(report: Report, part: words.Part) -> list[str]:
    several = len(report.ledger.comparison.instruments(part.dimension)) > 1
    arms = words.claims_of(report, "arm", part)
    pairs = words.claims_of(report, "difference", part)
    lines = [f"### {_md(words.title_of(part, several))}", ""]
    if corrected := words.corrected_claims(report, part):
        lines += _bullets(words.corrected_lines(report, part))
        lines += _table(words.CORRECTED_HEADS, map(words.corrected_cells, corrected))
    lines += [_md(words.headline(part)), ""]
    lines += _table(words.ARM_HEADS, map(words.arm_cells, arms))
    if pairs:
        lines += _table(words.DIFFERENCE_HEADS, map(words.difference_cells, pairs))
    return lines


def _ledger(report: Report) -> Iterable[list[str]]:
    for number, claim in enumerate(report.claims, 1):
        about = [str(number), words.claim_words(claim), words.claim_numbers(claim)]
        yield [*about, words.claim_basis(claim), claim.data_hash[:12]]


def _bullets(items: Iterable[str]) -> list[str]:
    return [*(f"- {_md(item)}" for item in items), ""]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        "| " + " | ".join(heads) + " |",
        "|" + "---|" * len(heads),
        *("| " + " | ".join(map(_md, row)) + " |" for row in rows),
        "",
    ]


def _indented(block: str) -> list[str]:
    """A block of code by indentation: nothing in it can end it."""
    return ["", *(f"    {line}" for line in text.plain_lines(block)), ""]


# --- LaTeX --------------------------------------------------------------------------------------

_TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "–": "--", "\u00a0": "~", "\u2212": "$-$",
}  # fmt: skip


def escape_tex(words_: str) -> str:
    """Make text inert in LaTeX; control characters and line ends become blanks."""
    plain = " ".join(" ".join(text.plain_lines(words_)).split(" "))
    return "".join(_TEX.get(letter, letter) for letter in plain)


def report_latex(report: Report) -> str:
    """Two tables for each dimension and instrument, with what they rest on in the caption."""
    lines = ["% Tables of a report; they need \\usepackage{booktabs} and textcomp (T1 fonts)."]
    for part in words.parts(report):
        several = len(report.ledger.comparison.instruments(part.dimension)) > 1
        title = words.title_of(part, several)
        arms = words.claims_of(report, "arm", part)
        pairs = words.claims_of(report, "difference", part)
        if people := words.corrected_claims(report, part):
            rows = map(words.corrected_cells, people)
            name = f"{title}, as people would rate it"
            lines += _tex_table(name, words.CORRECTED_HEADS, rows, people)
        lines += _tex_table(title, words.ARM_HEADS, map(words.arm_cells, arms), arms)
        if pairs:
            cells = map(words.difference_cells, pairs)
            lines += _tex_table(f"{title}: differences", words.DIFFERENCE_HEADS, cells, pairs)
    return "\n".join(lines) + "\n"


def _tex_table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], claims: Sequence[Claim]
) -> list[str]:
    first = claims[0] if claims else None
    basis = "" if first is None else f" {first.instrument}; {first.method}."
    hashes = ", ".join(f"{claim.arm} {claim.data_hash[:12]}" for claim in claims)
    return [
        "",
        r"\begin{table}[ht]",
        rf"\caption{{{escape_tex(title)}.{escape_tex(basis)}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}",
        r"\toprule",
        " & ".join(map(escape_tex, heads)) + r" \\",
        r"\midrule",
        *(" & ".join(map(escape_tex, row)) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        f"% data hashes: {escape_tex(hashes)}",
        r"\end{table}",
    ]
