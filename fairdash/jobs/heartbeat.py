"""Who is alive, where several machines work at one database: a row a worker, in the database's own time.

On one machine a lock tells, and nothing here is used.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fairdash.jobs import engine

if TYPE_CHECKING:
    from sqlalchemy import Engine

#: A worker that was not heard of for so long is dead; it beats several times in this.
SECONDS_TO_LIVE = 15
#: A machine that does not even refuse is not waited for longer.
SECONDS_TO_CONNECT = 5

_TABLE = "CREATE TABLE IF NOT EXISTS fairdash_workers (name TEXT PRIMARY KEY, seen TIMESTAMPTZ NOT NULL)"
_BEAT = (
    "INSERT INTO fairdash_workers VALUES (:name, clock_timestamp()) "
    "ON CONFLICT (name) DO UPDATE SET seen = clock_timestamp()"
)
_DEAD = "SELECT name FROM fairdash_workers WHERE seen < clock_timestamp() - make_interval(secs => :seconds)"


def beat(name: str) -> None:
    """Say that the worker of this name is alive; AwayError if the database does not answer."""
    from sqlalchemy import text

    with engine.in_words(), _database(engine.database_url()).begin() as database:
        database.execute(text(_BEAT), {"name": name})


def take_over(lane: str) -> int:
    """Put what dead workers were at back into the line of a lane; how many jobs those are.

    While the database was away nobody could beat: ask only when it has been there for SECONDS_TO_LIVE.
    """
    from sqlalchemy import text

    with engine.in_words(), _database(engine.database_url()).begin() as database:
        dead = list(database.execute(text(_DEAD), {"seconds": SECONDS_TO_LIVE}).scalars())
    client = engine.client()
    left = [
        each.workflow_id
        for each in engine.active(lane)
        if each.status == "PENDING" and each.executor_id in dead
    ]
    if left:
        with engine.in_words():
            client.resume_workflows(left, queue_name=lane)
    return len(left)


@lru_cache(maxsize=2)
def _database(url: str) -> Engine:
    from sqlalchemy import create_engine, text

    # The driver that DBOS brings.
    found = create_engine(
        url.replace("postgresql://", "postgresql+psycopg://", 1),
        pool_pre_ping=True,
        connect_args={"connect_timeout": SECONDS_TO_CONNECT},
    )
    with found.begin() as database:
        database.execute(text(_TABLE))
    return found
