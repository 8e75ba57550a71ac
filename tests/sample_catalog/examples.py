"""One call with a known outcome for every tool of every sample server."""

from segno import helpers, make_qr

from .checks import E, chart, embeds, every_kind, fails, gives, has, holds, near, plays, rows, says, shows_code, whole
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
    "unit-exchange::convert_temperature": E(
        {"value": 212, "source": "fahrenheit", "target": "celsius"}, has(value=100.0)
    ),
    "unit-exchange::compare_quantities": E(
        {"quantities": [{"value": 1, "unit": "kg"}, {"value": 3, "unit": "lb"}, {"value": 20, "unit": "oz"}]},
        rows(unit=["lb", "kg", "oz"]),
    ),
    "unit-exchange::list_units": E(
        {"dimension": "speed"}, holds(lambda units: {"knot", "mile_per_hour"} <= set(units))
    ),
    "unit-exchange::convert_currency": E(
        {"amount": 100, "source": "EUR", "target": "USD"},
        whole({"amount": 103.0, "currency": "USD", "rate": 1.03, "rates_of": "2025-01-15"}),
    ),
    "unit-exchange::exchange_rates": E({"base": "EUR"}, has(USD=1.03, JPY=162.0)),
    "unit-exchange::scale_amounts": E(
        {"amounts": {"flour": {"value": 1, "unit": "lb"}, "eggs": {"value": 3, "unit": "pieces"}}, "factor": 2},
        whole({"flour": {"value": 2, "unit": "lb"}, "eggs": {"value": 6, "unit": "pieces"}}),
    ),
    # dates
    "Meridian::current_time": E({"zone": "Asia/Tokyo"}, has(zone="Asia/Tokyo", utc_offset="+09:00")),
    "Meridian::convert_time_zone": E(
        {"moment": "2025-07-01T09:00", "source": "America/New_York", "target": "Europe/Paris"},
        whole({"time": "2025-07-01T15:00:00", "zone": "Europe/Paris", "utc_offset": "+02:00", "weekday": "Tuesday"}),
    ),
    "Meridian::shift_date": E({"day": "2024-01-31", "months": 1, "days": 1}, gives("2024-03-01")),
    "Meridian::days_between": E(
        {"first": "2025-01-01", "last": "2025-01-15", "holidays": ["2025-01-06"]},
        whole({"days": 14, "weeks_and_days": "2 w 0 d", "working_days": 9}),
    ),
    "Meridian::add_working_days": E({"day": "2025-01-03", "count": 2, "holidays": ["2025-01-06"]}, gives("2025-01-08")),
    "Meridian::day_facts": E(
        {"day": "2024-12-30"}, has(weekday="Monday", iso_week="2025-W01", day_of_year=365, quarter=4, leap_year=True)
    ),
    "Meridian::month_calendar": E({"year": 2025, "month": 2}, says("February 2025", "24 25 26 27 28")),
    "Meridian::unix_time": E({"value": "2001-09-09T01:46:40"}, gives("1000000000")),
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
    "statistics-lab::percentile": E({"numbers": [10, 20, 30], "percent": 75}, gives(25)),
    "statistics-lab::correlate": E({"x": [1, 2, 3], "y": [1, 4, 90], "method": "spearman"}, gives(1)),
    "statistics-lab::fit_line": E(
        {"x": [0, 1, 2], "y": [1, 3, 5], "predict_at": 10}, has(slope=2, intercept=1, r_squared=1, prediction=21)
    ),
    "statistics-lab::histogram_counts": E(
        {"numbers": [0, 1, 2, 10], "bins": 2}, whole({"edges": [0, 5, 10], "counts": [3, 1]})
    ),
    "statistics-lab::find_outliers": E({"numbers": [10, 11, 12, 11, 10, 99]}, gives([99])),
    "statistics-lab::moving_average": E({"numbers": [1, 2, 6, 7], "window": 2}, gives([1.5, 4, 6.5])),
    "statistics-lab::compare_samples": E(
        {"first": [1, 2, 3, 4], "second": [11, 12, 13, 14]},
        lambda r: r.structured_content["mean_difference"] == -10 and 0.01 < r.structured_content["p_value"] < 0.06,
    ),
    "statistics-lab::confidence_interval": E(
        {"numbers": [8, 10, 12]}, lambda r: abs(r.structured_content["high"] - 10 - 1.959964 * 2 / 3**0.5) < 1e-5
    ),
    "statistics-lab::standardise": E({"numbers": [1, 3]}, gives([-1, 1])),
    "statistics-lab::vector_distance": E({"first": [0, 0], "second": [3, 4]}, gives(5)),
    "statistics-lab::draw_sample": E(
        {"numbers": [1, 2, 3, 4, 5], "size": 3, "seed": 4},
        holds(lambda drawn: len(set(drawn)) == 3 and set(drawn) <= {1, 2, 3, 4, 5}),
    ),
    # charts
    "Plotwright::line_chart": E(
        {"series": [{"name": "a$b", "values": [1, 3, 2]}], "x": ["Mon", "Tue", "Wed"], "title": "Costs in $", **SMALL},
        chart("line chart of a$b"),
    ),
    "Plotwright::bar_chart": E(
        {"labels": ["x", "y"], "values": [1, 2], "size": "medium"}, chart("bar chart of 2 values, largest: y", 700, 450)
    ),
    "Plotwright::scatter_plot": E(
        {"x": [1, 2, 3], "y": [2, 4, 5], "trend_line": True, **SMALL}, chart("scatter plot of 3 points")
    ),
    "Plotwright::histogram": E(
        {"values": [1, 1, 1, 5], "bins": 2, **SMALL}, chart("histogram of 4 values, highest bar: 3")
    ),
    "Plotwright::pie_chart": E(
        {"labels": ["a", "b"], "values": [3, 1], **SMALL}, chart("pie chart of 2 shares, largest: a")
    ),
    "Plotwright::heat_map": E(
        {"rows": [[1, 2], [3, 4]], "row_labels": ["r", "s"], **SMALL}, chart("heat map of 2 x 2 values")
    ),
    "Plotwright::box_plot": E({"groups": [{"name": "g", "values": [1, 2, 3, 9]}], **SMALL}, chart("box plot of g")),
    # QR codes
    "qr-press::qr_png": E(
        {"content": "https://example.org", "correction": "high", "scale": 3, "margin": 2},
        shows_code(make_qr("https://example.org", error="h"), scale=3, margin=2),
    ),
    "qr-press::qr_svg": E({"content": "hello"}, embeds("image/svg+xml", "<svg", "</svg>")),
    "qr-press::qr_text": E(
        {"content": "hi"}, holds(lambda text: len(text.splitlines()) == 25 and "██████████████" in text.splitlines()[2])
    ),
    "qr-press::qr_wifi": E(
        {"network": "guest", "password": "s3cret;x"}, shows_code(helpers.make_wifi("guest", "s3cret;x", "WPA"))
    ),
    "qr-press::qr_contact": E(
        {"name": "Ada Lund", "phone": "+4712345678"}, shows_code(helpers.make_mecard("Ada Lund", phone="+4712345678"))
    ),
    # seals and codes
    "Sealwax::hash_text": E({"text": "abc", "algorithm": "md5"}, gives("900150983cd24fb0d6963f7d28e17f72")),
    "Sealwax::hmac_sign": E(
        {"text": "The quick brown fox jumps over the lazy dog", "key": "key"},
        gives("f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8"),
    ),
    "Sealwax::hmac_verify": E({"text": "hello", "key": "key", "signature": "00"}, gives(False)),
    "Sealwax::crc32": E({"text": "123456789"}, gives("cbf43926")),
    "Sealwax::encode": E({"text": "a b&ü", "encoding": "url"}, gives("a%20b%26%C3%BC")),
    "Sealwax::decode": E({"text": "aGVsbG8", "encoding": "base64url"}, gives("hello")),
    "Sealwax::new_uuid": E({"name": "https://example.org"}, gives(["0d092af3-c9f8-531f-9cc3-9db40a0750ef"])),
    "Sealwax::password_strength": E({"password": "Password123"}, has(verdict="weak")),
    "Sealwax::make_password": E(
        {"length": 12, "symbols": False}, holds(lambda word: len(word) == 12 and word.isalnum() and not word.islower())
    ),
    "Sealwax::morse_code": E({"message": "SOS 73"}, gives("... --- ... / --... ...--")),
    "Sealwax::morse_audio": E({"message": "e"}, plays),
    # notes
    "Marginalia::create_note": E(dict(NOTE[1]), has(id=1, title="Bicycle", tags=["errand", "mara"])),
    "Marginalia::read_note": E({"note_id": 2}, has(id=2, body="plant in April"), (NOTE, OTHER_NOTE)),
    "Marginalia::list_notes": E({}, rows(title=["Tomatoes", "Bicycle"]), (NOTE, OTHER_NOTE)),
    "Marginalia::search_notes": E({"words": "april PLANT"}, rows(id=[2]), (NOTE, OTHER_NOTE)),
    "Marginalia::update_note": E({"note_id": 1, "body": "soon", "append": True}, has(body="ask Mara\nsoon"), (NOTE,)),
    "Marginalia::tag_note": E({"note_id": 1, "add": ["June"], "remove": ["mara"]}, gives(["errand", "june"]), (NOTE,)),
    "Marginalia::delete_note": E({"note_id": 1}, gives("deleted note 1: Bicycle"), (NOTE,)),
    "Marginalia::export_notes": E(
        {"tag": "garden"},
        embeds("text/markdown", "# Notes\n\n## Tomatoes\n\n*garden*\n\nplant in April"),
        (NOTE, OTHER_NOTE),
    ),
    # places and figures
    "waypoint-atlas::distance_between_places": E({"start": PARIS, "end": LONDON}, near(343.5, 1)),
    "waypoint-atlas::distance_between_cities": E({"start": "paris", "end": "London"}, near(343.5, 1)),
    "waypoint-atlas::find_city": E({"name": "Rio"}, rows(name=["Rio de Janeiro"], country=["Brazil"])),
    "waypoint-atlas::nearest_cities": E(
        {"place": {"latitude": 48, "longitude": 12}, "count": 1}, rows(name=["Munich"])
    ),
    "waypoint-atlas::bearing_between": E(
        {"start": {"latitude": 0, "longitude": 0}, "end": {"latitude": 0, "longitude": 9}},
        whole({"degrees": 90.0, "compass": "E"}),
    ),
    "waypoint-atlas::destination_point": E(
        {"start": {"latitude": 0, "longitude": 179}, "bearing_degrees": 90, "distance_km": 222.390},
        lambda r: abs(r.structured_content["longitude"] + 179) < 1e-4 and abs(r.structured_content["latitude"]) < 1e-6,
    ),
    "waypoint-atlas::route_length": E({"stops": [PARIS, LONDON], "back_to_start": True}, near(687, 2)),
    "waypoint-atlas::area_on_globe": E({"corners": SQUARE}, near(12_363, 10)),
    "waypoint-atlas::is_inside_area": E(
        {"place": {"latitude": 0.5, "longitude": 1.5}, "corners": SQUARE}, gives(False)
    ),
    "waypoint-atlas::triangle_from_sides": E(
        {"sides": [3, 4, 5]}, has(area=6.0, perimeter=12.0, angles_degrees=[36.869898, 53.130102, 90.0])
    ),
    "waypoint-atlas::plane_distance": E({"first": [1, 1], "second": [4, 5]}, gives(5)),
    "waypoint-atlas::polygon_area": E({"points": [[0, 0], [4, 0], [4, 3]]}, whole({"area": 6, "perimeter": 12})),
    # trouble
    "gremlin::fail_politely": E({"message": "not today"}, fails("not today")),
    "gremlin::fail_unexpectedly": E({"kind": "lookup"}, fails("Error executing tool fail_unexpectedly")),
    "gremlin::fail_sometimes": E({"probability": 1.0, "seed": 1}, fails("bad luck")),
    "gremlin::hang": NO_RESULT,
    "gremlin::freeze": E({"seconds": 0.01}, gives("frozen for 0.01 s")),
    "gremlin::crash": NO_RESULT,
    "gremlin::answer_slowly": E({"seconds": 0.01}, gives("answered after 0.01 s")),
    "gremlin::report_progress": E({"steps": 2, "pause_s": 0}, gives("2 steps done")),
    "gremlin::odd_text": E({"kind": "control_characters"}, says("\x1b[31m", "\0", "\a")),
    "gremlin::huge_text": E({"kilobytes": 2}, holds(lambda text: len(text) == 2048)),
    "gremlin::wrong_sum": E({"a": 2, "b": 2}, gives(5)),
    "gremlin::break_promise": NO_RESULT,
    "gremlin::every_content": E({}, every_kind),
}
