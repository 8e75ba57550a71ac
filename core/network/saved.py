"""Profiles that somebody saved: each a readable JSON file in one folder, replaced in one step so that it is never half written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from core.network.profiles import NAME, Profile, load_profile, profile_file, shipped_profiles, unknown_profile
from core.shared.errors import CatalogError, StoreError, UnknownNameError


def tidy_name(typed: str) -> str:
    """A typed name as a profile may have it: small letters, and no spaces.

    >>> tidy_name(" Monday  mess ")
    'monday_mess'
    """
    return "_".join(typed.lower().split())


def check_profile_name(name: str) -> None:
    """Raises CatalogError where a profile cannot be saved under this name."""
    if name in shipped_profiles():
        raise CatalogError(f"The name {name!r} belongs to a shipped network; choose another.")
    if not NAME.fullmatch(name):
        raise CatalogError(
            f"{name[:60]!r} cannot name a network; give up to 60 letters a to z, digits, - and _, a letter or digit first."
        )


class NetworkProfiles:
    """The profiles that come with Wayfare, and those saved in a folder, which is made when the first one is saved."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> tuple[str, ...]:
        """The shipped ones, then the saved ones."""
        return (*shipped_profiles(), *self.saved())

    def saved(self) -> tuple[str, ...]:
        """The names of the saved ones; whether their files can be read shows when one is loaded."""
        there = (path for path in self.folder.glob("*.json") if NAME.fullmatch(path.stem))
        return tuple(sorted({path.stem for path in there if path.is_file()} - set(shipped_profiles())))

    def load(self, name_or_path: str) -> Profile:
        """A profile by name, or one from a JSON file. Raises UnknownNameError, CatalogError that names the file."""
        if name_or_path in self.saved():
            return replace(profile_file(self._file(name_or_path)), name=name_or_path)  # the file may have been renamed
        if name_or_path in shipped_profiles() or name_or_path.endswith(".json"):
            return load_profile(name_or_path)
        raise unknown_profile(name_or_path, self.names())

    def save(self, profile: Profile) -> Path:
        """Keep a profile under its name, in place of one that has it. Raises CatalogError, StoreError."""
        check_profile_name(profile.name)
        path = self._file(profile.name)
        new = path.with_name(f".{profile.name}.{uuid4().hex}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                new.write_text(profile.text(), encoding="utf-8")
                new.replace(path)
            finally:
                new.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"{path}: the network cannot be saved ({error.strerror}); nothing of it was kept."
            ) from None
        return path

    def remove(self, name: str) -> None:
        """Delete a saved profile. Raises UnknownNameError where none has this name, StoreError."""
        if name not in self.saved():
            raise UnknownNameError(f"There is no saved network {name!r} to delete; it may be gone already.")
        try:
            self._file(name).unlink()
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(f"{self._file(name)}: it cannot be deleted ({error.strerror}).") from None

    def free_name(self, name: str) -> str:
        """A free name under which an edited shipped profile can be saved."""
        taken = set(self.names())
        wanted = f"my_{name}" if NAME.fullmatch(f"my_{name}") else "my_network"
        return next(
            found for n in range(1, len(taken) + 2) if (found := wanted if n == 1 else f"{wanted}_{n}") not in taken
        )

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.json"
