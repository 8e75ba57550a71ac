"""Labels of decisions, calibrations fitted to them, and sets of graded judgments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, get_args

import click

from core.app import App
from core.cli import apps, options, output
from core.cli.options import option
from core.domain.errors import WayfareError
from core.domain.feedback import FIRST_SET, By, Calibration, Label
from core.lab.calibrations import CalibrationResult
from core.lab.judgments import Format
from core.routers.presets import applied as with_preset
from core.routers.tool_attention import ToolAttentionParameters

CLI = By(origin="cli")
MEASURES = {"mrr": "MRR", "hit@1": "hit@1", "hit@3": "hit@3", "log_loss": "log loss", "ece": "calibration error"}


@click.command()
@option("--tasks", type=options.PATH, help="Labelled tasks, JSON Lines (default: the catalog's labels).")
@option("--name", default="", help="The calibration's name (default: the next number).")
@option("--apply", "applied", is_flag=True, help="Switch it on.")
@option("--use", default=None, metavar="NAME", help='Switch on a kept calibration; "" is the shipped one.')
@option("--undo", is_flag=True, help="Go back to the previous calibration.")
@option("--list", "listed", is_flag=True, help="List the calibrations of the catalog.")
@option(
    "--export", "exported", type=options.PATH, help="Write the calibration of --name, or the active one, to a file."
)
@option("--import", "imported", type=options.PATH, help="Import a calibration from a file.")
@options.knobs
@options.of_catalog
def calibrate(
    tasks: Path | None,
    name: str,
    applied: bool,
    use: str | None,
    undo: bool,
    listed: bool,
    exported: Path | None,
    imported: Path | None,
    settings: dict[str, str],
    preset: str,
    catalog: str,
) -> None:
    """Fit relevance, the probability of fit and Tool Attention's threshold to labels, and judge the fit on held-back
    folds.

    A significant gain is kept under a name; --apply switches it on. Without a gain nothing is kept, and with --apply
    the command exits 2. --set gives Tool Attention's parameters.

    Example: wayfare calibrate --catalog sample --tasks tasks.jsonl --name spring --apply
    """
    options.one_of(
        {"--use": use is not None, "--undo": undo, "--list": listed, "--export": exported, "--import": imported},
        least=0,
    )
    attention = with_preset(ToolAttentionParameters, preset, settings)
    with apps.opened_catalog(catalog) as (app, chosen):
        service = app.calibrations
        if listed:
            _print_calibrations(app, chosen)
        elif undo:
            _print_active(service.undo(chosen, by=CLI), chosen)
        elif use is not None:
            _print_active(service.apply(use, catalog=chosen, by=CLI), chosen)
        elif exported is not None:
            options.write_file(exported, service.export(chosen, name))
            output.outcome({"file": str(exported)}, f"Written to {exported}.")
        elif imported is not None:
            calibration = service.import_file(
                options.read_file(imported), source=str(imported), catalog=chosen, name=name, apply=applied, by=CLI
            )
            output.outcome(
                _line(calibration),
                f"Calibration {output.printable(calibration.name)} kept{' and switched on' if applied else ''}.",
            )
        else:
            _fit(app, chosen, tasks, name, applied=applied, attention=attention)


def _fit(
    app: App, catalog: str, tasks: Path | None, name: str, *, applied: bool, attention: ToolAttentionParameters
) -> None:
    labelled = None if tasks is None else app.lab.read_tasks(tasks)
    calibration = None
    with apps.listed_run(app, "Fitting") as run:
        run.shows("catalog", view="calibration", catalog=catalog)
        result = app.calibrations.fit(catalog, labelled, attention=attention, progress=run)
        if result.accepted:
            calibration = app.calibrations.save(result, name, apply=applied, by=CLI)
    kept = {"name": calibration and calibration.name, "applied": applied and calibration is not None}
    show = partial(_print_result, result, calibration, applied=applied)
    output.result(lambda: {**result.report(), **kept}, show)
    if applied and calibration is None:
        raise WayfareError(result.refused)


def _print_result(result: CalibrationResult, record: Calibration | None, *, applied: bool) -> None:
    changes = [(MEASURES[name], change) for name, change in result.fit.measures.items()]
    changes.append((f"Tool Attention F1, theta {result.threshold.today:.2f} or fitted", result.threshold.f1))
    click.echo(f"{result.fit.labels} labelled sub-tasks, measured on held-back folds:")
    if result.sampled:
        click.echo(result.sampled)
    output.table(
        {"measure": "", "before": ".3f", "after": ".3f", "change": "+.3f", "95 % interval": ""},
        [(name, c.before, c.after, c.gain, f"{c.low:+.3f} to {c.high:+.3f}") for name, c in changes],
    )
    click.echo()
    if result.fit.remark:
        click.echo(result.fit.remark)
    if record is None:
        click.echo("Nothing was kept.")
        return
    parts = ", ".join(result.accepted)
    end = "switched on" if applied else f"switch it on with `wayfare calibrate --use {output.printable(record.name)}`"
    click.echo(f"Kept as {output.printable(record.name)} ({parts}); {end}.")


def _print_calibrations(app: App, catalog: str) -> None:
    active = app.calibrations.active(catalog)
    calibrations = app.calibrations.of_catalog(catalog)
    rows: list[dict[str, Any]] = [
        _line(calibration) | {"active": active is not None and calibration.id == active.id}
        for calibration in calibrations
    ]
    lines = [(row["name"], row["labels"], row["at"][:16], "in force" if row["active"] else "") for row in rows]
    header = ("name", "labels", "fitted", "")
    output.listing({"calibrations": rows}, header, lines, none="There is no calibration yet.")


def _print_active(active: Calibration | None, catalog: str) -> None:
    subject = "The shipped calibration" if active is None else f"Calibration {output.printable(active.name)}"
    output.outcome(
        {"active": None if active is None else active.name}, f"{subject} is in force for {output.printable(catalog)}."
    )


def _line(calibration: Calibration) -> dict[str, Any]:
    return {
        "name": calibration.name,
        "catalog": calibration.catalog,
        "labels": calibration.labels,
        "at": calibration.at.isoformat(),
    }


@click.command()
@click.argument("text", required=False)
@option("--tool", default="", help="The judged tool, as server::tool.")
@option("--right/--wrong", "right", default=None, help="Whether it can do the sub-task.")
@option("--instead-of", default="", help="With --right: the shown tool, which is labelled wrong.")
@option("--hint", default="", help="The server hint of the sub-task.")
@option("--retract", default="", metavar="ID", help="Retract a label.")
@option("--list", "listed", is_flag=True, help="List the labels of the catalog, newest first.")
@option("--import", "imported", type=options.PATH, help="Import labels from labelled tasks, JSON Lines.")
@option("--export", "exported", type=options.PATH, help="Write the labels as labelled tasks.")
@options.of_catalog
def label(
    text: str | None,
    tool: str,
    right: bool | None,
    instead_of: str,
    hint: str,
    retract: str,
    listed: bool,
    imported: Path | None,
    exported: Path | None,
    catalog: str,
) -> None:
    """Label a tool as right or wrong for a sub-task. Later decisions on similar sub-tasks follow.

    Example: wayfare label "find a hotel in Lisbon" --tool hotels::search --right --instead-of calendar::find_free_time
    """
    options.one_of({"TEXT": text, "--retract": retract, "--list": listed, "--import": imported, "--export": exported})
    with apps.opened_catalog(catalog) as (app, name):
        if text is not None:
            labels = _labelled(app, name, text, tool, right=right, instead_of=instead_of, hint=hint)
            _print_labels(labels)
        elif retract:
            _print_labels([app.feedback.retract(retract, by=CLI)])
        elif listed:
            _print_labels(app.feedback.labels(name))
        elif imported is not None:
            tally = app.feedback.import_tasks(options.read_file(imported), source=str(imported), catalog=name)
            fields = asdict(tally)
            left_out = f"{tally.passed_over} passed over, {tally.generated} generated tasks left out"
            output.outcome(fields, f"{tally.added} labels added, {tally.known} known, {left_out}.")
        elif exported is not None:
            lines = app.feedback.export(name)
            options.write_file(exported, lines)
            count = len(lines.splitlines())
            output.outcome(
                {"file": str(exported), "tasks": count}, f"{count} labelled sub-tasks written to {exported}."
            )


def _labelled(
    app: App, catalog: str, text: str, tool: str, *, right: bool | None, instead_of: str, hint: str
) -> Sequence[Label]:
    if not tool or right is None:
        raise WayfareError("A label needs --tool server::tool and --right or --wrong.")
    if not instead_of:
        return [app.feedback.label(text, tool, right=right, catalog=catalog, server_hint=hint, by=CLI)]
    if not right:
        raise WayfareError("--instead-of names the tool that was shown; it goes with --right.")
    return app.feedback.should_have_been(text, right=tool, shown=instead_of, catalog=catalog, server_hint=hint, by=CLI)


def _print_labels(labels: Sequence[Label]) -> None:
    rows = [
        {
            "id": label.id, "at": label.at.isoformat(), "catalog": label.catalog, "subtask": label.subtask, "server_hint": label.server_hint,
            "tool": label.tool, "right": label.right, "origin": label.origin, "retracts": label.retracts or None,
        }
        for label in labels
    ]  # fmt: skip
    lines = [
        (label.id, "taken back" if label.retracts else "right" if label.right else "wrong", label.tool, label.subtask)
        for label in labels
    ]
    header = ("id", "", "tool", "sub-task")
    output.listing({"labels": rows}, header, lines, none="There is no label yet.")


LIST, IMPORT, EXPORT = ACTIONS = ("list", "import", "export")
FORMATS: tuple[Format, ...] = get_args(Format)


@click.command()
@click.argument("action", type=click.Choice(ACTIONS), default=LIST)
@click.argument("file", type=options.PATH, required=False)
@option("--set", "set_name", default=FIRST_SET, metavar="NAME", help="The set of judgments.")
@option("--judge", default="", metavar="NAME", help="import: the judge, if the file names none.")
@option("--format", "form", type=click.Choice(FORMATS), help="export: jsonl unless FILE ends with .csv.")
@options.of_catalog
def judgments(action: str, file: Path | None, set_name: str, judge: str, form: Format | None, catalog: str) -> None:
    """List the judgment sets of a catalog, import or export one.

    A judgment is a judge's grade from 0 to 3 of a tool for a sub-task. JSON Lines and CSV hold all of it. The format `tasks` is the
    set as labelled tasks, with the median of the judges' grades.

    Example: wayfare judgments import ann.csv --set trip --judge ann
    """
    if (action in (IMPORT, EXPORT)) is not (file is not None):
        raise click.UsageError(f"{action} {'needs a FILE' if file is None else 'takes no FILE'}.")
    with apps.opened_catalog(catalog) as (app, name):
        if file is None:
            _list_sets(app, name)
        elif action == IMPORT:
            report = app.judgments.import_(
                options.read_file(file), source=str(file), catalog=name, set_name=set_name, judge=judge
            )
            end = f" {report.not_in_catalog} are of tools that {name} does not have." if report.not_in_catalog else ""
            output.outcome(
                asdict(report), f"{report.added} judgments added to {set_name!r}, {report.known} known.{end}"
            )
        else:
            text = app.judgments.export(name, set_name, form or ("csv" if file.suffix.lower() == ".csv" else "jsonl"))
            options.write_file(file, text)
            lines = len(text.splitlines())
            output.outcome({"file": str(file), "lines": lines}, f"{lines} lines written to {file}.")


def _list_sets(app: App, catalog: str) -> None:
    sets = app.judgments.sets(catalog)
    output.listing(
        {"sets": [{"set": name, "judgments": count} for name, count in sets.items()]}, ("judgments", "set"),
        [(f"{count:,}", name) for name, count in sets.items()],
        none="There is no judgment yet. Judge on the pages Decision, Compare and Call, or import a file."
    )  # fmt: skip
