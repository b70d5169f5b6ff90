"""fairdash in the browser: `streamlit run app.py`.

The script of the app is fairdash/ui/main.py. Were it this file, Streamlit would take the folder pages/
beside it for its older kind of multipage app and greet the first deep link to a fresh server with "Page
not found".
"""

from pathlib import Path

from starlette.middleware import Middleware
from streamlit.starlette import App

from fairdash.ui import guard

app = App(Path(guard.__file__).with_name("main.py"), middleware=[Middleware(guard.Guard)])
