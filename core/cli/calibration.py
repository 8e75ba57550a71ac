"""`wayfare calibrate`: what follows from labels, judged on held-back folds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from core.app import App, Settings, open_app
from core.cli.options import (
    catalog_option,
    common,
    one_of,
    preset_option,
    print_json,
    print_outcome,
    print_table,
    printable,
    read_file,
    set_option,
    settings_of,
    write_file,
)
from core.domain.feedback import By, Calibration
from core.routers.presets import applied as with_preset
from core.routers.tool_attention import ToolAttentionParameters
from core.services.calibrations import CalibrationResult
from core.shared.errors import WayfareError

CLI = By(origin="cli")
MEASURES = {"mrr": "MRR", "hit@1": "hit@1", "hit@3": "hit@3", "log_loss": "log loss", "ece": "calibration error"}


@click.command()
@click.option(
    "--tasks", type=click.Path(path_type=Path), help="Labelled tasks, JSON Lines; without: the catalog's labels."
)
@click.option("--name", default="", help="What the calibration is called (default: the next number).")
@click.option("--apply", "applied", is_flag=True, help="Switch it on.")
@click.option("--use", default=None, metavar="NAME", help='Switch on one that is kept; "" is what Wayfare comes with.')
@click.option("--undo", is_flag=True, help="Go back to what was in force before.")
@click.option("--list", "listed", is_flag=True, help="The calibrations of the catalog.")
@click.option(
    "--export", "exported", type=click.Path(path_type=Path), help="Write the one of --name, or the one in force."
)
@click.option("--import", "imported", type=click.Path(path_type=Path), help="Keep one from a file.")
@set_option
@preset_option
@catalog_option
@common
def calibrate(
    tasks: Path | None,
    name: str,
    applied: bool,
    use: str | None,
    undo: bool,
    listed: bool,
    exported: Path | None,
    imported: Path | None,
    settings: tuple[str, ...],
    preset: str,
    catalog: str,
    db: Path | None,
    as_json: bool,
) -> None:
    """Fit relevance, the probability of fit and Tool Attention's threshold to labels, and judge the fit on held-back folds.

    What gains beyond its noise is kept under a name; with --apply it is switched on. What does not is refused: nothing is
    kept, and with --apply the command exits 2. --set gives Tool Attention's parameters.

    Example: wayfare calibrate --catalog sample --tasks tasks.jsonl --name spring --apply
    """
    one_of(
        {"--use": use is not None, "--undo": undo, "--list": listed, "--export": exported, "--import": imported},
        least=0,
    )
    attention = with_preset(ToolAttentionParameters, preset, settings_of(settings))
    with open_app(Settings.from_environment(db=db)) as app:
        chosen = app.catalogs.open(catalog).name
        service = app.calibrations
        if listed:
            _print_calibrations(app, chosen, as_json)
        elif undo:
            _print_active(service.undo(chosen, by=CLI), chosen, as_json)
        elif use is not None:
            _print_active(service.apply(use, catalog=chosen, by=CLI), chosen, as_json)
        elif exported is not None:
            write_file(exported, service.export(chosen, name))
            print_outcome({"file": str(exported)}, f"Written to {exported}.", as_json)
        elif imported is not None:
            found = service.import_file(
                read_file(imported), source=str(imported), catalog=chosen, name=name, apply=applied, by=CLI
            )
            print_outcome(
                _line(found),
                f"Calibration {printable(found.name)} kept{' and switched on' if applied else ''}.",
                as_json,
            )
        else:
            _fit(app, chosen, tasks, name, applied=applied, attention=attention, as_json=as_json)


def _fit(
    app: App,
    catalog: str,
    tasks: Path | None,
    name: str,
    *,
    applied: bool,
    attention: ToolAttentionParameters,
    as_json: bool,
) -> None:
    labelled = None if tasks is None else app.lab.read_tasks(tasks)
    result = app.calibrations.fit(catalog, labelled, attention=attention)
    kept = None
    if result.accepted:
        kept = app.calibrations.save(result, name, apply=applied, by=CLI)
    if as_json:
        print_json({**result.report(), "name": kept.name if kept else None, "applied": applied and kept is not None})
    else:
        _print_result(result, kept, applied=applied)
    if applied and kept is None:
        if as_json:
            sys.exit(2)
        raise WayfareError(result.refused)


def _print_result(result: CalibrationResult, kept: Calibration | None, *, applied: bool) -> None:
    changes = [(MEASURES[name], change) for name, change in result.fit.measures.items()]
    changes.append((f"Tool Attention F1, theta {result.threshold.today:.2f} or fitted", result.threshold.f1))
    click.echo(f"{result.fit.labels} labelled sub-tasks, measured on held-back folds:")
    print_table(
        ("measure", "before", "after", "change", "95 % interval"),
        [
            (what, f"{c.before:.3f}", f"{c.after:.3f}", f"{c.gain:+.3f}", f"{c.low:+.3f} to {c.high:+.3f}")
            for what, c in changes
        ],
    )
    click.echo()
    if result.fit.remark:
        click.echo(result.fit.remark)
    if kept is None:
        click.echo("Nothing was kept.")
        return
    parts = ", ".join(result.accepted)
    end = "switched on" if applied else f"switch it on with `wayfare calibrate --use {printable(kept.name)}`"
    click.echo(f"Kept as {printable(kept.name)} ({parts}); {end}.")


def _print_calibrations(app: App, catalog: str, as_json: bool) -> None:
    active = app.calibrations.active(catalog)
    found = app.calibrations.of_catalog(catalog)
    rows = [{**_line(one), "active": active is not None and one.id == active.id} for one in found]
    if as_json:
        print_json({"calibrations": rows})
    elif not rows:
        click.echo("There is no calibration yet.")
    else:
        print_table(
            ("name", "labels", "fitted", ""),
            [
                (str(row["name"]), str(row["labels"]), str(row["at"])[:16], "in force" if row["active"] else "")
                for row in rows
            ],
        )


def _print_active(active: Calibration | None, catalog: str, as_json: bool) -> None:
    what = "What Wayfare comes with" if active is None else f"Calibration {printable(active.name)}"
    print_outcome(
        {"active": None if active is None else active.name}, f"{what} is in force for {printable(catalog)}.", as_json
    )


def _line(calibration: Calibration) -> dict[str, Any]:
    return {
        "name": calibration.name,
        "catalog": calibration.catalog,
        "labels": calibration.labels,
        "at": calibration.at.isoformat(),
    }
