"""The parts that pages share: the query row, knobs, charts, tables, the state in the URL, text made safe to show.

It may import what pages may, but no page. A part moves here when a second page needs it. Charts of several pages are in
`ui/charts`.
"""
