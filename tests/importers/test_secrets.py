"""Nothing secret gets past an importer: not into connections, representations or notes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.catalogs.servers import keep_values
from core.domain.catalog import Imported, ServerId
from core.domain.errors import CatalogError
from core.importers import read_document
from core.servers.secrets import SecretVault
from core.store.catalogs import is_reference
from tests.cases import each

SECRET = "hunter2-PLANTED"
OPAQUE = "Zm9vYmFyMTIzNDU2Nzg5MGFiY2Rl"


def read(entry: dict[str, Any], **fields: Any) -> Imported:
    return read_document(json.dumps({"mcpServers": {"web": entry}, **fields}), source="mcp.json")


ARGUMENTS: list[tuple[list[str], list[str]]] = [
    (["--api-key", SECRET], ["--api-key", "${secret:web/api-key}"]),
    (["--api-key=" + SECRET, "-v"], ["--api-key=${secret:web/api-key}", "-v"]),
    (["--password", "two words " + SECRET], ["--password", "${secret:web/password}"]),
    (["--auth", "--verbose"], ["--auth", "--verbose"]),
    (["--header", "Authorization: Bearer " + SECRET], ["--header", "Authorization:${secret:web/Authorization}"]),
    (["--header", f"Authorization: Basic {SECRET}=="], ["--header", "Authorization:${secret:web/Authorization}"]),
    (["-H", f"X-Plan: {SECRET}="], ["-H", "X-Plan:${secret:web/X-Plan}"]),
    (["--header", f"Cookie: {SECRET}=1; theme=dark"], ["--header", "Cookie:${secret:web/Cookie}"]),
    (["--header", "${input:auth}"], ["--header", "${input:auth}"]),
    (["run", "-e", "REGION=" + SECRET], ["run", "-e", "REGION=${secret:web/REGION}"]),
    (["run", "-e", f"DSN={SECRET}:1"], ["run", "-e", "DSN=${secret:web/DSN}"]),
    (["API_KEY=" + SECRET], ["API_KEY=${secret:web/API_KEY}"]),
    (["--config", json.dumps({"apiKey": SECRET, "n": 1})], ["--config", '{"apiKey": "${secret:web/apiKey}", "n": 1}']),
    (
        ["--config", json.dumps({"apiKey": SECRET}).replace('"', '\\"')],
        ["--config", '{\\"apiKey\\": \\"${secret:web/apiKey}\\"}'],
    ),
    (["-c", f"x --token {SECRET} --n 1"], ["-c", "x --token ${secret:web/token} --n 1"]),
    (
        ["-c", f"curl -H 'Authorization: Bearer {SECRET}' x"],
        ["-c", "curl -H 'Authorization: ${secret:web/Authorization}' x"],
    ),
    ([f"postgresql://me:{SECRET}/1@db/x"], ["postgresql://${secret:web/userinfo}@db/x"]),
    (
        [f"https://x.org/mcp?page=2&api_key={SECRET}&z=1"],
        ["https://x.org/mcp?page=2&api_key=${secret:web/api_key}&z=1"],
    ),
    (["sk-live-" + SECRET], ["${secret:web/args_0}"]),
    ([OPAQUE], ["${secret:web/args_0}"]),
    (["https://${env:U}:${env:P}@x.org"], ["https://${env:U}:${env:P}@x.org"]),
    (["--token", "${env:TOKEN}"], ["--token", "${env:TOKEN}"]),
    (["--token", "$TOKEN"], ["--token", "${env:TOKEN}"]),
    (["--header", "Authorization:${AUTH}"], ["--header", "Authorization:${env:AUTH}"]),
    (
        ["-y", "@modelcontextprotocol/server-filesystem@2025.7.1", "/tmp"],
        ["-y", "@modelcontextprotocol/server-filesystem@2025.7.1", "/tmp"],
    ),
    (
        ["--from", "git+https://github.com/x/weather.git@v1", "w"],
        ["--from", "git+https://github.com/x/weather.git@v1", "w"],
    ),
    (["--author", "me", "--token-file", "/run/x"], ["--author", "me", "--token-file", "/run/x"]),
    *(
        (["serve", flag, SECRET], ["serve", flag, f"${{secret:web/{flag[1]}}}"])
        for flag in ("-k", "-K", "-p", "-P", "-t", "-T")
    ),
    (["-k", SECRET, "-p", "two words " + SECRET], ["-k", "${secret:web/k}", "-p", "${secret:web/p}"]),
    (["-k=" + SECRET, "-v"], ["-k=${secret:web/k}", "-v"]),
    (["-p=letmein", "-p=8080"], ["-p=${secret:web/p}", "-p=8080"]),
    (["-t", "${TOKEN}", "-k", "$TOKEN"], ["-t", "${env:TOKEN}", "-k", "${env:TOKEN}"]),
    (["-c", f"serve -k {SECRET} -p 8080"], ["-c", "serve -k ${secret:web/k} -p 8080"]),
    (["-c", f"mkdir -p data/x && serve -p={SECRET}"], ["-c", "mkdir -p data/x && serve -p=${secret:web/p}"]),
]


@each(("given", "expected"), ARGUMENTS, ids=[" ".join(given)[:50] for given, _ in ARGUMENTS])
def test_arguments(given: list[str], expected: list[str]) -> None:
    imported = read({"command": "run", "args": given})
    connection = imported.servers[0].connection
    assert connection is not None
    assert list(connection.args) == expected
    assert SECRET not in repr(imported)
    restored = [resolve(argument, imported) for argument in connection.args]
    plain = [g.replace("${TOKEN}", "${env:TOKEN}").replace("${AUTH}", "${env:AUTH}") for g in given]
    assert restored == ["${env:TOKEN}" if p == "$TOKEN" else p for p in plain]


def test_a_variable_in_arguments_has_the_value_of_the_servers_own() -> None:
    arguments = ["--header", "Auth:${AUTH}", "--mode=${MODE}", "${env:MODE}", "${OTHER}"]
    imported = read({"command": "x", "args": arguments, "env": {"AUTH": f"Bearer {SECRET}", "MODE": "read-only"}})
    assert imported.servers[0].connection is not None
    assert imported.servers[0].connection.args == (
        "--header", "Auth:${secret:web/AUTH}", "--mode=read-only", "${env:MODE}", "${env:OTHER}",
    )  # fmt: skip
    assert SECRET not in repr(imported)


def resolve(text: str, imported: Imported) -> str:
    for name, value in imported.secrets.items():
        text = text.replace(f"${{secret:{name}}}", value)
    return text


@each(
    "value",
    ["8080", "8080:80/tcp", "127.0.0.1:80", "localhost:3000", "30s", "250ms", "3.12", "0.5", "/run/key", "./a", "..", "~/x", "C:\\x",
     "data/x", "@scope/pkg@1.2", "ghcr.io/x/w:2", "https://x.org/a", "tsconfig.json", "server.key", "stdio", "streamable-http", "SSE",
     "localhost", "-v", "--verbose"],
)  # fmt: skip
def test_what_is_plainly_no_secret_stays_after_a_flag_of_one_letter(value: str) -> None:
    for flag in ("-k", "-p", "-P", "-t"):
        connection = read({"command": "serve", "args": [flag, value]}).servers[0].connection
        assert connection is not None
        assert connection.args == (flag, value)


@each(
    ("command", "given", "expected"),
    [
        ("npx", ["-y", "-p", "weather-server", "weather", "-p", "letmein"], [5]),
        ("npx.cmd", ["-y", "@x/weather", "-k", "letmein"], [3]),
        ("/usr/bin/docker", ["run", "-i", "-p", "8080:80", "-t", "weather", "-p", "letmein"], [7]),
        ("docker", ["run", "-i", "--rm", "-e", "A=b", "x/weather", "-t", "letmein"], [4, 7]),
        ("uvx", ["-p", "python3", "--from", "weather", "weather", "-k", "letmein"], [6]),
        ("weather", ["-p", "letmein"], [1]),
    ],
)
def test_flags_of_the_program_that_starts_a_server_are_its_own(
    command: str, given: list[str], expected: list[int]
) -> None:
    connection = read({"command": command, "args": given}).servers[0].connection
    assert connection is not None
    assert [place for place, argument in enumerate(connection.args) if "${secret:" in argument] == expected


def test_a_command_that_is_a_whole_line_keeps_no_secret() -> None:
    imported = read({"command": f"serve -k {SECRET} --port 80"})
    assert imported.servers[0].connection is not None
    assert imported.servers[0].connection.command == "serve -k ${secret:web/k} --port 80"


@each(
    ("url", "expected"),
    [
        (f"https://x.org/mcp?token={SECRET}", "https://x.org/mcp?token=${secret:web/token}"),
        (f"https://{SECRET}@x.org/mcp", "https://${secret:web/userinfo}@x.org/mcp"),
        (f"https://x.org/s/{OPAQUE}/mcp", "https://x.org/s/${secret:web/url}/mcp"),
        ("https://x.org/0b5c8a52-7b0f-4d6e-9f6a-0d5f6f4a2b11/mcp", "https://x.org/${secret:web/url}/mcp"),
        ("https://x.org/mcp?key=${env:KEY}", "https://x.org/mcp?key=${env:KEY}"),
        ("https://x.org/mcp?key=${input:key}", "https://x.org/mcp?key=${input:key}"),
        ("${env:BASE:-https://x.org}/mcp", "${env:BASE:-https://x.org}/mcp"),
        ("https://x.org:8443/public/mcp?page=2#top", "https://x.org:8443/public/mcp?page=2#top"),
    ],
)
def test_addresses(url: str, expected: str) -> None:
    imported = read({"url": url})
    connection = imported.servers[0].connection
    assert connection is not None
    assert connection.url == expected
    assert resolve(connection.url, imported) == url
    assert SECRET not in repr(imported)


@each(
    ("value", "expected"),
    [
        (SECRET, "${secret:web/K}"),
        ("${input:k}", "${input:k}"),
        ("${K}", "${env:K}"),
        ("$K", "${env:K}"),
        (f"${{K:-{SECRET}}}", "${env:K:-${secret:web/K}}"),
        (f"${{env:-{SECRET}}}", "${env:env:-${secret:web/K}}"),
        ("${A:-${B:-${C}/x}}", "${env:A:-${env:B:-${env:C}/x}}"),
        (f"${{A:-{SECRET}${{b}}}}", "${env:A:-${secret:web/K}${env:b}}"),
        ("${K:-/tmp}", "${env:K:-/tmp}"),
        (f"${{env:{SECRET}}}", "${secret:web/K}"),
        ("${python}", "${python}"),
        ("Bearer ${env:K}", "Bearer ${env:K}"),
        (f"{SECRET}${{env:K}}", "${secret:web/K}${env:K}"),
        (f"{SECRET}${{env:K}}{SECRET}2", "${secret:web/K}${env:K}${secret:web/K_2}"),
        ("${HOME}/x", "${env:HOME}/x"),
        ("postgres://u:${env:PW}@${H}:5432/shop", "postgres://u:${env:PW}@${env:H}:5432/shop"),
        ("Token token=${env:X}, user=u", "Token token=${env:X}, user=${secret:web/user}"),
        ("session=${S}; path=/; theme=" + SECRET, "session=${env:S}; path=/; theme=${secret:web/theme}"),
        (f"host=${{H}};pass={SECRET}", "host=${env:H};pass=${secret:web/pass}"),
        (f"postgres://me:{SECRET}@${{H}}/x", "postgres://${secret:web/userinfo}@${env:H}/x"),
        ('{"at": "${A:-/tmp}", "n": 2}', '{"at": "${env:A:-/tmp}", "n": 2}'),
        ("--x ${odd name} ${input:k}", "${secret:web/K}${input:k}"),
        ("${workspaceFolder}/data:${userHome}", "${workspaceFolder}/data:${userHome}"),
        (f"${{odd thing {SECRET}}}", "${secret:web/K}"),
        ("${secret:web/K}", "${secret:web/K}"),
        ("", ""),
    ],
)
def test_variables_and_headers(value: Any, expected: str) -> None:
    for kind, entry in (
        ("env", {"command": "run", "env": {"K": value}}),
        ("headers", {"url": "https://x.org", "headers": {"K": value}}),
    ):
        imported = read(entry)
        assert getattr(imported.servers[0].connection, kind) == {"K": expected}
        assert SECRET not in repr(imported)
        assert is_reference("K", expected)


@each(
    "name, value, expected",
    [
        ("LIMIT", 4000, "4000"),
        ("MODE", "read-only", "read-only"),
        ("AWS_REGION", "eu-west-1", "eu-west-1"),
        ("DEBUG", "true", "true"),
        ("ARGS", "--verbose", "--verbose"),
        ("BASE", "https://api.example.org/v1", "https://api.example.org/v1"),
        ("DB_PASSWORD", "true", "${secret:web/DB_PASSWORD}"),
        ("PLAN", "hunter2", "${secret:web/PLAN}"),
        ("HOOK", "https://x.org/?key=abc", "${secret:web/HOOK}"),
        ("HOOK", f"https://hooks.example/services/{OPAQUE}", "${secret:web/HOOK}"),
        ("PATH_TO", f"/{OPAQUE}", "${secret:web/PATH_TO}"),
    ],
)
def test_a_variable_that_is_plainly_no_secret_stays_as_it_is_written(name: str, value: Any, expected: str) -> None:
    imported = read({"command": "run", "env": {name: value}})
    assert imported.servers[0].connection is not None
    assert imported.servers[0].connection.env == {name: expected}
    is_noted = any(f'env "{name}" stays as it is written' in note.text for note in imported.notes)
    assert is_noted is not expected.startswith("$")
    assert all(str(value) not in note.text for note in imported.notes if value != "true")


def test_a_name_can_have_two_values_and_no_name_ends_a_reference_early() -> None:
    document = {
        "mcpServers": {"a}b/c": {"url": "https://u:1@x.org/?token=2", "headers": {"token": "3", "To/ken": "4"}}}
    }
    imported = read_document(json.dumps(document), source="mcp.json")
    assert imported.secrets == {
        "a%7Db/c/userinfo": "u:1",
        "a%7Db/c/token": "2",
        "a%7Db/c/token_2": "3",
        "a%7Db/c/To%2Fken": "4",
    }


def test_a_server_cannot_ask_for_the_secrets_of_another() -> None:
    with pytest.raises(CatalogError, match='mcpServers "web": K refers to a secret of another server'):
        read({"url": "https://evil.org", "headers": {"K": "${secret:web/x/TOKEN}"}})


@each("argument", [f"${{TOKEN:-{SECRET}}}", f"${{A:-sk-live-{SECRET}}}", f"--key=${{A:-{SECRET}}}"])
def test_a_default_that_may_be_secret_does_not_stay_in_arguments(argument: str) -> None:
    imported = read({"command": "x", "args": [argument]})
    assert SECRET not in repr(imported)


def test_a_default_counts_without_a_value_and_may_be_a_secret() -> None:
    imported = read(
        {"command": "x", "args": ["--token", "${T:-t}"], "env": {"K": "a-${K:-v}/x", "L": "${L:-${M:-/tmp}}"}}
    )
    connection, server_id = imported.servers[0].connection, ServerId("mine", "web")
    assert connection is not None
    for environ, args, env in (
        ({}, ("--token", "t"), ("a-v/x", "/tmp")),
        ({"T": "1", "K": "2", "L": "3"}, ("--token", "1"), ("a-2/x", "3")),
    ):
        vault = SecretVault(environ)
        keep_values(vault, "mine", imported.servers, imported.secrets)
        launch = vault.resolve(server_id, connection)
        assert (launch.args, tuple(launch.env.values())) == (args, env)


@given(
    value=st.text(min_size=8).filter(lambda v: "$" not in v and "\0" not in v and v.strip()), key=st.sampled_from("ab")
)
@settings(max_examples=60)
def test_every_literal_value_is_kept_and_nowhere_shown(value: str, key: str) -> None:
    value = "S3CRET" + value
    try:
        imported = read({"command": "run", "env": {key: value}, "args": ["--token", value]})
    except CatalogError as error:
        assert value not in str(error)  # noqa: PT017
        return
    assert set(imported.secrets.values()) <= {value}
    assert "S3CRET" not in repr(imported) + str(imported.servers)
