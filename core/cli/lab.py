"""Labelled tasks: written by rules or a model, and routers measured on them and compared with a baseline."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from core.app import App
from core.cli import apps, options, output
from core.cli.lab_tables import (
    print_comparisons,
    print_gate,
    print_generated,
    print_levels,
    print_measures,
    print_missing,
    print_played,
)
from core.cli.options import option
from core.domain.errors import StoreError, WayfareError
from core.domain.params import MEASURED, Parameters
from core.domain.significance import compared
from core.domain.tasks import Task
from core.importers import tasks_text
from core.lab.benchmark import MEASURES, missing_labels
from core.lab.execution import S_PER_USD, VALUE_USD, Playing
from core.lab.gate import Baseline, Gate, read_baseline
from core.lab.lab import RANKED, parts_of_name
from core.lab.lab_runs import STORED, Experiment, Measured
from core.planning.base import Watch, watched


@click.group()
def tasks() -> None:
    """Write labelled tasks for any catalog: direct and contextual questions, chains, impossible ones.

    Example: wayfare tasks write --catalog mine --out tasks.jsonl
    """


@tasks.command()
@option("--count", default=20, type=click.IntRange(1, 1000), help="Tasks of each level at most.")
@option("--seed", default=0, type=click.IntRange(0), help="The same seed writes the same tasks.")
@options.planner("Words the tasks")
@option("--out", type=options.PATH, help="Write the tasks to this file, for `wayfare bench --tasks`.")
@options.of_catalog
def write(count: int, seed: int, planner: str, out: Path | None, catalog: str) -> None:
    """Write tasks of ETOM's five levels from example requests and definitions, as JSON Lines. Without --out they go to standard
    output, and the summary to standard error. Each task says in `provenance` how it was made. The Lab lists the last ones of a catalog.

    Example: wayfare tasks write --catalog mine --count 50 --out tasks.jsonl
    """
    with apps.opened_catalog(catalog) as (app, name), apps.listed_run(app, "Writing tasks") as run:
        with watched(Watch(run.job.stop)):
            written = app.task_writing.write(name, count=count, seed=seed, planner=planner, progress=run)
        if written.tasks and name == catalog:  # not a catalog file
            run.shows("lab", catalog=name, tasks=f"{STORED}{app.task_writing.keep(name, written.tasks)}")
    text = tasks_text(written.tasks)
    if out is not None:
        options.write_file(out, text)
    if output.wants_json():
        pairs = [asdict(pair) for pair in written.proposals]
        output.document({
            "tasks": [json.loads(line) for line in text.splitlines()], "levels": written.levels, "dropped": written.dropped,
            "widened": written.widened, "remarks": written.remarks, "may_do_the_same": pairs,
        })  # fmt: skip
        return
    if out is None:
        click.echo(text, nl=False)
    for line in written.summary():
        click.echo(output.printable(line, 300), err=out is None)


@click.command()
@option(
    "--tasks", type=options.File(), default="",
    help="Labelled tasks, JSON Lines. Required without --judgments and --baseline.",
)  # fmt: skip
@option("--judgments", default="", metavar="NAME", help="Instead of --tasks: a judgment set, see `wayfare judgments`.")
@option(
    "--baseline", type=options.PATH,
    help="The output of an earlier `bench --json`: exit 1 if quality fell. Missing options are taken from it.",
)  # fmt: skip
@option(
    "--tolerance",
    default=0.02,
    type=options.Finite(0, 1),
    help="With --baseline: the largest accepted fall of a measure.",
)
@option("--measure", default="mrr", type=click.Choice(list(MEASURES)), help="The measure by which runs are compared.")
@option("--seed", default=0, type=options.SEED, help="Seed of intervals and tests.")
@option("--store/--no-store", default=True, help="Store the runs; `wayfare runs` lists them.")
@option("--router", "routers", multiple=True, default=("ehrr",), help="May be repeated.")
@options.hints
@option("--execute", is_flag=True, help="Play route, try in order, up to three rounds: success, money, time, value.")
@option("--seeds", default=20, type=click.IntRange(1, 1000), help="Number of draws of every outcome.")
@option(
    "--split/--whole",
    default=True,
    help="With --execute: split a task of several steps into sub-tasks, or route it once.",
)
@option("--live", is_flag=True, help="With --execute: make real calls of read-only tools on running servers.")
@option(
    "--prices",
    type=click.Choice(["declared", "tiers"]),
    default="declared",
    help="tiers: draw every price from EHRR's two tiers, for a catalog without prices.",
)
@option("--value-usd", default=VALUE_USD, type=options.Finite(0), help="The value of a solved sub-task.")
@option(
    "--s-per-usd",
    default=S_PER_USD,
    type=options.Finite(0, min_open=True),
    help="The value's exchange rate of time: seconds for one dollar.",
)
@options.network
@options.ray
@options.knobs
@options.of_catalog
@click.pass_context
def bench(
    ctx: click.Context,
    baseline: Path | None,
    tolerance: float,
    measure: str,
    seed: int,
    store: bool,
    execute: bool,
    seeds: int,
    split: bool,
    live: bool,
    value_usd: float,
    s_per_usd: float,
    ray: str,
    settings: dict[str, str],
    **given: Any,
) -> None:
    """Measure how well routers rank the right tools.

    Several routers are compared pair by pair. Tasks of levels L1 to L5 are also asked as a person would ask, and scored
    as in ETOM, below the table.

    Example: wayfare bench --tasks tasks.jsonl --catalog catalog.json --router ehrr --json
    """
    earlier = None if baseline is None else read_baseline(options.read_file(baseline), source=str(baseline))
    bench_options = BenchOptions(settings=settings, **given)
    if bench_options.tasks and bench_options.judgments:
        raise click.UsageError("Give one of --tasks and --judgments.")
    if earlier is not None:
        bench_options = _completed(ctx, bench_options, earlier)
    if bench_options.network != MEASURED and (ray or live):
        raise WayfareError("--network is simulated in this process alone; leave out --ray and --live.")
    if not bench_options.tasks and not bench_options.judgments:
        raise click.MissingParameter(param_hint="'--tasks'", param_type="option", ctx=ctx)
    with (
        apps.opened_even_if_busy() as app,
        apps.listed_run(app, "Routing") as listed,
        apps.spread_over(ray, app) as spread,
    ):
        name = bench_options.opened(app)
        labelled, source = bench_options.labelled(app, name)
        storing = store and app.store.path is not None
        deep = [int(parameters.values()["n"] or 0) for _, parameters in bench_options.chosen(app)]
        experiments = [
            Experiment(
                labelled, source=source, catalog=name, router=router, preset=bench_options.preset, parameters=parameters, hints=bench_options.hints,
                seed=seed, playing=Playing(n, seeds, value_usd, s_per_usd, live, split) if execute else None,
            )
            for (router, parameters), n in zip(bench_options.chosen(app, RANKED), deep, strict=True)
        ]  # fmt: skip
        each = experiments[0].decisions
        results = [
            app.measuring.measure(
                experiment, resumable=storing, spread=spread,
                progress=lambda done, offset=position * each: listed(offset + done, each * len(deep)),
            )
            for position, experiment in enumerate(experiments)
        ]  # fmt: skip
        runs = [result.run for result in results]
        level_runs = [
            run
            for experiment, result in zip(experiments, results, strict=True)
            for run in app.lab.levels(
                labelled, catalog=name, router=experiment.router, parameters=experiment.parameters, known=result.asked
            )
        ]
        digest = app.lab_runs.digest(name)
        generated = sum(bool(task.provenance) for task in labelled)
        missing = missing_labels(labelled, digest.tools)
        entries = [result.entry for result in results]
        if storing:
            _keep(app, results, labelled, entries)
            listed.shows(
                "lab", **app.lab_runs.place(results[0].conditions), runs=",".join(run.get("id", "") for run in entries)
            )
    pairs = compared([run.scores[MEASURES[measure]] for run in runs], measure, seed=seed)
    gate = None if earlier is None else Gate.of(earlier, runs, digest, tolerance)
    if output.wants_json():
        document = {"runs": entries, "comparisons": [pair.to_json() for pair in pairs], "missing_labels": missing}
        document |= {"made_with": asdict(bench_options), "catalog": digest.to_json(), "generated": generated}
        document |= {"levels": [run.to_json() for run in level_runs]}
        output.document(document if gate is None else document | {"gate": gate.to_json()})
    else:
        print_measures(runs)
        print_comparisons(runs, pairs)
        print_played([result.played for result in results if result.played is not None])
        print_levels(level_runs)
        print_generated(generated, len(labelled))
        print_missing(missing)
        if gate is not None:
            print_gate(gate)
    if gate is not None and not gate.passed:
        sys.exit(1)


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """The options of a measurement, sufficient to repeat it."""

    tasks: str
    routers: tuple[str, ...]
    hints: bool
    preset: str
    catalog: str
    prices: str
    settings: dict[str, str]
    judgments: str
    network: str
    at: float

    def opened(self, app: App) -> str:
        """Returns the name of the catalog, with its prices and its network. Raises WayfareError."""
        name, moment = app.lab_runs.open(self.catalog), options.moment(self.network, self.at)
        if moment.with_simulated:
            raise WayfareError(
                "A benchmark measures a catalog without its calls: give --network the name of a profile."
            )
        if self.prices == "tiers":
            name = app.lab.priced_by_tiers(name)
        return app.lab.under_network(name, moment) if moment.simulated else name

    def labelled(self, app: App, catalog: str) -> tuple[tuple[Task, ...], str]:
        """Returns the tasks of the file or the judgment set, and their source. Raises WayfareError."""
        if not self.judgments:
            return app.lab.read_tasks(Path(self.tasks)), self.tasks
        tasks, left_out = app.judgments.tasks(parts_of_name(catalog)[0], self.judgments)
        if left_out:
            click.echo(f"{left_out} judged sub-tasks are left out, because they have no tool above grade 0.", err=True)
        return tasks, app.judgments.source(self.judgments)

    def chosen(self, app: App, ranked: str | None = None) -> list[tuple[str, Parameters]]:
        """Returns each router with its parameters; `ranked` is the default number of candidates."""
        values = self.settings if ranked is None else {"n": ranked, **self.settings}
        return [(router, app.routing.parameters(router, values, preset=self.preset)) for router in self.routers]


def _completed(ctx: click.Context, bench_options: BenchOptions, base: Baseline) -> BenchOptions:
    """Takes missing options from the baseline. Settings are merged."""
    by_name = {option.name: option for option in ctx.command.params}
    missing = {
        name: by_name[name].type_cast_value(ctx, base.made_with[name])
        for name in BenchOptions.__match_args__
        if name != "settings" and name in base.made_with and ctx.get_parameter_source(name) is ParameterSource.DEFAULT
    }
    if bench_options.tasks:  # the baseline may have used a judgment set
        missing.pop("judgments", None)
    return replace(bench_options, **missing, settings={**base.made_with.get("settings", {}), **bench_options.settings})


def _keep(app: App, results: Sequence[Measured], tasks: Sequence[Task], entries: Sequence[dict[str, Any]]) -> None:
    """Stores each run. If the store cannot be written, reports it and returns."""
    for result, entry in zip(results, entries, strict=True):
        try:
            entry["id"] = app.lab_runs.keep(result.conditions, tasks, entry)
        except StoreError as error:
            click.echo(f"The runs are not stored. {error}", err=True)
            return
