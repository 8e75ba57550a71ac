"""An index from disk is the one that was built; a damaged, half-written or older one is never used."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest

from core.catalogs.catalogs import CatalogService
from core.domain.catalog import Catalog, Server, Tool
from core.domain.tool_table import packed
from core.relevance.encoder import CachedEncoder, EncoderSource
from core.relevance.fit_matcher import FitMatcher
from core.relevance.index_files import KEPT, IndexFiles, Prepared, made_of
from core.relevance.relevance_index import RelevanceIndex
from core.store import Store
from tests.relevance.many_tools import ManyTools, many_tools
from tests.relevance.toy_encoders import WordEncoder

MODEL = "hashed-words"
ROOT = Path(__file__).parents[2]


class Makes:
    """Returns its index, and counts how often."""

    def __init__(self, prepared: Prepared) -> None:
        self.made, self.times = prepared, 0

    def __call__(self) -> Prepared:
        self.times += 1
        return self.made


@pytest.fixture(scope="module")
def world() -> ManyTools:
    large = many_tools(400)
    return replace(large, catalog=packed(large.catalog))


@pytest.fixture
def makes(world: ManyTools) -> Makes:
    return Makes(Prepared(world.index, np.arange(len(world.catalog.tools))))


@pytest.fixture
def files(tmp_path: Path) -> IndexFiles:
    return IndexFiles(tmp_path / "indexes", least=1)


def folders(files: IndexFiles) -> list[str]:
    return sorted(folder.name for folder in files.folder.iterdir())


def test_opened_is_built_to_the_last_bit(world: ManyTools, files: IndexFiles, makes: Makes) -> None:
    first, second = (files.prepared(world.catalog, MODEL, makes) for _ in range(2))
    assert makes.times == 1
    for prepared in (first, second):
        assert isinstance(prepared.index.own.base, np.memmap)
        assert prepared.tokens.tolist() == makes.made.tokens.tolist()
        for question in world.questions[:40]:
            vector = world.encoder.encode_query(question)
            built, mapped = (index.signals(question, vector) for index in (world.index, prepared.index))
            assert all(np.array_equal(built[name], mapped[name]) for name in built)
            fits = [FitMatcher.of(index, world.encoder).fit(question, "")[0] for index in (world.index, prepared.index)]
            assert np.array_equal(fits[0].tools, fits[1].tools)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def foreign(file: Path) -> None:
    manifest = file.with_name("manifest.json")
    manifest.write_text(manifest.read_text().replace(file.parent.name, "another"))


def test_damage_of_any_file_is_noticed_and_said_once(
    world: ManyTools, files: IndexFiles, makes: Makes, caplog: pytest.LogCaptureFixture
) -> None:
    damages: tuple[Callable[[Path], None], ...] = (cut, flip, Path.unlink, foreign)
    files.prepared(world.catalog, MODEL, makes)
    (folder,) = files.folder.iterdir()
    names = sorted(file.name for file in folder.iterdir())
    assert len(names) == len(world.index.arrays()) + 2
    assert len(names) > len(damages)
    for times, (name, damage) in enumerate(zip(names, cycle(damages), strict=False), start=2):
        damage(folder / name)
        with caplog.at_level(logging.WARNING):
            prepared = files.prepared(world.catalog, MODEL, makes)
        assert (makes.times, len(caplog.records)) == (times, times - 1), name
        assert np.array_equal(prepared.index.rows[:], world.index.rows[:])


def test_a_changed_text_has_an_index_of_its_own_in_place_of_the_one_before(
    world: ManyTools, files: IndexFiles, makes: Makes
) -> None:
    files.prepared(world.catalog, MODEL, makes)
    before = folders(files)
    server = next(candidate for candidate in world.catalog.servers if candidate.tools)
    tool = server.tools[0]

    def changed(**fields: object) -> Catalog:
        tools = (replace(tool, **fields), *server.tools[1:])
        servers = [replace(other, tools=tools) if other is server else other for other in world.catalog.servers]
        return packed(replace(world.catalog, servers=tuple(servers)))

    assert made_of(changed(price_usd=7.0), MODEL) == made_of(world.catalog, MODEL)  # no text is another
    keys = [
        made_of(changed(description="Something else."), MODEL),
        made_of(changed(input_schema={"properties": {"else": {}}}), MODEL),
        made_of(packed(replace(world.catalog, servers=world.catalog.servers[::-1])), MODEL),
        made_of(world.catalog, "another model"),
    ]
    assert len({*keys, made_of(world.catalog, MODEL)}) == 5
    files.prepared(changed(description="Something else."), MODEL, makes)
    assert makes.times == 2
    assert len(folders(files)) == 1
    assert folders(files) != before


def test_the_last_ones_are_kept_and_small_catalogs_have_none(world: ManyTools, files: IndexFiles, makes: Makes) -> None:
    catalogs = [replace(world.catalog, name=f"c{number}") for number in range(KEPT + 1)]
    for catalog in catalogs[:-1]:
        files.prepared(catalog, MODEL, makes)
    files.prepared(catalogs[0], MODEL, makes)  # used again: the next one is the oldest
    files.prepared(catalogs[-1], MODEL, makes)
    assert (len(folders(files)), makes.times) == (KEPT, KEPT + 1)
    files.prepared(catalogs[0], MODEL, makes)
    assert makes.times == KEPT + 1
    files.prepared(catalogs[1], MODEL, makes)
    assert makes.times == KEPT + 2
    IndexFiles(files.folder.with_name("none")).prepared(world.catalog, MODEL, makes)
    assert not files.folder.with_name("none").exists()


def test_of_two_processes_at_once_the_first_keeps_it(
    world: ManyTools, files: IndexFiles, makes: Makes, caplog: pytest.LogCaptureFixture
) -> None:
    def slower() -> Prepared:
        IndexFiles(files.folder, least=1).prepared(world.catalog, MODEL, makes)
        return makes.made

    with caplog.at_level(logging.WARNING):
        prepared = files.prepared(world.catalog, MODEL, slower)
    assert isinstance(prepared.index.own.base, np.memmap)
    assert (len(folders(files)), caplog.records) == (1, [])


def tiny() -> Catalog:
    tools = tuple(Tool("files", name, f"{name} a file.") for name in ("read", "write", "list"))
    return packed(Catalog("tiny", (Server("files", tools=tools),)))


def tiny_index(store: Store) -> RelevanceIndex:
    return RelevanceIndex.build(tiny(), CachedEncoder(EncoderSource.of(WordEncoder()), store.vectors))


KILLED = """
import os, sys
from pathlib import Path
from core.relevance.index_files import IndexFiles, Prepared
from core.store import Store
from tests.relevance import test_index_files as t
class Kill:
    def __array__(self, *_, **__):
        os._exit(9)
made = Prepared(t.tiny_index(Store(None)), Kill())
IndexFiles(Path(sys.argv[1]), least=1).prepared(t.tiny(), "words-v1", lambda: made)
"""


def test_a_process_that_is_killed_while_it_writes_leaves_nothing_that_is_used(files: IndexFiles) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(files.folder)], cwd=ROOT, check=False)
    assert killed.returncode == 9
    (unfinished,) = files.folder.iterdir()
    assert len(list(unfinished.glob("*/*.npy"))) > 5
    makes = Makes(Prepared(tiny_index(Store(None)), np.arange(3)))
    files.prepared(tiny(), "words-v1", makes)
    assert makes.times == 1


def test_a_second_start_embeds_nothing_and_reads_no_text(tmp_path: Path) -> None:
    def start() -> tuple[CatalogService, WordEncoder]:
        encoder = WordEncoder()
        store = Store(None)
        files = IndexFiles(tmp_path / "indexes", least=1)
        service = CatalogService(store, CachedEncoder(EncoderSource.of(encoder), store.vectors), index_files=files)
        service.add(tiny(), "test")
        service.prepare("tiny")
        return service, encoder

    (first, first_encoder), (second, second_encoder) = start(), start()
    assert len(first_encoder.seen) > 3
    assert second_encoder.seen == []
    assert second.tokens("tiny").tolist() == first.tokens("tiny").tolist()
    assert second.context("tiny").matcher.fit("write it", "")[0].tools.argmax() == 1


def test_a_folder_that_cannot_be_written_costs_a_line_of_the_log(
    world: ManyTools, tmp_path: Path, makes: Makes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    with caplog.at_level(logging.WARNING):
        prepared = IndexFiles(tmp_path / "file", least=1).prepared(world.catalog, MODEL, makes)
    assert prepared is makes.made
    assert len(caplog.records) == 1
