"""The stage: pictures that follow the hand, drawn in the browser from what the server has computed."""
