"""The registry's server.json: commands of packages, values to ask for, remotes, lists."""

from __future__ import annotations

from typing import Any

import pytest

from core.domain.catalog import Connection, Prompt
from tests.cases import each
from tests.importers.documents import reached, read, remarks

OFFICIAL = "io.modelcontextprotocol.registry/official"


def package(**fields: Any) -> dict[str, Any]:
    return {"name": "org.x/w", "description": "W.", "packages": [{"identifier": "w", "version": "1.0", **fields}]}


@each(
    ("document", "command", "args"),
    [
        (package(registryType="npm"), "npx", ("-y", "w@1.0")),
        (package(registry_type="npm", runtime_arguments=[{"value": "--yes"}]), "npx", ("--yes", "w@1.0")),
        (package(registryType="pypi"), "uvx", ("w@1.0",)),
        (package(runtimeHint="uvx", version="latest"), "uvx", ("w",)),
        (package(registry_name="pypi", identifier=None, name="w"), "uvx", ("w@1.0",)),
        (package(registryType="npm", runtimeHint="rm"), "npx", ("-y", "w@1.0")),
        (package(registryType="oci"), "docker", ("run", "-i", "--rm", "w:1.0")),
        (
            package(registryType="oci", identifier="ghcr.io/x/w:2", version=None),
            "docker",
            ("run", "-i", "--rm", "ghcr.io/x/w:2"),
        ),
        (
            package(registryType="nuget", packageArguments=[{"type": "positional", "value": "mcp"}]),
            "dnx",
            ("w@1.0", "--yes", "--", "mcp"),
        ),
        (
            package(
                registryType="npm",
                packageArguments=[
                    {"type": "named", "name": "--mode", "default": "local"},
                    {"type": "named", "name": "--stdio"},
                    {"type": "named", "name": "--port", "format": "number"},
                    {"type": "positional", "valueHint": "folder", "isRequired": True},
                    {"type": "positional", "value": "/{home}", "variables": {"home": {"default": "me"}}},
                ],
            ),
            "npx",
            ("-y", "w@1.0", "--mode", "local", "--stdio", "${secret:org.x/w/folder}", "/me"),
        ),
    ],
)
def test_packages(document: dict[str, Any], command: str, args: tuple[str, ...]) -> None:
    imported = read(document)
    assert imported.format == "server_json"
    assert (reached(imported).command, reached(imported).args) == (command, args)


@pytest.mark.parametrize(
    "key", [("environmentVariables", "isSecret", "isRequired"), ("environment_variables", "is_secret", "is_required")]
)
def test_registry_variables(key: tuple[str, str, str]) -> None:
    variables, secret, required = key
    declared = [
        {"name": "KEY", "description": "API key", secret: True, required: True},
        {"name": "PIN", secret: True},
        {"name": "UNITS", "default": "celsius"},
        {"name": "PLACE", required: True},
        {"name": "EXTRA"},
    ]
    imported = read(package(registryType="npm", **{variables: declared}))
    assert reached(imported).env == {
        "KEY": "${secret:org.x/w/KEY}",
        "PIN": "${secret:org.x/w/PIN}",
        "UNITS": "${secret:org.x/w/UNITS}",
        "PLACE": "${secret:org.x/w/PLACE}",
    }
    assert imported.prompts == (
        Prompt("org.x/w/KEY", "API key", True),
        Prompt("org.x/w/PIN", "optional: PIN", True),
        Prompt("org.x/w/PLACE", "PLACE", False),
    )
    assert remarks(imported) == ["optional and without a default: it is left out"]


def test_registry_remotes_lists_and_prices() -> None:
    remotes = [
        {"transport_type": "sse", "url": "https://x.org/sse"},
        {
            "type": "streamable-http",
            "url": "https://{tenant}.x.org/mcp",
            "variables": {"tenant": {"isRequired": True}},
            "headers": [{"name": "Authorization", "value": "Bearer {t}", "variables": {"t": {"isSecret": True}}}],
        },
    ]
    server = {**package(registryType="npm"), "remotes": remotes, "_meta": {"org.x": {"price_usd": 0.004}}}
    unusable = {"name": "org.x/bundle", "packages": [{"registryType": "mcpb", "identifier": "x"}]}
    imported = read({"servers": [{"server": server}, {"server": unusable}], "metadata": {}})
    assert reached(imported) == Connection(
        "http",
        url="https://${secret:org.x/w/tenant}.x.org/mcp",
        headers={"Authorization": "Bearer ${secret:org.x/w/t}"},
        passwords=("org.x/w/t",),
    )
    assert imported.servers[0].ask_usd == 0.004
    assert remarks(imported)[0] == "its remote is taken, its packages are not"
    assert remarks(imported)[-1] == "none of its remotes and packages can be used here: it is left out"
    assert read({"server": server}).servers[0] == imported.servers[0]


def test_of_several_versions_the_latest_is_taken_else_the_last() -> None:
    def listed(version: str, **official: object) -> dict[str, Any]:
        return {"server": package(registryType="npm", version=version), "_meta": {OFFICIAL: official}}

    for versions, args in (
        ([listed("1"), listed("2", isLatest=True), listed("3", isLatest="true")], ("-y", "w@2")),
        ([listed("1"), {**listed("2"), "_meta": []}], ("-y", "w@2")),
    ):
        imported = read({"servers": versions})
        assert [server.name for server in imported.servers] == ["org.x/w"]
        assert reached(imported).args == args
        assert remarks(imported) == ["another version of it is taken: it is left out"] * (len(versions) - 1)


def test_a_secret_argument_is_hidden_whatever_it_looks_like() -> None:
    arguments = [{"type": "positional", "value": "pw", "isSecret": True}]
    imported = read(package(registryType="npm", packageArguments=arguments))
    assert reached(imported).args == ("-y", "w@1.0", "${secret:org.x/w/packageArguments_0}")
    assert imported.secrets == {"org.x/w/packageArguments_0": "pw"}
