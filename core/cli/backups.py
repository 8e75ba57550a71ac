"""`wayfare backup` and `wayfare restore`: a store in one file, and back."""

from __future__ import annotations

from pathlib import Path

import click

from core.cli.options import common, opened, print_outcome
from core.domain.settings import Settings


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE.")
@common
def backup(file: Path, force: bool, db: Path | None, as_json: bool) -> None:
    """Write one file with the store and the values of its servers, while a console runs or not. Saved networks and a tuned encoder are in
    it as well. If FILE is a folder, the backup is a new file in it.

    The file holds secrets and can be read by you alone.

    Example: wayfare backup wayfare.backup
    """
    with opened(db, existing=True) as app:
        made = app.backups.make(file, replace=force)
    records, size = made.contents.records, made.file.stat().st_size
    broken = f" The log does not verify: {made.contents.problem}" if made.contents.problem else ""
    print_outcome(
        {"file": str(made.file), "bytes": size, "records": records, "hash": made.contents.hash, "problem": made.contents.problem or None},
        f"{made.file} has the store with {records:,} records of its log, {size / 1e6:.1f} MB. It holds secrets.{broken}",
        as_json,
    )  # fmt: skip


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--force", is_flag=True, help="Put it in the place of a store, which is moved to a folder beside it.")
@common
def restore(file: Path, force: bool, db: Path | None, as_json: bool) -> None:
    """Verify a backup and put it in the place of the store, which is kept beside it. The checksum of each part and the log's chain
    of hashes are verified first: a damaged file changes nothing. End the console before, with `wayfare stop`.

    Example: wayfare restore wayfare.backup --force
    """
    from core.catalogs.backups import restore as restored

    settings = Settings.from_environment(db=db)
    done = restored(file, settings, replace=force)
    kept = f" The store of before is in {done.before}." if done.before else ""
    print_outcome(
        {"store": str(settings.db), "records": done.contents.records, "made": done.contents.at, "before": done.before and str(done.before)},
        f"{settings.db} is the store of {done.contents.at}, with {done.contents.records:,} records of its log.{kept}",
        as_json,
    )  # fmt: skip
