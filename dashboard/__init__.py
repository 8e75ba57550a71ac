"""The console in the browser: a Streamlit app over `core.app.App`.

`app.py` is the ASGI app, `main.py` the navigation, `session.py` the app of this process, `theme.py` one colour per meaning.
Pages are folders in `pages`; what two of them need is in `ui`. It imports `core.app`, the services' types, plain data from
`core.domain`, pure functions from `core.lab` and `core.shared`; nothing in core imports it.
"""
