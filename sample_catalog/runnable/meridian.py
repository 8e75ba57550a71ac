"""Dates, clocks and time zones."""

import calendar
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from sample_catalog.runnable._common import READS, city, great_circle_km, serve

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

Zone = Annotated[str, Field(description="IANA time zone, for example Europe/Lisbon, or UTC")]
Day = Annotated[date, Field(description="Date as YYYY-MM-DD")]
Moment = Annotated[datetime, Field(description="Date and time in ISO 8601, for example 2025-03-30T09:15")]

server = MCPServer(
    "Meridian",
    title="Meridian",
    description="Clocks and calendars: time zones, date arithmetic, working days, meeting hours.",
    instructions="Dates are ISO 8601, zones are IANA names such as America/New_York.",
    version="3.0.0",
    log_level="WARNING",
)


class LocalTime(BaseModel):
    """A moment on the wall clock of a zone."""

    time: str
    zone: str
    utc_offset: str
    weekday: str


class DayFacts(BaseModel):
    """What the calendar says about a day."""

    weekday: str
    iso_week: str
    day_of_year: int
    days_left_in_year: int
    quarter: int
    leap_year: bool


class Span(BaseModel):
    """The time between two dates."""

    days: int
    weeks_and_days: str
    working_days: int = Field(description="Monday to Friday after the first day, up to and with the last, no holidays")


class CityGap(BaseModel):
    """How far two cities are apart in space and on the clock."""

    distance_km: float
    hours_ahead: float = Field(description="How far the second city's clock is ahead of the first's")


def _zone(name: str) -> ZoneInfo:
    if name not in available_timezones():
        raise ToolError(f"unknown time zone {name!r}; use an IANA name such as Europe/Paris")
    return ZoneInfo(name)


def _at(moment: datetime, zone: ZoneInfo) -> datetime:
    try:
        return moment.astimezone(zone)
    except OverflowError as error:
        raise ToolError("that moment is outside the calendar") from error


def _local(moment: datetime, zone: str) -> LocalTime:
    local = _at(moment, _zone(zone))
    offset = local.strftime("%z")
    return LocalTime(
        time=local.replace(tzinfo=None).isoformat(timespec="seconds"),
        zone=zone,
        utc_offset=f"{offset[:3]}:{offset[3:5]}",
        weekday=WEEKDAYS[local.weekday()],
    )


def _working_days(first: date, last: date, holidays: set[date]) -> int:
    """Monday to Friday after `first` up to and with `last`."""
    weeks, rest = divmod((last - first).days, 7)
    tail = sum((first + timedelta(days=weeks * 7 + step)).weekday() < 5 for step in range(1, rest + 1))
    return weeks * 5 + tail - sum(first < day <= last and day.weekday() < 5 for day in holidays)


@server.tool(title="Current time", annotations=READS)
def current_time(zone: Zone = "UTC") -> LocalTime:
    """Tell the date and time right now in a time zone."""
    return _local(datetime.now(UTC), zone)


@server.tool(title="Convert between time zones", annotations=READS)
def convert_time_zone(
    moment: Moment,
    source: Annotated[str, Field(description="Zone in which the time is given; ignored when it carries an offset")],
    target: Annotated[str, Field(description="Zone to convert to")],
) -> LocalTime:
    """Convert a date and time from one time zone to another, with daylight saving."""
    return _local(moment if moment.tzinfo else moment.replace(tzinfo=_zone(source)), target)


@server.tool(title="Shift a date", annotations=READS)
def shift_date(
    day: Day,
    years: Annotated[int, Field(description="Years to add; negative to go back", ge=-2000, le=2000)] = 0,
    months: Annotated[int, Field(description="Months to add", ge=-24000, le=24000)] = 0,
    weeks: Annotated[int, Field(description="Weeks to add", ge=-50000, le=50000)] = 0,
    days: Annotated[int, Field(description="Days to add", ge=-400000, le=400000)] = 0,
) -> str:
    """Add years, months, weeks and days to a date; the 31st becomes the last day of a shorter month."""
    year, month = divmod(day.year * 12 + day.month - 1 + years * 12 + months, 12)
    if not 1 <= year <= 9999:
        raise ToolError("that is outside the calendar (years 1 to 9999)")
    moved = date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))
    try:
        return (moved + timedelta(weeks=weeks, days=days)).isoformat()
    except OverflowError as error:
        raise ToolError("that is outside the calendar (years 1 to 9999)") from error


@server.tool(title="Days between dates", annotations=READS)
def days_between(
    first: Annotated[date, Field(description="Earlier date, YYYY-MM-DD")],
    last: Annotated[date, Field(description="Later date, YYYY-MM-DD")],
    holidays: Annotated[Sequence[date], Field(description="Days off that are no working days", max_length=400)] = (),
) -> Span:
    """Count the days, weeks and working days from one date to another."""
    if last < first:
        raise ToolError("the second date is before the first")
    days = (last - first).days
    return Span(
        days=days, weeks_and_days=f"{days // 7} w {days % 7} d", working_days=_working_days(first, last, set(holidays))
    )


@server.tool(title="Add working days", annotations=READS)
def add_working_days(
    day: Day,
    count: Annotated[int, Field(description="Working days to add", ge=1, le=2000)],
    holidays: Annotated[Sequence[date], Field(description="Days off to skip", max_length=400)] = (),
) -> str:
    """Find the date a number of working days (Monday to Friday) after a day."""
    days_off = set(holidays)
    try:
        while count:
            day += timedelta(days=1)
            count -= day.weekday() < 5 and day not in days_off
    except OverflowError as error:
        raise ToolError("that is outside the calendar") from error
    return day.isoformat()


@server.tool(title="Facts about a day", annotations=READS)
def day_facts(day: Day) -> DayFacts:
    """Tell the weekday, ISO week, day of the year and quarter of a date and whether its year is a leap year."""
    year, week, _ = day.isocalendar()
    number, length = day.timetuple().tm_yday, 365 + calendar.isleap(day.year)
    return DayFacts(
        weekday=WEEKDAYS[day.weekday()],
        iso_week=f"{year}-W{week:02}",
        day_of_year=number,
        days_left_in_year=length - number,
        quarter=(day.month + 2) // 3,
        leap_year=length == 366,
    )


@server.tool(title="Month calendar", annotations=READS)
def month_calendar(
    year: Annotated[int, Field(description="Year", ge=1, le=9999)],
    month: Annotated[int, Field(description="Month, 1 to 12", ge=1, le=12)],
) -> str:
    """Print the calendar of one month as text, weeks beginning on Monday."""
    return calendar.TextCalendar().formatmonth(year, month)


@server.tool(title="Unix time", annotations=READS)
def unix_time(
    value: Annotated[str, Field(description="Seconds since 1970, or an ISO 8601 date and time")],
) -> str:
    """Epoch <-> ISO."""
    try:
        if value.strip().lstrip("-").replace(".", "", 1).isdecimal():
            return datetime.fromtimestamp(float(value), UTC).isoformat()
        moment = datetime.fromisoformat(value)
        return f"{(moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp():.0f}"
    except (ValueError, OverflowError, OSError) as error:
        raise ToolError(f"{value!r} is neither seconds nor a date and time") from error


@server.tool(title="Meeting hours", annotations=READS)
def find_meeting_hours(
    day: Day,
    zones: Annotated[list[str], Field(description="IANA zones of the people who meet", min_length=1, max_length=20)],
    opens: Annotated[int, Field(description="Hour from which people are available", ge=0, le=23)] = 9,
    closes: Annotated[int, Field(description="Hour until which people are available", ge=1, le=24)] = 17,
) -> list[dict[str, str]]:
    """Find the hours of a day (UTC) at which it is working time in every one of several time zones."""
    clocks = {zone: _zone(zone) for zone in zones}
    start, found = datetime(day.year, day.month, day.day, tzinfo=UTC), []
    for hour in range(24):
        begins = start + timedelta(hours=hour)
        local = {name: _at(begins, clock) for name, clock in clocks.items()}
        if all(opens <= clock.hour + clock.minute / 60 <= closes - 1 for clock in local.values()):
            found.append({"UTC": f"{begins:%H:%M}"} | {name: f"{clock:%H:%M}" for name, clock in local.items()})
    return found


@server.tool(title="Time and distance between cities", annotations=READS)
def city_gap(
    first: Annotated[str, Field(description="City in English, for example Lisbon")],
    second: Annotated[str, Field(description="Other city")],
    day: Annotated[date | Literal["today"], Field(description="Day for which the clocks are compared")] = "today",
) -> CityGap:
    """Tell how many hours and how many kilometres lie between two cities."""
    a, b = city(first), city(second)
    noon = datetime.combine(datetime.now(UTC).date() if day == "today" else day, time(12), UTC)
    clocks = [_at(noon, _zone(place.time_zone)).replace(tzinfo=None) for place in (a, b)]
    distance = great_circle_km(a.latitude, a.longitude, b.latitude, b.longitude)
    return CityGap(distance_km=round(distance, 1), hours_ahead=(clocks[1] - clocks[0]) / timedelta(hours=1))


if __name__ == "__main__":
    serve(server)
