"""One folder a page: `view.py` draws it from top to bottom, its neighbours are its parts, `charts.py` has its charts.

A page calls services of the app and shows plain data. It imports no other page. To add a page, add a folder with a `view.py`
that has a function `page`, and a line in `dashboard/navigation.py`.
"""
