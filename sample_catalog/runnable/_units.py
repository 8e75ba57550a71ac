"""Units by dimension, each with its factor to the base unit, and exchange rates fixed on one day."""

UNITS: dict[str, dict[str, float]] = {
    "length": {
        "metre": 1.0, "kilometre": 1e3, "centimetre": 1e-2, "millimetre": 1e-3, "inch": 0.0254, "foot": 0.3048,
        "yard": 0.9144, "mile": 1609.344, "nautical_mile": 1852.0,
    },
    "mass": {
        "kilogram": 1.0, "gram": 1e-3, "milligram": 1e-6, "tonne": 1e3, "pound": 0.45359237, "ounce": 0.028349523125,
        "stone": 6.35029318,
    },
    "volume": {
        "litre": 1.0, "millilitre": 1e-3, "cubic_metre": 1e3, "us_gallon": 3.785411784, "us_pint": 0.473176473,
        "us_cup": 0.2365882365, "us_fluid_ounce": 0.0295735295625, "tablespoon": 0.01478676478125,
        "teaspoon": 0.00492892159375, "imperial_gallon": 4.54609, "imperial_pint": 0.56826125,
    },
    "area": {
        "square_metre": 1.0, "square_kilometre": 1e6, "hectare": 1e4, "acre": 4046.8564224, "square_foot": 0.09290304,
    },
    "speed": {"metre_per_second": 1.0, "kilometre_per_hour": 1 / 3.6, "mile_per_hour": 0.44704, "knot": 1852 / 3600},
    "time": {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0},
    "energy": {
        "joule": 1.0, "kilojoule": 1e3, "kilowatt_hour": 3.6e6, "calorie": 4.184, "kilocalorie": 4184.0,
        "btu": 1055.05585262,
    },
    "pressure": {"pascal": 1.0, "hectopascal": 100.0, "bar": 1e5, "psi": 6894.757293168, "atmosphere": 101325.0},
    "data": {
        "byte": 1.0, "bit": 0.125, "kilobyte": 1e3, "megabyte": 1e6, "gigabyte": 1e9, "terabyte": 1e12,
        "kibibyte": 1024.0, "mebibyte": 1024.0**2, "gibibyte": 1024.0**3,
    },
}  # fmt: skip

# kelvin = (value + offset) * factor
TEMPERATURES = {"celsius": (273.15, 1.0), "fahrenheit": (459.67, 5 / 9), "kelvin": (0.0, 1.0)}

SYMBOLS = {
    "m": "metre", "km": "kilometre", "cm": "centimetre", "mm": "millimetre", "in": "inch", "ft": "foot",
    "yd": "yard", "mi": "mile", "nmi": "nautical_mile", "kg": "kilogram", "g": "gram", "mg": "milligram",
    "t": "tonne", "lb": "pound", "oz": "ounce", "l": "litre", "ml": "millilitre", "gal": "us_gallon",
    "cup": "us_cup", "tbsp": "tablespoon", "tsp": "teaspoon", "ha": "hectare", "km/h": "kilometre_per_hour",
    "kmh": "kilometre_per_hour", "mph": "mile_per_hour", "m/s": "metre_per_second", "kn": "knot", "s": "second",
    "min": "minute", "h": "hour", "j": "joule", "kwh": "kilowatt_hour", "kcal": "kilocalorie", "pa": "pascal",
    "hpa": "hectopascal", "atm": "atmosphere", "kb": "kilobyte", "mb": "megabyte", "gb": "gigabyte",
    "tb": "terabyte", "kib": "kibibyte", "mib": "mebibyte", "gib": "gibibyte", "c": "celsius", "f": "fahrenheit",
    "k": "kelvin", "meter": "metre", "kilometer": "kilometre", "liter": "litre", "feet": "foot", "inches": "inch",
    "gallon": "us_gallon", "calories": "calorie",
}  # fmt: skip

RATES_DATE = "2025-01-15"
# Units of the currency for one euro: rounded figures for demonstration, not for trading.
PER_EURO = {
    "EUR": 1.0, "USD": 1.03, "GBP": 0.844, "CHF": 0.94, "JPY": 162.0, "CNY": 7.55, "INR": 89.0, "SEK": 11.5,
    "NOK": 11.7, "DKK": 7.46, "PLN": 4.27, "CZK": 25.3, "CAD": 1.48, "AUD": 1.66, "NZD": 1.84, "BRL": 6.2,
    "MXN": 21.1, "ZAR": 19.4, "KRW": 1504.0, "SGD": 1.41, "TRY": 36.6,
}  # fmt: skip
