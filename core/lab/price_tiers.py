"""Prices by EHRR's two tiers (its section V), for catalogs in which nobody priced the tools.

Low tier, local computation and look-up: U(0, 0.0025) USD. High tier, web search, geospatial grounding and model calls:
N(0.0225, 0.005^2) USD, cut at 0. Drawn for each tool by its name and the seed, so that another tool changes nothing.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import replace

import numpy as np

from core.domain.catalog import Catalog, Server, Tool

LOW_USD, HIGH_USD, HIGH_DEVIATION_USD = 0.0025, 0.0225, 0.005
HIGH_TIER = re.compile(
    r"\b(web|internet|online|browse\w*|crawl\w*|scrap\w+|google|bing|duckduckgo|tavily|news|"
    r"geocod\w*|geo\w*|map|maps|route\w*|directions?|navigation|places?|satellite|weather|"
    r"generat\w*|summar\w*|translat\w*|transcri\w*|synthes\w*|llm|gpt|model|models|ai|speech|image|images|video|embedding\w*)\b",
    re.IGNORECASE,
)


def is_high_tier(tool: Tool) -> bool:
    """Whether a tool belongs to the dear tier: what it declares, else what its name and description speak of.

    >>> is_high_tier(Tool("maps", "find_route", "Directions between two places."))
    True
    >>> is_high_tier(Tool("text", "count_words", "Counts words."))
    False
    """
    if tool.tier:
        return tool.tier == "high"
    return bool(HIGH_TIER.search(f"{tool.server} {tool.name} {tool.description}".replace("_", " ").replace("-", " ")))


def drawn_price_usd(tool: Tool, seed: int) -> float:
    """A price per call from the tool's tier; the same for the same tool and seed."""
    rng = np.random.default_rng([seed, zlib.crc32(tool.id.encode())])
    if is_high_tier(tool):
        return max(0.0, float(rng.normal(HIGH_USD, HIGH_DEVIATION_USD)))
    return float(rng.uniform(0.0, LOW_USD))


def priced_by_tiers(catalog: Catalog, *, name: str, seed: int = 0) -> Catalog:
    """A catalog with every tool priced by its tier; servers ask the median of their tools' prices, as undeclared ones do."""
    return Catalog(name, tuple(_priced(server, seed) for server in catalog.servers))


def _priced(server: Server, seed: int) -> Server:
    tools = tuple(replace(tool, price_usd=drawn_price_usd(tool, seed)) for tool in server.tools)
    return replace(server, tools=tools, ask_usd=None)
