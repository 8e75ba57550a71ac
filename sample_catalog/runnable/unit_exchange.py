"""Units of measure, and currencies at rates that never change."""

from typing import Annotated, Literal, get_args

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from sample_catalog.runnable._common import READS, serve
from sample_catalog.runnable._units import PER_EURO, RATES_DATE, SYMBOLS, TEMPERATURES, UNITS

Dimension = Literal["length", "mass", "volume", "area", "speed", "time", "energy", "pressure", "data", "temperature"]
Currency = Literal[
    "EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "SEK", "NOK", "DKK", "PLN", "CZK", "CAD", "AUD", "NZD", "BRL",
    "MXN", "ZAR", "KRW", "SGD", "TRY",
]  # fmt: skip
Number = Annotated[float, Field(description="Amount", ge=-1e15, le=1e15)]
Unit = Annotated[str, Field(description="Unit by name or symbol, for example mile, km, us_cup, celsius")]
Code = Annotated[Currency, Field(description="Currency by its ISO 4217 code")]

server = MCPServer(
    "unit-exchange",
    title="Unit exchange",
    description=f"Convert units of measure and currencies. Exchange rates are fixed sample rates of {RATES_DATE}.",
    instructions=f"Currency figures use rounded rates of {RATES_DATE}; they are for demonstration, not for trading.",
    version="1.1.0",
    log_level="WARNING",
)


class Converted(BaseModel):
    """An amount in another unit."""

    value: float
    unit: str


class Exchanged(BaseModel):
    """An amount in another currency."""

    amount: float
    currency: str
    rate: float
    rates_of: str


class Quantity(BaseModel):
    """An amount with its unit."""

    value: float = Field(description="Amount", ge=-1e15, le=1e15)
    unit: str = Field(description="Unit by name or symbol")


def _unit(name: str) -> tuple[str, str]:
    """Dimension and full name of a unit."""
    plain = name.strip().lower().replace(" ", "_")
    singular = plain.removesuffix("s")
    for full in (plain, SYMBOLS.get(plain), singular, SYMBOLS.get(singular)):
        if full in TEMPERATURES:
            return "temperature", full
        for dimension, units in UNITS.items():
            if full in units:
                return dimension, full
    raise ToolError(f"unknown unit {name!r}; list_units shows the known ones")


def _base(value: float, unit: str) -> tuple[str, float]:
    """Dimension and amount in the base unit of the dimension."""
    dimension, full = _unit(unit)
    if dimension == "temperature":
        offset, factor = TEMPERATURES[full]
        return dimension, (value + offset) * factor
    return dimension, value * UNITS[dimension][full]


def _convert(value: float, source: str, target: str) -> Converted:
    dimension, base = _base(value, source)
    other, full = _unit(target)
    if other != dimension:
        raise ToolError(f"{source!r} measures {dimension}, {target!r} measures {other}")
    if dimension == "temperature":
        offset, factor = TEMPERATURES[full]
        return Converted(value=round(base / factor - offset, 10), unit=full)
    return Converted(value=float(f"{base / UNITS[dimension][full]:.12g}"), unit=full)


@server.tool(title="Convert units", annotations=READS)
def convert_units(
    value: Number,
    source: Annotated[Unit, Field(description="Unit that the amount has, for example mile, km, lb")],
    target: Annotated[Unit, Field(description="Unit to convert to")],
) -> Converted:
    """Convert an amount between units of length, mass, volume, area, speed, time, energy, pressure or data size."""
    return _convert(value, source, target)


@server.tool(title="Convert temperature", annotations=READS)
def convert_temperature(
    value: Annotated[float, Field(description="Degrees", ge=-1e6, le=1e6)],
    source: Annotated[Literal["celsius", "fahrenheit", "kelvin"], Field(description="Scale of the reading")],
    target: Annotated[Literal["celsius", "fahrenheit", "kelvin"], Field(description="Scale wanted")],
) -> Converted:
    """Convert a temperature between Celsius, Fahrenheit and Kelvin; below absolute zero is refused."""
    if _base(value, source)[1] < 0:
        raise ToolError("that is below absolute zero")
    return _convert(value, source, target)


@server.tool(title="Largest first", annotations=READS)
def compare_quantities(
    quantities: Annotated[list[Quantity], Field(description="Amounts of one dimension", min_length=2, max_length=50)],
) -> list[Quantity]:
    """Sort amounts given in different units of one dimension from largest to smallest."""
    bases = [_base(quantity.value, quantity.unit) for quantity in quantities]
    if len({dimension for dimension, _ in bases}) != 1:
        raise ToolError("these amounts do not measure the same thing")
    order = sorted(range(len(bases)), key=lambda index: -bases[index][1])
    return [quantities[index] for index in order]


@server.tool(title="Known units", annotations=READS)
def list_units(
    dimension: Annotated[Dimension, Field(description="What the units measure")],
) -> list[str]:
    """List the units that are known for a dimension."""
    return sorted(TEMPERATURES if dimension == "temperature" else UNITS[dimension])


@server.tool(title="Convert money", annotations=READS)
def convert_currency(
    amount: Annotated[float, Field(description="Sum of money", ge=0, le=1e12)], source: Code, target: Code
) -> Exchanged:
    """Convert a sum of money between currencies at fixed sample rates."""
    rate = PER_EURO[target] / PER_EURO[source]
    return Exchanged(amount=round(amount * rate, 2), currency=target, rate=round(rate, 6), rates_of=RATES_DATE)


@server.tool(title="Exchange rates", annotations=READS)
def exchange_rates(base: Code = "EUR") -> dict[str, float]:
    """Show what one unit of a currency is worth in every other one, at fixed sample rates."""
    return {code: round(PER_EURO[code] / PER_EURO[base], 6) for code in get_args(Currency) if code != base}


@server.tool(title="Scale a recipe", annotations=READS)
def scale_amounts(
    amounts: Annotated[dict[str, Quantity], Field(description="Ingredients with their amounts", min_length=1)],
    factor: Annotated[float, Field(description="Multiply by this, for example 1.5", gt=0, le=1000)],
    metric: Annotated[bool, Field(description="Give grams and millilitres where possible")] = False,
) -> dict[str, Quantity]:
    """Multiply the ingredients of a recipe and, on request, turn them into metric units."""
    scaled = {}
    for name, amount in amounts.items():
        value, unit = amount.value * factor, amount.unit
        if metric and (small := {"mass": "gram", "volume": "millilitre"}.get(_unit(unit)[0])):
            converted = _convert(value, unit, small)
            value, unit = converted.value, converted.unit
        scaled[name] = Quantity(value=round(value, 2), unit=unit)
    return scaled


if __name__ == "__main__":
    serve(server)
