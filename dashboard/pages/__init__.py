"""One folder a page: `view.py` first, which draws it from top to bottom, then its parts, then its own charts.

A page calls services of the app and shows plain data; it imports no other page. To add one: a folder with a `view.py` that
has a function `page`, and a line in `dashboard/main.py`.
"""
