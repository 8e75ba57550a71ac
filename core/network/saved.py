"""Keeping profiles: each a readable JSON file in the user's folder of networks, whole at any time."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from core.errors import CatalogError, StoreError, UnknownNameError
from core.network.profiles import NAME, Profile, saved_file, saved_profiles, shipped_profiles


def tidy_name(typed: str) -> str:
    """What somebody typed as a profile may be called: small letters, and no spaces.

    >>> tidy_name(" Monday  mess ")
    'monday_mess'
    """
    return "_".join(typed.lower().split())


def free_name(name: str, folder: Path | None = None) -> str:
    """A name to keep an edited shipped profile under, which nothing has yet."""
    taken = {*saved_profiles(folder), *shipped_profiles()}
    wanted = f"my_{name}" if NAME.fullmatch(f"my_{name}") else "my_network"
    return next(
        found for n in range(1, len(taken) + 2) if (found := wanted if n == 1 else f"{wanted}_{n}") not in taken
    )


def check_profile_name(name: str) -> None:
    """Raises CatalogError where a profile cannot be saved under this name."""
    if name in shipped_profiles():
        raise CatalogError(f"The name {name!r} belongs to a shipped network; choose another.")
    if not NAME.fullmatch(name):
        raise CatalogError(
            f"{name[:60]!r} cannot name a network; give up to 60 letters a to z, digits, - and _, a letter or digit first."
        )


def save_profile(profile: Profile, folder: Path | None = None) -> Path:
    """Keep a profile under its name, in place of one that has it. Raises CatalogError, StoreError."""
    check_profile_name(profile.name)
    path = saved_file(profile.name, folder)
    new = path.with_name(f".{profile.name}.{uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            new.write_text(profile.text(), encoding="utf-8")
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{path}: the network cannot be saved ({error.strerror}); nothing of it was kept.") from None
    return path


def remove_profile(name: str, folder: Path | None = None) -> None:
    """Forget a saved profile. Raises UnknownNameError where none has this name, StoreError."""
    if name not in saved_profiles(folder):
        raise UnknownNameError(f"There is no saved network {name!r} to delete; it may be gone already.")
    try:
        saved_file(name, folder).unlink()
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{saved_file(name, folder)}: it cannot be deleted ({error.strerror}).") from None
