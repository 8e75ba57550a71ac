"""`wayfare train-encoder`: tunes the encoder to tool retrieval, on the shipped catalogs and on your own."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from core.app import App, Settings, open_app
from core.cli import apps, options, output
from core.cli.options import option
from core.domain.errors import CatalogError, ParameterError
from core.domain.progress import Step
from core.store.connection import COMMAND

if TYPE_CHECKING:  # torch is loaded when a training begins, not for --help
    from core.relevance.tuning.judging import Judgement, LabelledCatalog

FORM = "CATALOG=TASKS"


@click.command("train-encoder")
@option("--out", type=options.PATH, help="The file to write (default: beside the store).")
@option("--seed", type=click.IntRange(min=0), default=11, help="Seed of all random draws.")
@option("--train", metavar="CATALOG[=TASKS]", multiple=True, help="Train also on this catalog; may be repeated.")
@option("--judge", metavar=FORM, multiple=True, help="Measure the gain on these tasks; may be repeated.")
@option("--steps", type=click.IntRange(min=1), help="Stop after this many steps: a trial, not a training.")
@options.db
@options.as_json
def train_encoder(
    out: Path | None, seed: int, train: tuple[str, ...], judge: tuple[str, ...], steps: int | None
) -> None:
    """Tune the encoder that estimates fit; about 15 minutes on two cores.

    Trains on the shipped catalogs and on those of --train, and writes a file of less than 2 MB.
    WAYFARE_ENCODER_DIFFERENCE switches it on. Judge it by tasks that were not used for training.

    Example: wayfare train-encoder --train mine.json=labelled.jsonl --judge other.json=tasks.jsonl
    """
    settings = apps.settings()
    file = _writable(out or settings.tuned_encoder)
    more, judged = _labelled(train, judge, settings)
    started = time.perf_counter()
    catalogs = _train(file, more, seed=seed, steps=steps or 0)
    elapsed_s = time.perf_counter() - started
    judgements = _judgements(file, catalogs, judged)
    from core.relevance.tuning.judging import conclusion

    conclusions = conclusion(judgements)
    if output.wants_json():
        document = {"file": str(file), "elapsed_s": elapsed_s, "judged": [asdict(item) for item in judgements]}
        output.document({**document, "conclusion": conclusions})
        return
    if judgements:
        figures = {"MRR frozen": ".3f", "tuned": ".3f", "gain": "+.3f", "95 %": "", "hit@1": "", "hit@3": ""}
        output.table({"tasks": "", "trained on": "", "queries": "", "view": "", **figures}, list(map(_row, judgements)))
        click.echo()
    click.echo(conclusions)
    click.echo(f"{file}, {file.stat().st_size / 1e6:.1f} MB, made in {elapsed_s:,.0f} s.")
    use = f"To use it, set WAYFARE_ENCODER_DIFFERENCE={file}"
    click.echo("This was a trial of a few steps: train without --steps before you use it." if steps else use)


def _train(file: Path, more: Sequence[LabelledCatalog], *, seed: int, steps: int) -> list[LabelledCatalog]:
    """Trains and writes the file. Returns every catalog used for training."""
    from core.relevance.onnx_encoder import model_folder
    from core.relevance.tuning.judging import TuningSettings, shipped_catalogs
    from core.relevance.tuning.training import tune
    from core.relevance.tuning.weights import frozen_model, low_rank, write_difference

    options, catalogs = TuningSettings(seed=seed, steps=steps), [*shipped_catalogs(), *more]
    change = tune(frozen_model(), catalogs, options, _tell)
    about = {"base": model_folder().key, "catalogs": [catalog.name for catalog in catalogs], **asdict(options)}
    write_difference(file, low_rank(change.scaled(options.share), options.rank), about)
    return catalogs


def _labelled(
    train: Sequence[str], judge: Sequence[str], settings: Settings
) -> tuple[list[LabelledCatalog], list[LabelledCatalog]]:
    """Returns the catalogs of the options, read before the slow work begins. The store is closed again."""
    if not train and not judge:
        return [], []
    with open_app(settings, sharing=COMMAND) as app:
        return [_read(app, text, tasks_needed=False) for text in train], [_read(app, text) for text in judge]


def _read(app: App, text: str, *, tasks_needed: bool = True) -> LabelledCatalog:
    from core.relevance.tuning.judging import labelled_catalog, queries_of

    name, _, tasks = text.partition("=")
    if not name or (tasks_needed and not tasks):
        raise ParameterError(f"{text!r} is not {FORM}; write for example mine.json=labelled.jsonl.")
    catalog = labelled_catalog(app.catalogs.open(name), app.lab.read_tasks(Path(tasks)) if tasks else ())
    if tasks_needed and not queries_of(catalog):
        raise CatalogError(f"{tasks}: no task names a tool of {name}; give tasks that are labelled with its tools.")
    return replace(catalog, name=Path(tasks).name) if tasks_needed else catalog


def _judgements(file: Path, trained: Sequence[LabelledCatalog], judged: Sequence[LabelledCatalog]) -> list[Judgement]:
    if not judged:
        return []
    from core.relevance.onnx_encoder import OnnxEncoder, model_folder, tuned_folder
    from core.relevance.tuning.judging import Trained, judge

    training, judgements = Trained.on(trained), list[Judgement]()
    with TemporaryDirectory() as root:
        frozen, tuned = (
            OnnxEncoder(Path(root), model) for model in (model_folder(), tuned_folder(model_folder(), file))
        )
        for place, catalog in enumerate(judged):
            _tell(Step(f"Judging by {output.printable(catalog.name)}", place + 1, len(judged)))
            judgements += judge(catalog, frozen.encode, tuned.encode, training)
    return judgements


def _row(judgement: Judgement) -> tuple[object, ...]:
    before, after = judgement.frozen, judgement.tuned
    return (
        judgement.name,
        "no" if judgement.left_out else "yes",
        judgement.queries,
        judgement.view,
        before.mrr,
        after.mrr,
        after.mrr - before.mrr,
        f"{judgement.low:+.3f} .. {judgement.high:+.3f}",
        f"{before.hit_1:.3f} -> {after.hit_1:.3f}",
        f"{before.hit_3:.3f} -> {after.hit_3:.3f}",
    )


def _tell(step: Step | None) -> None:
    if step is not None:
        click.echo(str(step), err=True)


def _writable(file: Path) -> Path:
    """Returns the absolute path of the file, with its folder made. Raises ParameterError if it cannot be written."""
    whole = apps.expanded(file).absolute()
    try:
        whole.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ParameterError(f"--out {file}: its folder cannot be made ({problem.strerror}); give another.") from None
    if whole.is_dir() or not os.access(whole.parent, os.W_OK):
        raise ParameterError(f"--out {file} cannot be written; give a file in a folder of your own.")
    return whole
