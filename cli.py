"""Rapport from the terminal. Names and JSON keys are a contract; see README.

Every command that reports takes `--json` and then prints exactly one JSON object on standard
output; everything else goes to standard error. Exit codes: 0 done, 1 the work failed, 2 wrong
use or bad input, with one sentence.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from cli_labels import commands as label_commands
from cli_report import add_report
from core.clock import now
from core.errors import (
    AppError,
    AssetError,
    NotFound,
    SettingsError,
    SourceError,
    StudyError,
)
from core.ledger import Caps
from core.ports import ScenarioFilter, Store, Study
from core.progress_words import progress_line, progress_object, progress_words, state_word
from core.review_ports import ReviewingStore
from core.settings import Settings
from core.types import ImportReport, StudyProgress, StudyState

BAD_INPUT = (SettingsError, SourceError, StudyError, AssetError, NotFound)
ROOT = Path(__file__).resolve().parent

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Evaluate how well conversational assistants personalise.",
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
StudyName = Annotated[str, typer.Argument(help="A study's name.")]


def main() -> None:
    """Run the command line; turn every `AppError` into one sentence and an exit code."""
    try:
        app()
    except AppError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2 if isinstance(error, BAD_INPUT) else 1)
    except KeyboardInterrupt:
        sys.exit(1)


# --- what commands share ----------------------------------------------------------------------


@contextmanager
def _store(settings: Settings) -> Iterator[ReviewingStore]:
    from core.sample import ensure_sample
    from storage.store import open_store

    store = open_store(settings.database_url)
    try:
        ensure_sample(store)
        yield store
    finally:
        store.close()


def _settings() -> Settings:
    settings = Settings.from_env()
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.basicConfig(
        level=settings.log_level, stream=sys.stderr, format="%(asctime)s %(name)s %(message)s"
    )
    return settings


def _put(value: dict[str, Any], as_json: bool, words: Callable[[dict[str, Any]], str]) -> None:
    text = json.dumps(value, ensure_ascii=False, default=str) if as_json else words(value)
    sys.stdout.write(text + "\n")


def _table(rows: list[dict[str, Any]]) -> str:
    """Rows as aligned columns."""
    if not rows:
        return "(none)"
    heads = list(rows[0])
    cells = [heads, *([_cell(row[h]) for h in heads] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(heads))]
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in cells
    )


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _note(text: str) -> None:
    sys.stderr.write(text + "\n")


# --- the app ----------------------------------------------------------------------------------


@app.command()
def serve(
    port: Annotated[int | None, typer.Option(help="Port of the web app.")] = None,
    address: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
) -> None:
    """Start the web app."""
    settings = _settings()
    with _store(settings):
        pass  # made, migrated and filled with the sample before the first visitor comes
    from streamlit.runtime.pages_manager import PagesManager
    from streamlit.web import cli as streamlit_cli

    # Pages are declared by `app.py`. Without this a first deep link shows a list of files for a
    # moment, until the guard of the page starts over.
    PagesManager.uses_pages_directory = False
    where = address or settings.address, str(port or settings.port)
    _note(f"Rapport is at http://{where[0]}:{where[1]}")
    threading.Thread(target=_warm_up, daemon=True).start()
    options = ["--server.address", where[0], "--server.port", where[1]]
    sys.argv = ["streamlit", "run", str(ROOT / "app.py"), *options]
    streamlit_cli.main()


def _warm_up() -> None:
    """Load what pages need while nobody waits for it, and keep it out of garbage collection."""
    import gc
    import importlib

    parts = ("comparison_parts", "dialogue_view", "import_panel", "live_view", "persona_card")
    for part in (*parts, "study_form", "study_monitor"):
        importlib.import_module(f"pages._ui.{part}")
    gc.freeze()


@app.command()
def demo() -> None:
    """Work off the study that ships with the sample, so that every page has something."""
    from core.sample import SAMPLE_STUDY

    _run_file(SAMPLE_STUDY, RunOptions(), as_json=False)


@app.command()
def doctor(as_json: Json = False) -> None:
    """Say what works here: Python, the database, the sample, keys, optional parts."""
    from core.doctor import examine

    settings = _settings()
    with _store(settings) as store:
        checks = examine(settings, store)
    ok = all(c.ok for c in checks if c.needed)
    rows = [{"check": c.name, "state": c.state, "what to do": c.advice} for c in checks]
    _put({"ok": ok, "checks": rows}, as_json, lambda _: _table(rows))
    raise typer.Exit(0 if ok else 1)


@app.command()
def copy(
    source: Annotated[str, typer.Option("--from", help="URL of the database to copy.")],
    target: Annotated[str, typer.Option("--to", help="URL of an empty database.")],
    as_json: Json = False,
) -> None:
    """Copy a whole database, such as SQLite to PostgreSQL, and prove that nothing changed."""
    from storage.copy import copy_database

    _settings()
    report = copy_database(source, target, on_table=lambda t: _note(f"{t.name}: {t.rows:,} rows"))
    rows = [{"name": t.name, "rows": t.rows, "checksum": t.checksum} for t in report.tables]
    _put({"tables": rows, "seconds": round(report.seconds, 2)}, as_json, lambda _: _table(rows))


# --- data -------------------------------------------------------------------------------------


@app.command("import")
def import_(
    path: Annotated[Path, typer.Argument(help="A folder, .json, .zip, .tar.gz or .tar.xz.")],
    kind: Annotated[
        str, typer.Option("--as", help="personalens, personaconv or dialogues.")
    ] = "personalens",
    users: Annotated[str | None, typer.Option(help="0-49, 7,66 or sample-50.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the dataset.")] = None,
    as_json: Json = False,
) -> None:
    """Import a dataset or dialogues; the same source twice adds nothing."""
    from core.importing import import_source

    with _store(_settings()) as store:
        report = import_source(
            path, kind=kind, name=name or _name_of(path), store=store, users=users, now=now
        )
        counts = _more_counts(report, store)
    _put(
        {
            "dataset": report.dataset,
            "personas": report.personas,
            "tasks": report.tasks,
            "scenarios": report.scenarios,
            **counts,
            "added": report.added,
            "irregularities": {i.kind: i.count for i in report.irregularities},
            "seconds": round(report.seconds, 2),
        },
        as_json,
        lambda value: _import_words(value, report.irregularities),
    )


def _more_counts(report: ImportReport, store: Store) -> dict[str, Any]:
    """What only some kinds of source have."""
    if report.kind == "dialogues":
        return {"dialogues": report.dialogues}
    if report.kind != "personaconv":
        return {}
    found = store.get_conversations(report.dataset)
    domains = {d.domain: asdict(d) for d in found.by_domain}
    return {"instances": found.targets, "threads": found.threads, "comments": found.comments} | {
        "hash": found.hash,
        "domains": domains,
    }


def _name_of(path: Path) -> str:
    return path.name.split(".")[0] or "dataset"


def _import_words(value: dict[str, Any], irregularities: tuple[Any, ...]) -> str:
    head = (
        f"{value['dataset']}: {value['personas']:,} members, {value['threads']:,} threads, "
        f"{value['comments']:,} comments, {value['instances']:,} replies to ask about; "
        f"{value['added']:,} threads added in {value['seconds']} s."
        if "threads" in value
        else f"{value['dataset']}: {value['personas']:,} personas, {value['tasks']:,} tasks, "
        f"{value['scenarios']:,} scenarios; {value['added']:,} rows added in {value['seconds']} s."
    )
    rows = [
        {"irregularity": i.kind, "count": i.count, "repaired": i.repaired, "what": i.what}
        for i in irregularities
    ]
    tables = [_table(list(value["domains"].values()))] if "domains" in value else []
    return "\n\n".join([head, *tables, *([_table(rows)] if rows else [])])


@app.command()
def datasets(as_json: Json = False) -> None:
    """List the datasets."""
    with _store(_settings()) as store:
        rows = [
            {
                "name": d.name,
                "kind": d.kind,
                "personas": d.personas,
                "tasks": d.tasks,
                "scenarios": d.scenarios,
                "imported_at": d.imported_at.isoformat(timespec="seconds"),
            }
            for d in store.list_datasets()
        ]
    _put({"datasets": rows}, as_json, lambda _: _table(rows))


@app.command()
def personas(
    dataset: str,
    domain: Annotated[str | None, typer.Option(help="Only people who care for it.")] = None,
    as_json: Json = False,
) -> None:
    """List the personas of a dataset."""
    with _store(_settings()) as store:
        if store.find_dataset(dataset) is None:
            raise NotFound(f"There is no dataset called {dataset}; see `python cli.py datasets`.")
        people = [
            p for p in store.list_personas(dataset) if domain is None or domain in p.interests
        ]
        refs = store.list_scenarios(dataset, ScenarioFilter())
    counts: dict[str, int] = {}
    for ref in refs:
        counts[ref.persona_id] = counts.get(ref.persona_id, 0) + 1
    rows: list[dict[str, Any]] = [
        {
            "id": p.id,
            "demographics": dict(p.demographics),
            "interests": sorted(p.interests),
            "scenarios": counts.get(p.id, 0),
        }
        for p in people
    ]
    short = [
        {
            "id": r["id"],
            "age": r["demographics"].get("age"),
            "gender": r["demographics"].get("gender"),
            "lives in": r["demographics"].get("reside_country"),
            "interests": len(r["interests"]),
            "scenarios": r["scenarios"],
        }
        for r in rows
    ]
    _put({"dataset": dataset, "personas": rows}, as_json, lambda _: _table(short))


# --- studies ----------------------------------------------------------------------------------


class RunOptions:
    """What a command line may say over a study's own limits."""

    def __init__(
        self,
        concurrency: int | None = None,
        workers: int | None = None,
        budget_usd: float | None = None,
        cluster: str | None = None,
    ) -> None:
        self.concurrency, self.workers, self.budget_usd = concurrency, workers, budget_usd
        self.cluster = cluster

    def processes(self, study: Study) -> int:
        """How many processes work: as many as asked for, else as many as the calls keep busy."""
        assert study.spec is not None
        if self.workers is not None or study.spec.scripted:
            return self.workers or 1
        calls = self.concurrency or study.spec.limits.concurrency
        return max(1, min(os.cpu_count() or 1, calls // CALLS_PER_PROCESS))


CALLS_PER_PROCESS = 32  # at once, that one process serves without making them wait
Concurrency = Annotated[int | None, typer.Option(min=1, help="Model calls at once.")]
Workers = Annotated[
    int | None,
    typer.Option(min=1, max=1000, help="Processes here; by default one for 32 calls at once."),
]
Cluster = Annotated[str | None, typer.Option(help="Address of a Dask scheduler to work on.")]
Carried = Annotated[str | None, typer.Option(hidden=True)]  # what a cluster's worker was told
Budget = Annotated[float | None, typer.Option("--budget-usd", min=0, help="Stop before this.")]


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="A study file (YAML).")],
    concurrency: Concurrency = None,
    workers: Workers = None,
    budget_usd: Budget = None,
    cluster: Cluster = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Estimate, and run nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Run a study, or go on with it: what is finished is kept and not paid again."""
    if dry_run:
        return _estimate_file(file, as_json)
    _run_file(file, RunOptions(concurrency, workers, budget_usd, cluster), as_json)


def _estimate_file(file: Path, as_json: bool) -> None:
    from core.estimate import estimate_study
    from core.estimate_words import estimate_object, estimate_words
    from core.models.price_list import token_price
    from core.study_file import load_study

    spec = load_study(file)
    with _store(_settings()) as store:
        found = estimate_study(spec, store, token_price)
    _put(estimate_object(found), as_json, lambda _: estimate_words(found))


def _run_file(file: Path, options: RunOptions, as_json: bool) -> None:
    from core.models.litellm_model import LitellmModel
    from core.study import check_study, plan
    from core.study_file import load_study

    settings = _settings()
    spec = load_study(file)
    _check_cluster(settings, options)
    with _store(settings) as store:
        model = LitellmModel(settings)
        # On a cluster the keys are the workers', and so is the check for them.
        check_study(spec, store, model.check if options.cluster is None else lambda _: None)
        study = plan(spec, store, now).study
        if study.state is StudyState.CANCELLED:
            raise StudyError(f"{study.name} was cancelled; `resume` it, or give it another name.")
        # The file's limits count, not those the study was first stored with.
        _work(replace(study, spec=spec), store, model, options, as_json)


@app.command()
def resume(
    study: StudyName,
    concurrency: Concurrency = None,
    workers: Workers = None,
    budget_usd: Budget = None,
    failed: Annotated[bool, typer.Option("--failed", help="Try failed units again.")] = False,
    cluster: Cluster = None,
    carried: Carried = None,
    as_json: Json = False,
) -> None:
    """Go on with a stored study, from where it was."""
    from core.failed import retry_failed
    from core.models.litellm_model import LitellmModel

    settings, options = _settings(), RunOptions(concurrency, workers, budget_usd, cluster)
    _check_cluster(settings, options)
    with _store(settings) as store:
        if carried is not None:
            return _carry(carried, store, LitellmModel(settings))
        found = store.get_study(study)
        if found.spec is None:
            raise StudyError(f"{study} holds finished dialogues; there is nothing to run.")
        if failed:
            retry_failed(found, store)
        _work(found, store, LitellmModel(settings), options, as_json)


def _work(study: Study, store: Store, model: Any, options: RunOptions, as_json: bool) -> None:
    from core.limits import caps_of
    from core.runner import Runner

    if options.cluster is not None:
        return _work_on_cluster(study, store, options, as_json)
    assert study.spec is not None
    caps = caps_of(
        study.spec.limits, concurrency=options.concurrency, budget_usd=options.budget_usd
    )
    helpers = _start_workers(study, options, caps)
    _get_ready(study)
    runner = Runner(study, store, model, caps=caps)

    def stop(*_: object) -> None:
        runner.stop()
        for helper in helpers:
            helper.terminate()

    _on_signal(stop)
    try:
        runner.run(lambda p: _note(progress_line(p)))
    finally:
        for helper in helpers:
            helper.wait()
    _end_with(store.progress(study.id), as_json)


def _get_ready(study: Study) -> None:
    """Load what takes seconds before a rush of calls, and look less often for garbage.

    Of many calls at once little is garbage, and looking took a tenth of their processor time.
    """
    import gc

    from core.models.litellm_model import load_litellm

    if study.spec is not None and not study.spec.scripted:
        load_litellm()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def _on_signal(act: Callable[..., None]) -> None:
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, act)


def _end_with(progress: StudyProgress, as_json: bool) -> None:
    _put(progress_object(progress), as_json, lambda _: progress_words(progress))
    if progress.owed:
        raise typer.Exit(1)


def _start_workers(study: Study, options: RunOptions, caps: Caps) -> list[subprocess.Popen[bytes]]:
    """Further processes on the same study, under the same limits.

    Claims keep them from each other's units, and the ledger holds their calls together.
    """
    command = [sys.executable, str(ROOT / "cli.py"), "resume", study.name, "--workers", "1"]
    command += ["--concurrency", str(caps.concurrency)]
    if caps.budget_usd is not None:
        command += ["--budget-usd", str(caps.budget_usd)]
    more = options.processes(study) - 1
    return [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(more)]


def _check_cluster(settings: Settings, options: RunOptions) -> None:
    from core.scale_out import require_shared

    if options.cluster is not None:
        require_shared(settings)


def _work_on_cluster(study: Study, store: Store, options: RunOptions, as_json: bool) -> None:
    from core.cluster import DaskWorkers
    from core.scale_out import form_crew

    workers = DaskWorkers(str(options.cluster))
    try:
        crew = form_crew(
            study,
            store,
            workers,
            concurrency=options.concurrency,
            budget_usd=options.budget_usd,
        )
        _on_signal(lambda *_: crew.stop.set())
        progress = crew.run(lambda p: _note(progress_line(p)))
    finally:
        workers.close()
    _end_with(progress, as_json)


def _carry(text: str, store: Store, model: Any) -> None:
    """Be the runner that a worker of a cluster started; end when it does."""
    from core.scale_out import Order, share_runner, when_parent_ends

    runner = share_runner(Order.parse(text), store, model, model.check)
    _on_signal(lambda *_: runner.leave())
    when_parent_ends(runner.leave)
    _end_with(runner.run(lambda p: _note(progress_line(p))), as_json=True)


@app.command()
def worker(
    scheduler: Annotated[str, typer.Option(help="Address of a Dask scheduler.")],
) -> None:
    """Lend this machine to the studies that are run on a cluster, until the scheduler ends."""
    from core.scale_out import require_shared

    settings = _settings()
    require_shared(settings)
    with _store(settings):
        pass  # reachable and migrated, or this is the moment to hear of it
    from core.cluster import lend

    lend(scheduler)


@app.command()
def status(
    study: Annotated[str | None, typer.Argument(help="A study's name; all when left out.")] = None,
    as_json: Json = False,
) -> None:
    """Say how studies stand."""
    with _store(_settings()) as store:
        if study is not None:
            progress = store.progress(store.get_study(study).id)
            _put(progress_object(progress), as_json, lambda _: progress_words(progress))
            return
        found = store.list_progress()
    rows = [progress_object(p) for p in found]
    keys = ("study", "state", "units", "done", "failed", "owed", "judgements", "cost_usd")
    short = [
        {k: r[k] for k in keys} | {"state": state_word(p)} for r, p in zip(rows, found, strict=True)
    ]
    _put({"studies": rows}, as_json, lambda _: _table(short))


@app.command()
def pause(study: StudyName, as_json: Json = False) -> None:
    """Ask a running study to stop; it can go on later."""
    _wish(study, StudyState.PAUSED, as_json)


@app.command()
def cancel(study: StudyName, as_json: Json = False) -> None:
    """Ask a study to stop for good; what is finished stays."""
    _wish(study, StudyState.CANCELLED, as_json)


def _wish(name: str, state: StudyState, as_json: bool) -> None:
    with _store(_settings()) as store:
        study = store.get_study(name)
        store.set_study_state(study.id, state)
        progress = store.progress(study.id)
    _put(progress_object(progress), as_json, lambda _: progress_words(progress))


@app.command()
def judge(
    study: StudyName,
    rubric: Annotated[list[str], typer.Option(help="NAME or NAME@VERSION; may be repeated.")],
    judge: Annotated[str, typer.Option(help="scripted/judge or a litellm model.")],
    api_base: Annotated[str | None, typer.Option(help="Base URL of the judge's API.")] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE as in a study's params, such as max_tokens=800; repeatable."),
    ] = None,
    concurrency: Concurrency = None,
    budget_usd: Budget = None,
    as_json: Json = False,
) -> None:
    """Judge a stored study with another judge or rubric; nothing is replaced."""
    from core.judging import judge_study
    from core.limits import caps_of
    from core.models.litellm_model import LitellmModel
    from core.study_file import Limits, read_params
    from core.types import ModelSpec

    settings = _settings()
    with _store(settings) as store:
        found = store.get_study(study)
        spec = ModelSpec(judge, api_base or settings.api_base, read_params(param or ()))
        model = LitellmModel(settings)
        limits = found.spec.limits if found.spec else Limits(concurrency=settings.concurrency)
        caps = caps_of(limits, concurrency=concurrency, budget_usd=budget_usd)
        added, unscored = judge_study(found, rubric, spec, store, model, caps=caps)
    value = {"study": found.name, "judge": judge, "rubrics": rubric, "added": added}
    value["unscored"] = unscored
    _put(
        value, as_json, lambda v: f"{v['added']:,} judgements added, {unscored:,} without a value."
    )


@app.command()
def results(study: StudyName, as_json: Json = False) -> None:
    """Compare the arms of a study on every dimension."""
    from core.findings import study_results

    with _store(_settings()) as store:
        value = study_results(store.get_study(study), store)
    keys = ["arm", "dimension", "estimate", "lo", "hi", "n", "n_personas", "n_unscored"]
    if any("design" in row for row in value["results"]):
        keys.append("method")
    rows = [{k: r[k] for k in keys} for r in value["results"] if r.get("domain", "all") == "all"]
    _put(value, as_json, lambda _: _table(rows))


@app.command()
def export(
    study: StudyName,
    to: Annotated[Path, typer.Option("--to", help="A folder; made when it is not there.")],
    form: Annotated[str, typer.Option("--as", help="jsonl, csv, parquet, personalens.")] = "jsonl",
    as_json: Json = False,
) -> None:
    """Write a study's dialogues, judgements and overrides to files."""
    from core.export import FORMS, export_study

    if form not in FORMS:
        raise StudyError(f"Nothing is known of the form {form}; there are {', '.join(FORMS)}.")
    with _store(_settings()) as store:
        files = export_study(store, store.get_study(study), to=to, form=form)
    value = {"study": study, "to": str(to), "files": len(files)}
    _put(value, as_json, lambda v: f"{v['files']:,} files written to {to}.")


add_report(app, lambda: _store(_settings()), _settings, _put)
app.add_typer(label_commands(lambda: _store(_settings()), _put), name="labels")

judges = typer.Typer(no_args_is_help=True, help="Check and compare judges.")
app.add_typer(judges, name="judges")


@judges.command()
def check(
    model: Annotated[str, typer.Argument(help="scripted/judge or a litellm model.")],
    rubric: Annotated[str, typer.Option(help="NAME or NAME@VERSION.")] = "personalization",
    personas: Annotated[int, typer.Option(min=2, help="How many of the sample's.")] = 12,
    probes: Annotated[bool, typer.Option("--probes", help="Length, repeating, order.")] = False,
    api_base: Annotated[str | None, typer.Option(help="Base URL of the judge's API.")] = None,
    as_json: Json = False,
) -> None:
    """Let a judge rate scripted assistants of known quality; it passes or fails, with numbers."""
    from core.known_groups import check_judge
    from core.known_groups_words import check_object, check_words
    from core.models.litellm_model import LitellmModel
    from core.types import ModelSpec

    settings = _settings()
    spec = ModelSpec(model, api_base or settings.api_base)
    with _store(settings) as store:
        answers = LitellmModel(settings)
        if complaint := answers.check(spec):
            raise StudyError(complaint)
        found = check_judge(spec, store, answers, rubric=rubric, personas=personas, probes=probes)
    _put(check_object(found), as_json, lambda _: check_words(found))
    raise typer.Exit(0 if found.passed else 1)


if __name__ == "__main__":
    main()
