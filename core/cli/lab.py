"""`wayfare bench`: what labelled tasks say of routers."""

from __future__ import annotations

from pathlib import Path

import click

from core.cli.opening import opened
from core.cli.options import catalog_option, common, preset_option, print_json, print_table, set_option, settings_of
from core.lab.execution import VALUE_USD, ExecutionRun
from core.services.lab import S_PER_USD

RANKED = "10"  # bench looks deeper than a decision does, unless --set n= says otherwise


@click.command()
@click.option("--tasks", required=True, type=click.Path(path_type=Path), help="Labelled tasks, JSON Lines.")
@click.option("--router", "routers", multiple=True, default=("ehrr",), show_default=True, help="May be repeated.")
@click.option("--hints/--no-hints", default=True, show_default=True, help="Give the tasks' server hints to the router.")
@click.option(
    "--execute", is_flag=True, help="Play route, try in order, up to three rounds: success, money, time, value."
)
@click.option("--seeds", default=20, show_default=True, type=click.IntRange(1, 1000), help="Draws of every outcome.")
@click.option("--live", is_flag=True, help="With --execute: really call tools that only read, on servers that run.")
@click.option(
    "--prices",
    type=click.Choice(["declared", "tiers"]),
    default="declared",
    show_default=True,
    help="tiers: draw every price by EHRR's two tiers, for a catalog in which nobody priced the tools.",
)
@click.option(
    "--value-usd",
    default=VALUE_USD,
    show_default=True,
    type=click.FloatRange(0),
    help="What a solved sub-task is worth.",
)
@click.option(
    "--s-per-usd",
    default=S_PER_USD,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Seconds that one dollar is worth, in the value.",
)
@set_option
@preset_option
@catalog_option
@common
def bench(
    tasks: Path,
    routers: tuple[str, ...],
    hints: bool,
    execute: bool,
    seeds: int,
    live: bool,
    prices: str,
    value_usd: float,
    s_per_usd: float,
    settings: tuple[str, ...],
    preset: str,
    catalog: str,
    db: Path | None,
    as_json: bool,
) -> None:
    """Measure how well routers rank the right tools.

    Tasks of levels L1 to L5 are also asked as a person would, and scored as ETOM does, below the table.

    Example: wayfare bench --tasks tasks.jsonl --catalog catalog.json --router ehrr --json
    """
    with opened(db) as app:
        name = app.catalogs.open(catalog).name
        labelled = app.lab.read_tasks(tasks)
        if prices == "tiers":
            name = app.lab.priced_by_tiers(name)
        given = settings_of(settings)
        values = {"n": RANKED, **given}
        played = [
            app.lab.execute(
                labelled,
                catalog=name,
                router=router,
                parameters=app.routing.parameters(router, given, preset=preset),
                seeds=seeds,
                value_usd=value_usd,
                s_per_usd=s_per_usd,
                live=live,
            )
            for router in (routers if execute else ())
        ]
        runs = [
            app.lab.benchmark(
                labelled,
                catalog=name,
                router=router,
                parameters=app.routing.parameters(router, values, preset=preset),
                server_hints=hints,
            )
            for router in routers
        ]
        levelled = [
            run
            for router in (() if as_json else routers)
            for run in app.lab.levels(
                labelled, catalog=name, router=router, parameters=app.routing.parameters(router, values, preset=preset)
            )
        ]
    if as_json:
        outcomes = [one.to_json() for one in played] or [{} for _ in runs]
        print_json(
            {"runs": [run.to_json() | {"preset": preset} | one for run, one in zip(runs, outcomes, strict=True)]}
        )
        return
    measures = list(runs[0].measures)
    print_table(
        ("router", "n", *measures, "rejection", "p50 ms", "p95 ms"),
        [
            (
                run.router,
                str(run.n),
                *(f"{run.measures[m]:.3f}" for m in measures),
                "–" if run.rejection is None else f"{run.rejection:.3f}",
                f"{run.latency_ms_p50:.2f}",
                f"{run.latency_ms_p95:.2f}",
            )
            for run in runs
        ],
    )
    if played:
        click.echo()
        print_table(
            ("router", "solved", "m$ each", "s each", "tokens each", "invalid routes", "invalid tools", "value m$"),
            [_outcome(one) for one in played],
        )
    if levelled:
        click.echo()
        print_table(
            ("router", "level", "n", "exact match", "F1", "p50 ms"),
            [
                (
                    run.router,
                    run.level,
                    str(run.n),
                    f"{run.scores['em']:.3f}",
                    f"{run.scores['f1']:.3f}" if "f1" in run.scores else "–",
                    f"{run.latency_ms_p50:.2f}",
                )
                for run in levelled
            ],
        )


def _outcome(run: ExecutionRun) -> tuple[str, ...]:
    return (
        run.router,
        f"{run.success_rate.mean:.3f} ±{run.success_rate.high - run.success_rate.mean:.3f}",
        f"{run.usd_per_solved.mean * 1e3:.2f}",
        f"{run.s_per_solved.mean:.2f}",
        f"{run.tokens_per_solved.mean:,.0f}",
        f"{run.invalid_route_calls.mean:.2f}",
        f"{run.invalid_tool_calls.mean:.2f}",
        f"{run.value.mean * 1e3:.1f} ±{(run.value.high - run.value.mean) * 1e3:.1f}",
    )
