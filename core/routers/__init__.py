"""Routing algorithms, one a file. A new one is a new file and one line in `ROUTERS`."""

from core.routers.base import Router
from core.routers.ehrr import Ehrr

ROUTERS: dict[str, type[Router]] = {router.id: router for router in (Ehrr,)}
