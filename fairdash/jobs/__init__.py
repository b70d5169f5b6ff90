"""Queued, checkpointed and resumable jobs that survive a closed browser or a stopped process."""
