"""Settings: what each variable sets, and that nothing but these is looked at."""

import os
import re
from pathlib import Path

import pytest

from core.app import Settings
from core.domain.errors import WayfareError
from core.planning.rules import planners
from tests.cases import each


def test_every_variable_has_its_place() -> None:
    environ = {
        "WAYFARE_DB": "/data/a.duckdb",
        "WAYFARE_CACHE": "~/somewhere",
        "WAYFARE_CATALOG": "mine",
        "WAYFARE_RERANKER": " /models/bge ",
        "WAYFARE_ENCODER_DIFFERENCE": " none ",
        "WAYFARE_MAX_ANSWER_MB": "2.5",
        "WAYFARE_WORDS_AFTER_S": "0",
        "WAYFARE_LLM_MODEL": "small",
        "WAYFARE_LLM_BASE_URL": "http://127.0.0.1:1/v1",
    }
    settings = Settings.from_environment(environ)
    assert (settings.db, settings.catalog, settings.reranker) == (Path("/data/a.duckdb"), "mine", "/models/bge")
    assert settings.cache == Path.home() / "somewhere"
    assert settings.models_folder == settings.cache / "models"
    assert settings.virtual_folder == settings.cache / "virtual"
    assert settings.networks_folder == Path("/data/networks")
    assert settings.tuned_encoder == Path("/data/encoder-difference.npz")
    assert (settings.encoder_difference, Settings().encoder_difference) == ("none", "")
    assert (settings.max_answer_bytes, Settings().max_answer_bytes) == (2_500_000, 10_000_000)
    assert (settings.words_after_s, Settings().words_after_s) == (0.0, 0.5)
    assert list(planners(settings.environment)) == ["rules", "model"]


@each(("name", "value", "wanted"), [
    *(("WAYFARE_MAX_ANSWER_MB", value, "a number of MB above 0") for value in ("much", "0", "-1", "nan", "inf", "1e308")),
    *(("WAYFARE_WORDS_AFTER_S", value, "a number of seconds") for value in ("soon", "-1", "nan", "inf")),
])  # fmt: skip
def test_a_limit_that_is_no_number_is_one_sentence(name: str, value: str, wanted: str) -> None:
    with pytest.raises(WayfareError, match=f"{name} is .* give {wanted}"):
        Settings.from_environment({name: value})


@each("environ", [{}, dict.fromkeys(("WAYFARE_DB", "WAYFARE_CACHE", "WAYFARE_CATALOG"), "")])
def test_without_a_variable_the_users_own_folders_are_used(environ) -> None:
    settings, usual = Settings.from_environment(environ), Settings()
    assert (settings.db, settings.cache, settings.catalog) == (usual.db, usual.cache, "sample")
    assert Path(settings.db).name == "wayfare.duckdb"
    assert settings.cache.name == "wayfare"


def test_an_option_goes_before_the_environment(tmp_path: Path) -> None:
    environ = {"WAYFARE_DB": "/data/a.duckdb", "WAYFARE_CATALOG": "mine"}
    settings = Settings.from_environment(environ, db=tmp_path / "b.duckdb", catalog="other")
    assert (settings.db, settings.catalog) == (tmp_path / "b.duckdb", "other")
    assert settings.networks_folder == tmp_path / "networks"


def test_networks_of_a_store_in_memory_are_the_users() -> None:
    assert Settings(db=":memory:").networks_folder == Path(Settings().db).parent / "networks"
    assert Settings(db=Path(":memory:")).networks_folder == Settings().networks_folder


def test_this_process_is_the_environment_where_none_is_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WAYFARE_CACHE", str(tmp_path))
    assert Settings.from_environment().cache == tmp_path
    assert Settings().cache != tmp_path


def test_settings_show_nothing_of_the_environment() -> None:
    assert "hunter22" not in repr(Settings.from_environment({"WAYFARE_LLM_API_KEY": "hunter22"}))


def test_nothing_else_looks_at_the_environment() -> None:
    root = Path(__file__).parents[2]
    looks = {
        file.relative_to(root).as_posix()
        for folder in ("core", "dashboard")
        for file in (root / folder).rglob("*.py")
        if re.search(r"os\.environ|getenv", file.read_text("utf-8"))
    }
    for_a_library = {
        "core/__init__.py",
        "core/domain/tools.py",
        "core/relevance/onnx_encoder.py",
        "core/planning/model_endpoint.py",
    }
    for_other_programs = {
        "core/servers/transports.py",
        "core/cli/store.py",
    }  # servers, and the console of an agent
    assert looks == {"core/domain/settings.py"} | for_a_library | for_other_programs


def test_in_tests_the_users_own_folders_and_variables_are_those_of_the_session() -> None:
    assert all(Path(folder).is_relative_to(Path.home()) for folder in (Settings().db, Settings().cache))
    assert "wayfare-home-" in Path.home().name
    ours = {"WAYFARE_WORDS_AFTER_S"}  # set by tests/conftest.py
    assert {name for name in os.environ if name.startswith(("WAYFARE_", "OTEL_", "XDG_"))} == ours
