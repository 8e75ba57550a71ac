"""Sign-in to the pages at an identity provider: OpenID Connect by Authlib, the code flow with state, nonce and PKCE.

What has to be remembered on the way is in a signed cookie of the browser that began.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from authlib.common.errors import AuthlibBaseError
from authlib.integrations.starlette_client import OAuth
from httpx2 import HTTPError
from joserfc.errors import JoseError
from starlette.requests import Request
from starlette.responses import Response

from core.domain.errors import WayfareError
from core.domain.settings import Oidc
from core.domain.untrusted_text import one_line
from core.gateway.access_tokens import ALGORITHMS

TIMEOUT_S, LEEWAY_S = 10.0, 30
NEXT = "next"
_log = logging.getLogger(__name__)


@lru_cache(maxsize=4)
def _client(oidc: Oidc) -> Any:
    """Returns Authlib's client of a provider, which keeps the metadata and keys that it has read."""
    public = {} if oidc.client_secret else {"token_endpoint_auth_method": "none"}
    kwargs = {"scope": oidc.scopes, "code_challenge_method": "S256", "timeout": TIMEOUT_S, **public}
    return OAuth().register(
        "wayfare", client_id=oidc.client_id, client_secret=oidc.client_secret or None, server_metadata_url=oidc.metadata_url,
        client_kwargs=kwargs,
    )  # fmt: skip


async def leave(oidc: Oidc, request: Request, callback: str, target: str) -> Response:
    """Returns the redirect to the provider, which sends the browser back to `callback`. Raises WayfareError."""
    try:
        request.session[NEXT] = target
        return await _client(oidc).authorize_redirect(request, callback)
    except (HTTPError, ValueError, KeyError, RuntimeError) as error:
        raise WayfareError(f"The identity provider cannot be reached: {type(error).__name__}.") from None


async def came_back(oidc: Oidc, request: Request) -> tuple[Mapping[str, Any], str]:
    """Returns the verified claims of the person, and where to go on. Raises WayfareError."""
    client, algorithms = _client(oidc), "id_token_signing_alg_values_supported"
    claims = {
        name: {"essential": True, "value": value} for name, value in (("iss", oidc.issuer), ("aud", oidc.client_id))
    }
    try:
        metadata = await client.load_server_metadata()
        metadata[algorithms] = [one for one in metadata.get(algorithms, ()) if one in ALGORITHMS]
        token = await client.authorize_access_token(request, claims_options=claims, leeway=LEEWAY_S)
        return token["userinfo"], request.session.pop(NEXT, "/")
    except (AuthlibBaseError, JoseError, HTTPError, ValueError, KeyError, RuntimeError) as error:
        _log.warning("a sign-in at the identity provider failed: %s", one_line(str(error), 300))
        raise WayfareError(f"The identity provider did not sign you in ({type(error).__name__}).") from None
