"""Jobs that outlive the browser, the app and their process: queued, checkpointed, resumable."""
