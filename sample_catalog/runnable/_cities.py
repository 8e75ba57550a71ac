"""The shipped table of cities, and distances on a round Earth."""

import csv
from functools import cache
from math import asin, cos, radians, sin, sqrt
from pathlib import Path
from typing import NamedTuple

from mcp.server.mcpserver.exceptions import ToolError

EARTH_RADIUS_KM = 6371.0088


class City(NamedTuple):
    """One row of the table."""

    name: str
    country: str
    latitude: float
    longitude: float
    time_zone: str


@cache
def cities() -> tuple[City, ...]:
    """Returns all cities in order of name."""
    with (Path(__file__).parent / "data" / "cities.csv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        return tuple(
            City(row["name"], row["country"], float(row["latitude"]), float(row["longitude"]), row["time_zone"])
            for row in rows
        )


def city(name: str) -> City:
    """Returns the city with this name, in any letter case. Raises ToolError if the table does not have it."""
    wanted = name.strip().casefold()
    for row in cities():
        if row.name.casefold() == wanted:
            return row
    raise ToolError(f"{name!r} is not among the {len(cities())} known cities")


def great_circle_km(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    """Returns the haversine distance in kilometres between two places in degrees.

    >>> round(great_circle_km(0, 0, 0, 180))
    20015
    """
    phi1, phi2, dphi, dlam = radians(lat1), radians(lat2), radians(lat2 - lat1), radians(lon2 - lon1)
    h = sin(dphi / 2) ** 2 + cos(phi1) * cos(phi2) * sin(dlam / 2) ** 2
    return 2 * EARTH_RADIUS_KM * asin(min(1.0, sqrt(h)))
