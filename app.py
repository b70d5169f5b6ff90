"""fairdash in the browser: `streamlit run app.py`.

The script of the app is fairdash/ui/main.py. Were it this file, Streamlit would take the folder pages/
beside it for its older kind of multipage app and greet the first deep link to a fresh server with "Page
not found".
"""

from streamlit.starlette import App

app = App("fairdash/ui/main.py")
