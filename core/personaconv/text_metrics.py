"""How near a generated reply is to the written one, by kept libraries.

ROUGE by `rouge-score`, BLEU and METEOR by NLTK with its own word tokenizer. No package ships the
English WordNet that METEOR's synonyms need, so METEOR matches words and stems and is called so.
ROUGE-L over Unicode words stands beside the one of `rouge-score`, whose tokenizer drops every
letter that is not Latin. Similarity of meaning needs an extra; see `embeddings`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"\w+")
TEXT_METRICS = ("rouge1", "rougeL", "rougeL_unicode", "bleu", "meteor_exact_stem")


@dataclass(frozen=True, slots=True)
class TextScores:
    """All from 0 to 1. `sbert` is None without the extra for embeddings."""

    rouge1: float
    rougeL: float
    rougeL_unicode: float
    bleu: float
    meteor_exact_stem: float
    sbert: float | None = None


NOTHING = TextScores(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@lru_cache(maxsize=100_000)
def text_scores(reference: str, candidate: str) -> TextScores:
    """One candidate against one reference. An empty candidate is 0 throughout."""
    if not candidate.strip() or not reference.strip():
        return TextScores(0.0, 0.0, 0.0, 0.0, 0.0)
    rouge = _rouge().score(reference, candidate)
    return TextScores(
        float(rouge["rouge1"].fmeasure),
        float(rouge["rougeL"].fmeasure),
        unicode_rouge_l(reference, candidate),
        bleu(reference, candidate),
        meteor(reference, candidate),
    )


@lru_cache(maxsize=1)
def _rouge() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    logging.getLogger("absl").setLevel(logging.WARNING)  # it announces its tokenizer
    return RougeScorer(["rouge1", "rougeL"], use_stemmer=True)


def tokens(text: str) -> list[str]:
    """NLTK's words of a lower-cased text, sentence by sentence."""
    from nltk.tokenize.destructive import NLTKWordTokenizer

    words = NLTKWordTokenizer()
    return [w for s in _SENTENCE.split(text.lower()) for w in words.tokenize(s)]


def bleu(reference: str, candidate: str) -> float:
    """Sentence BLEU to four words with NLTK's smoothing method 1."""
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    found = tokens(candidate)
    if not found:
        return 0.0
    smoothing = SmoothingFunction().method1
    return float(sentence_bleu([tokens(reference)], found, smoothing_function=smoothing))


class _NoSynonyms:
    """Stands where METEOR looks for WordNet: no word has synonyms."""

    def synsets(self, _word: str) -> list[Any]:
        return []


def meteor(reference: str, candidate: str) -> float:
    """METEOR with words and stems alone (alpha 0.9, beta 3, gamma 0.5)."""
    from nltk.translate.meteor_score import single_meteor_score

    return float(single_meteor_score(tokens(reference), tokens(candidate), wordnet=_NoSynonyms()))


def unicode_rouge_l(reference: str, candidate: str) -> float:
    """F of the longest common run of words in order; words are those of any script."""
    first = _WORD.findall(reference.casefold())
    second = _WORD.findall(candidate.casefold())
    common = _common(first, second)
    return 2 * common / (len(first) + len(second)) if common else 0.0


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    row = [0] * (len(second) + 1)
    for word in first:
        before = 0
        for at, other in enumerate(second, 1):
            before, row[at] = row[at], before + 1 if word == other else max(row[at], row[at - 1])
    return row[-1]
