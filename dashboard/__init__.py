"""The console in the browser: a Streamlit app over `core.app.App`.

`app.py` is the ASGI app, `main.py` the navigation, `session.py` the app of this process, `theme.py` one colour per meaning.
Pages are folders in `pages`; parts that two of them need are in `ui`. It imports `core.app`, the types of services, plain data
from `core.domain`, and pure functions from `core.lab` and `core.domain`. No module of core imports it.
"""
