"""The sentences and rows of a report, as plain text: whoever writes a document escapes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from core import agreement_words
from core.agreement import Agreement
from core.compare import rubric_ends
from core.comparison import Comparison, Ends
from core.correcting import Correction
from core.report import Report
from core.report_ledger import Claim
from core.stats.intervals import FEW_CLUSTERS
from pages._ui import text
from pages._ui.corrected_words import arm_words, basis_words, gap_words

NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Part:
    """One dimension by one instrument: a section of results."""

    dimension: str
    instrument_id: str
    instrument: str
    comparison: Comparison
    checked: bool = False  # people's labels correct it, in numbers of their own


def parts(report: Report) -> list[Part]:
    """The sections of results, the study's primary dimension first."""
    whole = report.ledger.comparison
    spec = report.study.spec
    primary = spec.primary if spec is not None else "personalization"
    checked = {(c.dimension, c.instrument_id) for c in report.ledger.corrections}
    order = sorted(whole.dimensions, key=lambda d: (d != primary, d))
    return [
        Part(dimension, key, label, whole.select(dimension, key), (dimension, key) in checked)
        for dimension in order
        for key, label in whole.instruments(dimension).items()
    ]


def headline(part: Part) -> str:
    said = text.what_is_estimated(part.comparison)
    return said.replace(text.UNCHECKED, "uncorrected") if part.checked else said


def correction_of(report: Report, part: Part) -> Correction | None:
    """What people's labels make of a section, where they make something of it."""
    return next(
        (
            found
            for found in report.ledger.corrections
            if (found.dimension, found.instrument_id) == (part.dimension, part.instrument_id)
            and any(row.found is not None for row in found.arms)
        ),
        None,
    )


def corrected_lines(report: Report, part: Part) -> list[str]:
    """Arms and differences as people would rate them, and what that rests on; else nothing."""
    found = correction_of(report, part)
    if found is None:
        return []
    ends = rubric_ends().get(found.dimension) or Ends(0, 1)
    lines = [arm_words(row, found, ends) for row in found.arms]
    lines += [gap_words(gap, found.dimension, ends) for gap in found.gaps if gap.found is not None]
    basis = basis_words(found, part.instrument)
    return [*lines, f"{basis} Labels of {found.design.name}, frame {found.design.frame_hash[:12]}."]


def title_of(part: Part, several: bool) -> str:
    name = text.dimension_label(part.dimension)
    return f"{name}, by {part.instrument}" if several else name


# --- tables -----------------------------------------------------------------------------------

ARM_HEADS = ("Arm", "Estimate", "95 % interval", "n", "Personas", "Unscored", "Excluded")
DIFFERENCE_HEADS = (
    "Arm", "Minus", "Difference", "95 % interval", "p", "n", "Personas", "Better / worse / same"
)  # fmt: skip
LEDGER_HEADS = ("No.", "Claim", "Numbers", "Rests on", "Instrument", "Data hash", "Dialogues")


CORRECTED_HEADS = (
    "Arm", "Minus", "Estimate", "95 % interval", "Method", "People alone", "Judge alone", "n",
    "Labels", "Personas",
)  # fmt: skip


def corrected_claims(report: Report, part: Part) -> list[Claim]:
    return [
        claim
        for kind in ("corrected", "corrected_difference")
        for claim in claims_of(report, kind, part)
    ]


def corrected_cells(claim: Claim) -> list[str]:
    said = claim.numbers
    return [
        claim.arm,
        claim.baseline or NOTHING,
        number_cell(said["estimate"]),
        interval_cell(claim),
        METHODS[claim.method],
        number_cell(said["people_estimate"]),
        number_cell(said["judge_estimate"]),
        *(number_cell(said[k]) for k in ("n", "n_labels", "n_personas")),
    ]


METHODS = {"corrected": "corrected", "human_only": "people alone"}


def number_cell(value: float | int | None, digits: int = 3) -> str:
    """A number of a table: whole as it is, others with `digits` places, none as a dash."""
    if value is None:
        return NOTHING
    if isinstance(value, int):
        return text.count(value)
    return text.number(value, digits)


def interval_cell(claim: Claim) -> str:
    lo, hi = claim.numbers.get("lo"), claim.numbers.get("hi")
    if lo is None or hi is None:
        return "no interval"
    return f"{number_cell(lo)} to {number_cell(hi)}"


def arm_cells(claim: Claim) -> list[str]:
    said = claim.numbers
    whole = [number_cell(said[k]) for k in ("n", "n_personas", "n_unscored", "n_excluded")]
    return [claim.arm, number_cell(said["estimate"]), interval_cell(claim), *whole]


def difference_cells(claim: Claim) -> list[str]:
    said = claim.numbers
    p = said["p"]
    shown = NOTHING if p is None else text.p_value(p).removeprefix("p = ").removeprefix("p ")
    return [
        claim.arm,
        claim.baseline,
        number_cell(said["estimate"]),
        interval_cell(claim),
        shown,
        number_cell(said["n"]),
        number_cell(said["n_personas"]),
        " / ".join(number_cell(said[k]) for k in ("wins", "losses", "ties")),
    ]


def claims_of(report: Report, kind: str, part: Part | None = None) -> list[Claim]:
    return [
        claim
        for claim in report.claims
        if claim.kind == kind
        and (
            part is None
            or (claim.dimension, claim.instrument_id) == (part.dimension, part.instrument_id)
        )
    ]


def claim_words(claim: Claim) -> str:
    """What a claim is about, in a few words."""
    name = text.dimension_name(claim.dimension) if claim.dimension else ""
    return {
        "dialogues": f"Dialogues of {claim.arm}",
        "arm": f"{name} with {claim.arm}",
        "difference": f"{name}: {claim.arm} minus {claim.baseline}",
        "agreement": f"{name}: judge and people",
        "corrected": f"{name} with {claim.arm}, as people would rate it",
        "corrected_difference": (
            f"{name}: {claim.arm} minus {claim.baseline}, as people would rate them"
        ),
        "example": f"Quoted dialogue of {claim.arm}" + (f", {name}" if name else ""),
    }[claim.kind]


_COUNTS = ("n", "n_labels", "n_personas", "n_unscored", "n_excluded", "n_overridden")


def claim_basis(claim: Claim) -> str:
    """What a claim rests on: `n 120; personas 14; unscored 0; excluded 0; overridden 0`."""
    said = [
        f"{name.removeprefix('n_')} {number_cell(claim.numbers[name])}"
        for name in _COUNTS
        if name in claim.numbers
    ]
    if claim.design:
        said += [f"design {claim.design}", f"frame {claim.frame_hash[:12]}"]
    return "; ".join(said) or NOTHING


def claim_numbers(claim: Claim) -> str:
    """Every number of a claim that has no column of its own."""
    said = [
        f"{name.removeprefix('n_').replace('_', ' ')} {number_cell(value, 4)}"
        for name, value in claim.numbers.items()
        if name not in _COUNTS and value is not None
    ]
    return "; ".join(said) or NOTHING


def app_address(report: Report, claim: Claim, app: str) -> str:
    """Where the dialogues behind a claim are read in the web app."""
    if claim.kind == "example":
        return f"{app}/dialogues?{urlencode({'dialogue': claim.dialogue_ids[0]})}"
    asked = [("study", report.study.id)]
    asked += [("arm", arm) for arm in (claim.arm, claim.baseline) if arm]
    return f"{app}/dialogues?{urlencode(asked)}"


# --- prose ------------------------------------------------------------------------------------


def design_lines(report: Report) -> list[tuple[str, str]]:
    spec = report.study.spec
    if spec is None:
        return [("Dialogues", "imported or launched by hand; there is no study file")]
    chosen = spec.scenarios
    picked = [f"kind {chosen.kind}"]
    if chosen.domains:
        picked.append(f"domains {', '.join(chosen.domains)}")
    if chosen.users:
        picked.append(f"users {chosen.users}")
    if chosen.limit is not None:
        picked.append(f"{chosen.limit} drawn at random with seed {chosen.seed}")
    return [
        ("Dataset", spec.dataset),
        ("Scenarios", ", ".join(picked)),
        ("Repetitions", str(spec.repetitions)),
        ("Simulated user", spec.user_agent.model),
        ("Primary dimension", text.dimension_name(spec.primary)),
        ("Baseline", report.ledger.comparison.baseline),
    ]


def agreement_lines(report: Report) -> list[str]:
    if not report.ledger.agreements:
        return ["No blind labels of people were given to this report: nothing here has been "
                "checked by people."]  # fmt: skip
    return [line for found in report.ledger.agreements for line in _agreement(found)]


def _agreement(found: Agreement) -> list[str]:
    name = text.dimension_name(found.dimension)
    basis = (
        f"{name}, {found.instrument}: {text.plural(found.n_labels, 'blind label')} of "
        f"{text.plural(found.n_items, 'dialogue')}, {text.plural(found.n_personas, 'persona')}."
    )
    lines = [basis]
    if found.judge is not None:
        lines.append(agreement_words.judge_words(found.judge))
    if found.people is not None:
        lines.append(agreement_words.people_words(found.people, name.lower()))
    return lines


def limits(report: Report) -> list[str]:
    """What the numbers do not say, in words; each sentence only where it applies."""
    comparison = report.ledger.comparison
    found = ["The persons are simulated: what people would have said may differ."]
    judges = sorted({i.judge for i in report.instruments})
    named = ", ".join(judges)
    corrected = [part for part in parts(report) if correction_of(report, part) is not None]
    if corrected:
        titles = ", ".join(dict.fromkeys(text.dimension_name(p.dimension) for p in corrected))
        found.append(
            f"{titles}: the numbers as people would rate it come first. All others are means of "
            f"{named}, not corrected, and know nothing of the judge's own bias."
        )
    elif report.ledger.agreements:
        found.append(f"Estimates are means of {named}; they are not corrected by people's labels.")
    else:
        found.append(
            f"Estimates are means of {named}, not corrected and not yet checked by people; the "
            "interval knows the choice of personas, and nothing of the judge's own bias."
        )
    if "scripted/judge" in judges:
        found.append("scripted/judge is a fixed rule that counts; it does not read as people do.")
    found.append("Tasks are those of the dataset: intervals are for other personas on these tasks.")
    found += _of_rows(comparison)
    if any(claim.numbers.get("n_overridden") for claim in report.claims):
        found.append("Overrides repair single dialogues for readers; they are in no number here.")
    found.append("Example dialogues were chosen by rule (largest, typical, smallest), not drawn.")
    return found


def _of_rows(comparison: Comparison) -> list[str]:
    found: list[str] = []
    unscored = sum(row.n_unscored for row in comparison.rows)
    if unscored:
        found.append(
            f"{text.plural(unscored, 'rating')} could not be read from the judge's answer; such "
            "dialogues count as unscored and in no mean."
        )
    if any(row.n_personas < FEW_CLUSTERS for row in comparison.rows):
        found.append(f"Below {FEW_CLUSTERS} personas there is no interval.")
    open_ones = [d for d in comparison.differences if d.lo is not None and not d.resolved]
    if open_ones:
        found.append(
            f"{len(open_ones)} of {text.plural(len(comparison.differences), 'difference')} are not "
            "resolved: the interval holds 0. That is no proof that there is none."
        )
    if len(comparison.differences) > 1:
        found.append(
            f"{len(comparison.differences)} differences were looked at, and the p in the tables "
            "is that of each alone."
        )
    return found


def hash_recipe(columns: Sequence[str]) -> str:
    return (
        "A data hash is SHA-256 over the judgements behind a claim, one line each, ended by a "
        f"line feed, sorted: {', '.join(columns)}, separated by tabs, missing values empty. For a "
        "difference the lines of the arm come first, then those of the baseline."
    )
