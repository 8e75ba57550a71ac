"""Access tokens (JWT, RFC 9068) of the authorization server that the operator trusts, for `/mcp`."""

from __future__ import annotations

import json
import threading
from typing import Any
from urllib.request import urlopen

import jwt

from core.domain.errors import InsufficientScopeError, WayfareError
from core.domain.settings import Oidc

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures with a private key. A shared secret, or no signature, proves nothing here."""
TYPES = {"at+jwt", "application/at+jwt", "jwt", ""}
TIMEOUT_S, LEEWAY_S, MOST_BYTES = 10, 30, 1_000_000


class AccessTokens:
    """Verifies tokens with the keys that the issuer publishes. Thread-safe."""

    def __init__(self, oidc: Oidc) -> None:
        self._oidc = oidc
        self._lock = threading.Lock()
        self._keys: jwt.PyJWKClient | None = None

    def client(self, token: str) -> str:
        """Returns the name of the client that a token is for. Raises InsufficientScopeError, or WayfareError for another token."""
        known = self._oidc
        try:
            if str(jwt.get_unverified_header(token).get("typ", "")).lower() not in TYPES:
                raise WayfareError("The token is no access token.")
            claims = jwt.decode(
                token, self._published().get_signing_key_from_jwt(token), ALGORITHMS, audience=known.audience, issuer=known.issuer,
                leeway=LEEWAY_S, options={"require": ["exp", "iss", "aud"]},
            )  # fmt: skip
        except jwt.PyJWTError as error:
            raise WayfareError(f"The token is not accepted: {type(error).__name__}.") from None
        scopes = claims.get("scope", claims.get("scp", ""))
        if known.mcp_scope not in (scopes.split() if isinstance(scopes, str) else scopes):
            raise InsufficientScopeError(f"The token lacks the scope {known.mcp_scope}.")
        name = claims.get(known.client_claim)
        if not isinstance(name, str) or not name:
            raise WayfareError(f"The token names no client: it has no claim {known.client_claim}.")
        return name

    def _published(self) -> jwt.PyJWKClient:
        """The keys of the issuer, read again as they change. Raises WayfareError."""
        with self._lock:
            if self._keys is None:
                try:
                    with urlopen(self._oidc.metadata_url, timeout=TIMEOUT_S) as answer:  # noqa: S310 - https, as the settings ask
                        metadata: dict[str, Any] = json.loads(answer.read(MOST_BYTES))
                    if metadata["issuer"] != self._oidc.issuer:
                        raise ValueError("another issuer")
                    self._keys = jwt.PyJWKClient(metadata["jwks_uri"], timeout=TIMEOUT_S)
                except (OSError, ValueError, KeyError, TypeError) as error:
                    said = f"The keys of the issuer cannot be read: {type(error).__name__}."
                    raise WayfareError(said) from None
            return self._keys
