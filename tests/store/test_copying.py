"""A store as tables, and the store that is made of them."""

from __future__ import annotations

from pathlib import Path

from core.store import Store


def test_a_copy_has_everything_that_the_store_has_and_lives_on_its_own(tmp_path: Path) -> None:
    with Store(tmp_path / "one.duckdb") as store:
        store.set_setting("here", {"there": 1})
        tables = store.tables()
        with Store.of_tables(tables) as copy:
            assert copy.path is None
            assert copy.tables() == tables
            copy.set_setting("here", 2)
        assert store.get_setting("here") == {"there": 1}
