"""Work that outlives the browser, the app and the process at it: queued, kept unit by unit, gone on with."""
