"""The story of the empty Decision view: its figures are what the console computes today."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.app import App, Settings, open_app
from core.decisions.routing import Asked
from core.planning.arguments import filled
from core.routers.ema import ema
from sample_catalog import PLAYED
from sample_catalog.authoring.played import decided, saving, sure

KNOWN: dict[str, Any] = json.loads(PLAYED.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def sample(warm_store: Path, encoder_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """An app over a copy of the store in which the sample has been embedded."""
    db = Path(shutil.copy(warm_store, tmp_path_factory.mktemp("played") / "played.duckdb"))
    with open_app(Settings(db=db, cache=encoder_cache)) as app:
        yield app


def test_the_winner_changes_where_the_file_says(sample: App) -> None:
    query = Asked(KNOWN["question"], sample.routing.parameters(KNOWN["router"]), KNOWN["catalog"], KNOWN["router"])
    bands = sample.what_if.strips(query)[KNOWN["knob"]].winners()
    index = next(place for place, band in enumerate(bands) if band.low == pytest.approx(KNOWN["changes_at"], abs=1e-4))
    assert [bands[index - 1].winner, bands[index].winner] == KNOWN["winners"]
    assert sure(sample, KNOWN["question"], KNOWN["changes_at"])


def test_the_saving_and_the_filled_form_are_computed_again(sample: App) -> None:
    assert saving(decided(sample, KNOWN["question"]), *KNOWN["winners"]) == pytest.approx(KNOWN["saving"])
    call = KNOWN["call"]
    assert call["tool"] == KNOWN["winners"][1]
    _, tool = sample.catalogs.catalog("sample").find(*call["tool"].split("::"))
    assert filled(tool.input_schema, KNOWN["question"]) == (call["arguments"], ())


def test_what_was_learnt_follows_from_the_call() -> None:
    call = KNOWN["call"]
    assert ema(call["success"][0], 1.0, 0.15) == pytest.approx(call["success"][1], abs=1e-3)
    assert ema(call["call_s"][0], call["took_s"], 0.15) == pytest.approx(call["call_s"][1], abs=1e-3)
