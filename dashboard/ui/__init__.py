"""What pages share: the query row, knobs, charts on a page, tables to choose from, the URL's state, text made safe to show.

It may import what pages may, but no page. The next one is a file here as soon as a second page needs it; charts that
several pages draw are in `ui/charts`.
"""
