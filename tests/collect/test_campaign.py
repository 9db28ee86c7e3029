"""A collector that is killed in the midst of uploads, and many copies of one report."""

import asyncio
import random

from tests.collect.campaign import Collector, Seen, prepare, run_campaign, send_all, stored_nodes, uploads_of


def test_nothing_acknowledged_is_lost_and_nothing_is_there_twice(tmp_path, database):
    seen = run_campaign(
        tmp_path / "c", database, users=340, duplicates=40, damaged=20, connections=16, kills=3
    )
    assert seen.broken > 0


def test_many_copies_of_one_report_at_once_are_one_row(tmp_path, database):
    collection, opened, reports = prepare(tmp_path / "c", database, 3)
    (upload,) = random.Random(0).sample(uploads_of(collection, opened, reports, 0, 0), 1)
    collection.database.close()
    collector, seen = Collector(tmp_path / "c"), Seen()

    async def all_at_once():
        await asyncio.gather(*(send_all([upload], collector.port, seen) for _ in range(64)))

    collector.start()
    try:
        asyncio.run(all_at_once())
    finally:
        collector.kill()
    assert seen.statuses == {("fresh", 201): 1, ("fresh", 200): 63}
    assert stored_nodes(collection) == [upload.node]
    collection.database.close()
