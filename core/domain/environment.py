"""The variables that a started process inherits: where it finds programs, certificates, proxies and caches. Others may be secrets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from core.domain.leaks import telling

MACHINE = (
    *("PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA"),
    *("AWS_CA_BUNDLE", "DENO_CERT", "GIT_SSL_CAINFO", "NIX_SSL_CERT_FILE"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY", "NODE_USE_ENV_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "no_proxy"),
)  # fmt: skip
INHERITED = (
    *MACHINE,
    *("HOME", "LOGNAME", "SHELL", "TERM", "USER", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "TMP", "TEMP", "XDG_*"),
    *("UV_*", "PIP_*", "PIPX_*", "npm_config_*", "NPM_CONFIG_*", "YARN_CACHE_FOLDER", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR"),
    *("NVM_DIR", "FNM_DIR", "VOLTA_HOME", "PYENV_ROOT", "CARGO_HOME", "GOPATH", "JAVA_HOME", "PLAYWRIGHT_BROWSERS_PATH"),
    *("DOCKER_HOST", "DOCKER_CONFIG", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS"),
    *("APPDATA", "LOCALAPPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA"),
    *("PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "USERNAME", "USERPROFILE", "WINDIR"),
)  # fmt: skip
FOLDERS = (
    *("~/.local/bin", "~/.cargo/bin", "~/.bun/bin", "~/.deno/bin", "~/.volta/bin"),
    *("/usr/local/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin"),
)  # fmt: skip
"""Where users have programs such as npx and uvx, also if a service starts Wayfare with a short PATH."""
OWN = "WAYFARE_"


def inherited(environ: Mapping[str, str], more: Iterable[str] = ()) -> dict[str, str]:
    """Returns the variables that a server inherits, those that `more` names among them, as `AWS_PROFILE` or `MY_*`. A variable that is
    named as a secret is only inherited by its full name, and one of Wayfare's own never.

    >>> found = inherited({"UV_CACHE_DIR": "/c", "UV_PUBLISH_TOKEN": "t", "WAYFARE_KEY": "k", "MY_A": "1", "OTHER": "2"}, ["MY_*", "WAYFARE_*"])
    >>> {name: value for name, value in found.items() if name != "PATH"}
    {'UV_CACHE_DIR': '/c', 'MY_A': '1'}
    """
    names = (*INHERITED, *more)
    found = {
        name: value
        for name, value in environ.items()
        if not name.startswith(OWN)
        and (name in names or (not telling(name) and any(fnmatchcase(name, one) for one in names)))
        and not value.startswith("()")  # a function of a shell
    }
    path = found.get("PATH", os.defpath).split(os.pathsep)
    further = (str(Path(folder).expanduser()) for folder in FOLDERS)
    found["PATH"] = os.pathsep.join((*path, *(one for one in further if one not in path and Path(one).is_dir())))
    return found
