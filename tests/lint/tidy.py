"""A catalog in which no rule finds anything."""

TIDY = {
    "servers": [
        {
            "name": "units",
            "description": "Converts units.",
            "conn_s": 0.1,
            "tools": [
                {
                    "name": "convert_length",
                    "description": "Converts a length between two units.",
                    "inputSchema": {},
                    "price_usd": 0.0,
                    "annotations": {"readOnlyHint": True},
                }
            ],
        }
    ]
}
