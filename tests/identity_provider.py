"""An identity provider with any claims, right or wrong: metadata, keys, an authorization and a token endpoint."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Route

from tests.gateway.serving import listening


class Provider:
    """`said` overrides claims of its tokens. `issuer` is its address once it is served."""

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
        self.issuer = ""
        self.said: dict[str, Any] = {}
        self.asked: list[str] = []
        self._nonce = ""

    def token(self, *, typ: str = "at+jwt", key: Any = None, alg: str = "RS256", **claims: Any) -> str:
        """A signed token of this issuer, valid for a minute."""
        all_claims = {"iss": self.issuer, "sub": "ann", "iat": int(time.time()), "exp": int(time.time()) + 60, **claims}
        payload = {name: value for name, value in all_claims.items() if value is not None}
        return jwt.encode(payload, None if alg == "none" else key or self._key, alg, headers={"kid": "one", "typ": typ})

    @contextmanager
    def served(self) -> Generator[str]:
        routes = [
            Route("/.well-known/openid-configuration", self._metadata), Route("/keys", self._keys), Route("/authorize", self._authorize),
            Route("/token", self._token, methods=["POST"]),
        ]  # fmt: skip
        with listening(Starlette(routes=routes)) as self.issuer:
            yield self.issuer

    async def _metadata(self, _: Request) -> JSONResponse:
        base = {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys"}
        ends = {
            f"{name}_endpoint": f"{self.issuer}/{path}"
            for name, path in (("authorization", "authorize"), ("token", "token"))
        }
        return JSONResponse({**base, **ends, "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"]})

    async def _keys(self, request: Request) -> JSONResponse:
        self.asked.append(request.url.path)
        jwk = jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        return JSONResponse({"keys": [{**jwk, "kid": "one", "use": "sig", "alg": "RS256"}]})

    async def _authorize(self, request: Request) -> RedirectResponse:
        self._nonce = request.query_params["nonce"]
        back = f"{request.query_params['redirect_uri']}?code=abc&state={request.query_params['state']}"
        return RedirectResponse(back, 302)

    async def _token(self, _: Request) -> JSONResponse:
        claims = {"nonce": self._nonce, "aud": "wayfare", "email": "ann@example.org", "groups": ["ops"], **self.said}
        token = self.token(typ="JWT", **claims)
        return JSONResponse({"access_token": "opaque", "token_type": "Bearer", "expires_in": 60, "id_token": token})
