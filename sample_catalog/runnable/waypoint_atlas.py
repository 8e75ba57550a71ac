"""Places on the globe and figures in the plane."""

from itertools import pairwise
from math import acos, asin, atan2, cos, degrees, hypot, pi, radians, sin, sqrt
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from sample_catalog.runnable._common import EARTH_RADIUS_KM, READS, City, cities, city, great_circle_km, serve

COMPASS = ("N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE", "S", "SSW", "SW", "WSW", "W", "WNW", "NW", "NNW")

server = MCPServer(
    "waypoint-atlas",
    title="Waypoint atlas",
    description="Geographic distances, bearings, nearest cities and areas on the globe, and plane geometry.",
    instructions="Coordinates are decimal degrees. The Earth is taken as a sphere: distances are right to about 0.5 %.",
    version="1.2.1",
    log_level="WARNING",
)


class Place(BaseModel):
    """A place on the globe."""

    latitude: float = Field(description="Degrees north, negative for south", ge=-90, le=90)
    longitude: float = Field(description="Degrees east, negative for west", ge=-180, le=180)


class NearCity(BaseModel):
    """A city and how far away it is."""

    name: str
    country: str
    distance_km: float


class Bearing(BaseModel):
    """A direction."""

    degrees: float
    compass: str


class Triangle(BaseModel):
    """A triangle in the plane."""

    angles_degrees: list[float]
    area: float
    perimeter: float


class CityFacts(BaseModel):
    """What the table knows about a city."""

    name: str
    country: str
    latitude: float
    longitude: float
    time_zone: str


Start = Annotated[Place, Field(description="Where to start")]
End = Annotated[Place, Field(description="Where to arrive")]
Outline = Annotated[list[Place], Field(description="Corners in order, three or more", min_length=3, max_length=5_000)]
Coordinate = Annotated[float, Field(ge=-1e9, le=1e9)]
Point = Annotated[list[Coordinate], Field(min_length=2, max_length=2)]


def _km(a: Place | City, b: Place | City) -> float:
    return great_circle_km(a.latitude, a.longitude, b.latitude, b.longitude)


@server.tool(title="Distance between places", annotations=READS)
def distance_between_places(start: Start, end: End) -> float:
    """Compute the great-circle distance in kilometres between two coordinates."""
    return round(_km(start, end), 3)


@server.tool(title="Distance between cities", annotations=READS)
def distance_between_cities(
    start: Annotated[str, Field(description="City in English, for example Vienna")],
    end: Annotated[str, Field(description="Other city")],
) -> float:
    """Compute the distance in kilometres, as the crow flies, between two known cities."""
    return round(_km(city(start), city(end)), 1)


@server.tool(title="Look up a city", annotations=READS)
def find_city(name: Annotated[str, Field(description="Name or beginning of a name", min_length=1)]) -> list[CityFacts]:
    """Look up the coordinates, country and time zone of a city."""
    found = [row for row in cities() if row.name.casefold().startswith(name.strip().casefold())]
    return [CityFacts(**row._asdict()) for row in found]


@server.tool(title="Nearest cities", annotations=READS)
def nearest_cities(
    place: Annotated[Place, Field(description="Where to look from")],
    count: Annotated[int, Field(description="How many cities", ge=1, le=20)] = 3,
    within_km: Annotated[float, Field(description="Only cities at most this far away", gt=0)] = 20_038,
) -> list[NearCity]:
    """Find the known cities that are closest to a coordinate."""
    ranked = sorted((_km(place, row), row) for row in cities())
    near = [NearCity(name=row.name, country=row.country, distance_km=round(km, 1)) for km, row in ranked]
    return [found for found in near[:count] if found.distance_km <= within_km]


@server.tool(title="Bearing", annotations=READS)
def bearing_between(start: Start, end: End) -> Bearing:
    """Tell in which compass direction to set out from one coordinate to reach another."""
    a, b, turn = radians(start.latitude), radians(end.latitude), radians(end.longitude - start.longitude)
    angle = degrees(atan2(sin(turn) * cos(b), cos(a) * sin(b) - sin(a) * cos(b) * cos(turn))) % 360
    return Bearing(degrees=round(angle, 2) % 360, compass=COMPASS[round(angle / 22.5) % 16])


@server.tool(title="Destination", annotations=READS)
def destination_point(
    start: Start,
    bearing_degrees: Annotated[float, Field(description="Direction, clockwise from north", ge=0, lt=360)],
    distance_km: Annotated[float, Field(description="How far to go", ge=0, le=20_038)],
) -> Place:
    """Find the coordinate reached by going some distance in a direction."""
    a, way, arc = radians(start.latitude), radians(bearing_degrees), distance_km / EARTH_RADIUS_KM
    b = asin(max(-1.0, min(1.0, sin(a) * cos(arc) + cos(a) * sin(arc) * cos(way))))
    turn = atan2(sin(way) * sin(arc) * cos(a), cos(arc) - sin(a) * sin(b))
    longitude = (start.longitude + degrees(turn) + 180) % 360 - 180
    return Place(latitude=round(degrees(b), 6), longitude=round(longitude, 6))


@server.tool(title="Route length", annotations=READS)
def route_length(
    stops: Annotated[list[Place], Field(description="Stops in order", min_length=2, max_length=5_000)],
    back_to_start: Annotated[bool, Field(description="Return to the first stop at the end")] = False,
) -> float:
    """Add up the kilometres along a route of several coordinates."""
    return round(sum(_km(a, b) for a, b in pairwise([*stops, stops[0]] if back_to_start else stops)), 3)


@server.tool(title="Area on the globe", annotations=READS)
def area_on_globe(corners: Outline) -> float:
    """Compute the area in square kilometres that a line around coordinates encloses."""
    total = 0.0
    for a, b in pairwise([*corners, corners[0]]):
        turn = (b.longitude - a.longitude + 180) % 360 - 180
        total += radians(turn) * (2 + sin(radians(a.latitude)) + sin(radians(b.latitude)))
    area = abs(total) * EARTH_RADIUS_KM**2 / 2
    return round(min(area, 4 * pi * EARTH_RADIUS_KM**2 - area), 3)


@server.tool(title="Point in area", annotations=READS)
def is_inside_area(place: Annotated[Place, Field(description="Place to test")], corners: Outline) -> bool:
    """Tell whether a coordinate lies inside an outline that does not cross the date line."""
    inside = False
    for a, b in pairwise([*corners, corners[0]]):
        if (a.latitude > place.latitude) != (b.latitude > place.latitude):
            share = (place.latitude - a.latitude) / (b.latitude - a.latitude)
            inside ^= place.longitude < a.longitude + share * (b.longitude - a.longitude)
    return inside


@server.tool(title="Triangle from sides", annotations=READS)
def triangle_from_sides(
    sides: Annotated[
        list[Annotated[float, Field(ge=1e-9, le=1e9)]],
        Field(description="Lengths of the three sides", min_length=3, max_length=3),
    ],
) -> Triangle:
    """Solve a triangle: angles, area and perimeter from its three sides."""
    a, b, c = sides
    if max(sides) >= sum(sides) / 2:
        raise ToolError("no triangle has these sides: one is as long as the others together")
    cosines = [(y * y + z * z - x * x) / (2 * y * z) for x, y, z in ((a, b, c), (b, c, a), (c, a, b))]
    half = (a + b + c) / 2
    return Triangle(
        angles_degrees=[round(degrees(acos(max(-1.0, min(1.0, value)))), 6) for value in cosines],
        area=round(sqrt(max(0.0, half * (half - a) * (half - b) * (half - c))), 6),
        perimeter=2 * half,
    )


@server.tool(title="Distance in the plane", annotations=READS)
def plane_distance(
    first: Annotated[Point, Field(description="One point as [x, y]")],
    second: Annotated[Point, Field(description="Other point as [x, y]")],
) -> float:
    """Compute the straight-line distance between two points of the plane."""
    return hypot(first[0] - second[0], first[1] - second[1])


@server.tool(title="Polygon in the plane", annotations=READS)
def polygon_area(
    points: Annotated[list[Point], Field(description="Corners as [x, y], in order", min_length=3, max_length=10_000)],
) -> dict[str, float]:
    """Compute the area and perimeter of a polygon in the plane."""
    sides = list(pairwise([*points, points[0]]))
    doubled = sum(a[0] * b[1] - b[0] * a[1] for a, b in sides)
    return {"area": abs(doubled) / 2, "perimeter": sum(hypot(b[0] - a[0], b[1] - a[1]) for a, b in sides)}


if __name__ == "__main__":
    serve(server)
