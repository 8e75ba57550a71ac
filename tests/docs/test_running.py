"""The guide for clients has the texts of the table, and the files of docs/deploy fit the project."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from core.cli.main import wayfare
from core.governance.client_setup import CLIENTS, Target
from core.governance.status import Metrics
from tests.docs.markdown import ROOT, text_of
from tests.world import open_world

DEPLOY = ROOT / "docs/deploy"


def test_the_guide_has_the_texts_of_every_client() -> None:
    sections = text_of("docs/clients.md").split("\n## ")[1:]
    assert [section.partition("\n")[0] for section in sections[: len(CLIENTS)]] == [
        client.title for client in CLIENTS.values()
    ]
    for client, section in zip(CLIENTS.values(), sections, strict=False):
        blocks = re.findall(r"^```\w+\n(.*?)\n```$", section, flags=re.DOTALL | re.MULTILINE)
        targets = {"http": Target(token="wf_..."), "stdio": Target()}
        assert blocks == [client.text(way, targets[way]) for way in client.ways], client.title
        for text in (client.where, client.note, client.checked):
            assert text in section, client.title


def test_the_container_file_copies_what_exists_and_starts_a_known_command() -> None:
    lines = (DEPLOY / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    copied = [word for line in lines if line.startswith("COPY") for word in line.split()[1:-1]]
    assert copied
    assert [name for name in copied if not (ROOT / name).exists()] == []
    first, name, *options = json.loads(lines[-1].removeprefix("CMD "))
    command = wayfare.get_command(click.Context(wayfare), name)
    assert (first, command is None) == ("wayfare", False)
    assert command is not None
    assert command.make_context(name, options).params["host"] == "0.0.0.0"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_finds_no_fault_in_the_unit(tmp_path: Path) -> None:
    unit = (
        (DEPLOY / "wayfare.service").read_text(encoding="utf-8").replace("%h/wayfare/.venv/bin/wayfare", sys.executable)
    )
    file = tmp_path / "wayfare.service"
    file.write_text(unit)
    process = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(file)],
        env={"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (process.returncode, process.stderr) == (0, "")


def test_the_dashboard_and_the_alerts_name_metrics_that_there_are(tmp_path: Path) -> None:
    panels = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))["panels"]
    (group,) = yaml.safe_load((DEPLOY / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    expressions += [rule["expr"] for rule in group["rules"]]
    used_names = {name for expression in expressions for name in re.findall(r"\b(?:wayfare|process)_\w+", expression)}
    with open_world(tmp_path / "w.duckdb") as app:
        app.settings = replace(app.settings, backups=tmp_path)
        app.backups.make(tmp_path)
        page = Metrics(app.store, app.governance, tuple, app.settings.now, app.health_now(3)).text().decode()
        families = list(text_string_to_metric_families(page))
    endings = {"histogram": ("_bucket", "_count", "_sum"), "counter": ("_total",)}
    known_names = {family.name + ending for family in families for ending in endings.get(family.type, ("",))}
    assert len(used_names) > 12
    assert used_names <= known_names
    assert {family.name for family in families if family.type == "gauge"} <= {*used_names, "wayfare_server_connection"}
    values = {family.name: family.samples[0].value for family in families if family.samples}
    assert (values["wayfare_requests_waiting"], values["wayfare_backup_failed"]) == (3, 0)
    assert 0 <= values["wayfare_backup_age_seconds"] < 60
    assert min(values[f"wayfare_{name}_bytes"] for name in ("disk_free", "store", "memory")) > 1e5
