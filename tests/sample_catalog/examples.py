"""One call with a known outcome for every tool of every sample server."""

from .checks import E, chart, embeds, every_kind, fails, gives, has, near, rows, says, whole
from .examples_of_data import OF_DATA

NOTE = ("create_note", {"title": "Bicycle", "body": "ask Mara", "tags": ["Errand", "mara"]})
OTHER_NOTE = ("create_note", {"title": "Tomatoes", "body": "plant in April", "tags": ["garden"]})
PARIS, LONDON = {"latitude": 48.857, "longitude": 2.352}, {"latitude": 51.507, "longitude": -0.128}
SMALL = {"size": "small"}
SQUARE = [{"latitude": 0, "longitude": 0}, {"latitude": 0, "longitude": 1},
          {"latitude": 1, "longitude": 1}, {"latitude": 1, "longitude": 0}]  # fmt: skip
NO_RESULT = E({}, None)
"""For tools whose call ends without a result: they have tests of their own, over stdio."""

EXAMPLES: dict[str, E] = OF_DATA | {
    # units and money
    "unit-exchange::convert_units": E(
        {"value": 300, "source": "miles", "target": "km"}, whole({"value": 482.8032, "unit": "kilometre"})
    ),
    "unit-exchange::compare_quantities": E(
        {"quantities": [{"value": 1, "unit": "kg"}, {"value": 3, "unit": "lb"}, {"value": 20, "unit": "oz"}]},
        rows(unit=["lb", "kg", "oz"]),
    ),
    "unit-exchange::convert_currency": E(
        {"amount": 100, "source": "EUR", "target": "USD"},
        whole({"amount": 103.0, "currency": "USD", "rate": 1.03, "rates_of": "2025-01-15"}),
    ),
    # dates
    "Meridian::convert_time_zone": E(
        {"moment": "2025-07-01T09:00", "source": "America/New_York", "target": "Europe/Paris"},
        whole({"time": "2025-07-01T15:00:00", "zone": "Europe/Paris", "utc_offset": "+02:00", "weekday": "Tuesday"}),
    ),
    "Meridian::days_between": E(
        {"first": "2025-01-01", "last": "2025-01-15", "holidays": ["2025-01-06"]},
        whole({"days": 14, "weeks_and_days": "2 w 0 d", "working_days": 9}),
    ),
    "Meridian::find_meeting_hours": E(
        {"day": "2025-01-15", "zones": ["Europe/London", "America/New_York"]},
        rows(UTC=["14:00", "15:00", "16:00"], **{"America/New_York": ["09:00", "10:00", "11:00"]}),
    ),
    "Meridian::city_gap": E(
        {"first": "London", "second": "Tokyo", "day": "2025-01-15"},
        lambda r: r.structured_content["hours_ahead"] == 9 and abs(r.structured_content["distance_km"] - 9559) < 15,
    ),
    # statistics
    "statistics-lab::describe_numbers": E(
        {"numbers": [2, 4, 4, 6]},
        has(count=4, total=16, mean=4, median=4, minimum=2, maximum=6, quartiles=[3.5, 4, 4.5], modes=[4]),
    ),
    "statistics-lab::fit_line": E(
        {"x": [0, 1, 2], "y": [1, 3, 5], "predict_at": 10}, has(slope=2, intercept=1, r_squared=1, prediction=21)
    ),
    "statistics-lab::compare_samples": E(
        {"first": [1, 2, 3, 4], "second": [11, 12, 13, 14]},
        lambda r: r.structured_content["mean_difference"] == -10 and 0.01 < r.structured_content["p_value"] < 0.06,
    ),
    "statistics-lab::confidence_interval": E(
        {"numbers": [8, 10, 12]}, lambda r: abs(r.structured_content["high"] - 10 - 1.959964 * 2 / 3**0.5) < 1e-5
    ),
    # charts
    "Plotwright::line_chart": E(
        {"series": [{"name": "a$b", "values": [1, 3, 2]}], "x": ["Mon", "Tue", "Wed"], "title": "Costs in $", **SMALL},
        chart("line chart of a$b"),
    ),
    "Plotwright::bar_chart": E(
        {"labels": ["x", "y"], "values": [1, 2], "size": "medium"}, chart("bar chart of 2 values, largest: y", 700, 450)
    ),
    # QR codes
    "qr-press::qr_svg": E({"content": "hello"}, embeds("image/svg+xml", "<svg", "</svg>")),
    # seals and codes
    "Sealwax::hmac_sign": E(
        {"text": "The quick brown fox jumps over the lazy dog", "key": "key"},
        gives("f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8"),
    ),
    "Sealwax::decode": E({"text": "aGVsbG8", "encoding": "base64url"}, gives("hello")),
    # notes
    "Marginalia::create_note": E(dict(NOTE[1]), has(id=1, title="Bicycle", tags=["errand", "mara"])),
    "Marginalia::search_notes": E({"words": "april PLANT"}, rows(id=[2]), (NOTE, OTHER_NOTE)),
    "Marginalia::export_notes": E(
        {"tag": "garden"},
        embeds("text/markdown", "# Notes\n\n## Tomatoes\n\n*garden*\n\nplant in April"),
        (NOTE, OTHER_NOTE),
    ),
    # places and figures
    "waypoint-atlas::distance_between_cities": E({"start": "paris", "end": "London"}, near(343.5, 1)),
    "waypoint-atlas::nearest_cities": E(
        {"place": {"latitude": 48, "longitude": 12}, "count": 1}, rows(name=["Munich"])
    ),
    "waypoint-atlas::destination_point": E(
        {"start": {"latitude": 0, "longitude": 179}, "bearing_degrees": 90, "distance_km": 222.390},
        lambda r: abs(r.structured_content["longitude"] + 179) < 1e-4 and abs(r.structured_content["latitude"]) < 1e-6,
    ),
    "waypoint-atlas::area_on_globe": E({"corners": SQUARE}, near(12_363, 10)),
    # trouble
    "gremlin::fail_politely": E({"message": "not today"}, fails("not today")),
    "gremlin::fail_unexpectedly": E({"kind": "lookup"}, fails("Error executing tool fail_unexpectedly")),
    "gremlin::hang": NO_RESULT,
    "gremlin::crash": NO_RESULT,
    "gremlin::report_progress": E({"steps": 2, "pause_s": 0}, gives("2 steps done")),
    "gremlin::odd_text": E({"kind": "control_characters"}, says("\x1b[31m", "\0", "\a")),
    "gremlin::break_promise": NO_RESULT,
    "gremlin::every_content": E({}, every_kind),
}
