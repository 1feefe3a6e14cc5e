"""A worker dies at every point of the seal protocol, and another takes over, with the same settings or with others."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from core.records.instants import rfc3339
from core.records.record import Reason
from core.release.outcome import WithholdReason
from core.windows.seal import Seal, SealedUntil
from stream.formats.chunks import chunk_from_bytes
from stream.formats.seals import seal_from_bytes
from tests.builders.feeds import (
    ONE_SHARD,
    WITHIN_S,
    Messages,
    assert_all_is_released_in_one_way,
    crowd,
    expected,
    wait_for_windows,
    window,
)
from tests.cluster.brokers import ApacheKafka
from tests.cluster.faulty_worker import faulty
from tests.cluster.workers import Place

# Whole workers that die, wait and take over: minutes in all.
pytestmark = [pytest.mark.broker, pytest.mark.kafka, pytest.mark.deep]

Released = dict[str, dict[bytes, bytes]]

# Several chunks a window, so that a seal's offset decides what is in it.
SETTINGS = ONE_SHARD | {"ingest.max_records": "100"}


def let_a_worker_die(place: Place, messages: Messages, fault: str, *, at: int) -> None:
    """Let a worker with a fault work on messages until the fault ends it."""
    place.create_topics()
    place.produce("checkins", messages)
    with place.worker(ready=False, program=faulty(fault, at)) as worker:
        assert worker.wait(WITHIN_S) == -signal.SIGKILL, worker.log[-3000:]


def of_window(released: Released, n: int) -> Released:
    """Return what is released of the n-th window."""
    span = [rfc3339(ms) for ms in window(n)]
    (release,) = [key for key, value in released["windows"].items() if json.loads(value)["window"] == span]
    return {
        "anonymized": {key: value for key, value in released["anonymized"].items() if key.startswith(release + b":")},
        "windows": {release: released["windows"][release]},
    }


def copies(place: Place, topic: str) -> Counter[bytes]:
    """Return how often each key stands on an output topic."""
    return Counter(record.key or b"" for record in place.read(topic))


def seals(place: Place, n: int) -> list[type]:
    """Return which records the seals topic holds of the n-th window, in their order."""
    found: list[type] = []
    for record in place.read("seals"):
        if record.value is not None:
            one = seal_from_bytes(record.value)
            if not isinstance(one, Seal | SealedUntil):
                continue
            end_ms = one.key.end_ms if isinstance(one, Seal) else one.until_ms
            if end_ms == window(n).end_ms:
                found.append(type(one))
    return found


def first_offset(place: Place, n: int) -> int:
    """Return the offset of the first chunk with a row of the n-th window."""
    start_ms, end_ms = window(n)
    for record in place.read("shards"):
        ts_ms = chunk_from_bytes(record.value or b"").rows["ts_ms"]
        if ((ts_ms >= start_ms) & (ts_ms < end_ms)).any():
            return record.offset
    raise AssertionError(f"no chunk has rows of window {n}")


class TestAWorkerThatDies:
    @pytest.mark.parametrize(
        ("fault", "sealed", "share_out", "told", "repeated"),
        [
            ("dies-before-the-seal", [], 0.0, False, False),
            ("dies-after-the-seal", [Seal], 0.0, False, False),
            ("dies-amid-the-trajectories", [Seal], 0.5, False, True),
            ("dies-before-the-windows-message", [Seal], 1.0, False, True),
            ("dies-after-the-windows-message", [Seal], 1.0, True, True),
            ("dies-after-the-completion", [Seal, SealedUntil], 1.0, True, False),
        ],
    )
    def test_at_every_point_of_the_protocol(
        self,
        apache_kafka: ApacheKafka,
        tmp_path: Path,
        *,
        fault: str,
        sealed: list[type],
        share_out: float,
        told: bool,
        repeated: bool,
    ) -> None:
        """
        Of the window in hand as much is out as the point of death says, and the window's offsets are not committed.
        The next worker releases everything else; what was out of a window that was not completed leaves again, byte
        for byte, and nothing else leaves twice.
        """
        place, messages = Place(apache_kafka, SETTINGS), crowd(0, 4, people=60, visits=4)
        wanted = expected(place, messages, tmp_path)
        before, struck = of_window(wanted, 0), of_window(wanted, 1)
        let_a_worker_die(place, messages, fault, at=1)

        assert seals(place, 1) == sealed
        assert place.committed().get(0, 0) <= first_offset(place, 1)
        assert len(struck["anonymized"]) > 10
        n_out = {"anonymized": int(len(struck["anonymized"]) * share_out), "windows": int(told)}
        out = {topic: copies(place, topic) for topic in wanted}
        for topic, copies_out in out.items():
            assert copies_out.keys() - struck[topic].keys() == before[topic].keys()
            assert len(copies_out.keys() & struck[topic].keys()) == n_out[topic]
            assert set(copies_out.values()) == {1}

        with place.worker() as second:
            assert_all_is_released_in_one_way(place, [second], wanted)
            assert second.stop() == 0
        for topic, values in wanted.items():
            again = out[topic].keys() & struck[topic].keys() if repeated else ()
            assert copies(place, topic) == Counter(values.keys()) + Counter(again)


# Only silence closes a window, so whatever was sent is ingested and its input offsets are committed when one is sealed.
SILENT = SETTINGS | {"window.allowed_lateness": "12h"}


def letters(place: Place) -> list[dict[str, Any]]:
    """Return the dead letters."""
    return [json.loads(record.value or b"") for record in place.read("dead_letters")]


class TestSettingsThatChangeWhenAWorkerDies:
    def test_another_secret(self, apache_kafka: ApacheKafka, tmp_path: Path) -> None:
        """
        The next worker has another secret: the sealed window is withheld, with all its records; what waited for the
        next window is located again, and is released as under the new secret, as is what is sent from then on.
        """
        sealed, waiting, new = (crowd(n, n_windows, people=60, visits=4) for n, n_windows in ((0, 1), (1, 1), (2, 2)))
        place = Place(apache_kafka, SILENT)
        let_a_worker_die(place, [*sealed, *waiting], "dies-after-the-seal", at=0)
        assert (place.read("anonymized"), place.windows(), letters(place)) == ([], [], [])

        other = {"privacy.secret": "another secret of the tests, as long"}
        wanted = expected(Place(apache_kafka, place.given | other), [*waiting, *new], tmp_path)
        place.produce("checkins", new)
        with place.worker(other) as second:
            wait_for_windows(place, second, 4)
            assert second.metric("shoal_records_total", kind="checkins", outcome="withheld") == len(sealed)
            assert second.stop() == 0
        withheld, *_ = place.windows()
        assert (withheld["outcome"], withheld["reason"]) == ("withheld", WithholdReason.SETTINGS_CHANGED)
        assert withheld["window"][0] == rfc3339(window(0).start_ms)
        released = place.released()
        assert released["windows"].pop(withheld["release"].encode())
        assert released == wanted
        assert letters(place) == []

    def test_another_secret_after_the_input_has_deleted_what_waits(
        self, apache_kafka: ApacheKafka, tmp_path: Path
    ) -> None:
        """
        What waited and is still there is located again; of the rest each record is a dead letter that says so, once.
        """
        sealed, waiting = crowd(0, 1, people=60, visits=4), crowd(1, 1, people=60, visits=4)
        place, gone = Place(apache_kafka, SILENT), len(sealed) + 100
        let_a_worker_die(place, [*sealed, *waiting], "dies-after-the-seal", at=0)
        place.delete_records("checkins", gone)

        other = {"privacy.secret": "another secret of the tests, as long"}
        wanted = expected(Place(apache_kafka, place.given | other), waiting[100:], tmp_path)
        with place.worker(other) as second:
            wait_for_windows(place, second, 2)
            assert second.stop() == 0
        withheld, *_ = place.windows()
        released = place.released()
        assert released["windows"].pop(withheld["release"].encode())
        assert released == wanted
        found = Counter((one["reason"], one["topic"], one["partition"], one["offset"]) for one in letters(place))
        assert found == Counter(
            (Reason.SETTINGS_CHANGED.value, place.topic("checkins"), 0, offset) for offset in range(len(sealed), gone)
        )

    @pytest.mark.parametrize(
        "fault",
        [
            "dies-after-the-seal",
            "dies-before-the-windows-message",
            "dies-after-the-windows-message",
        ],
    )
    def test_another_k(self, apache_kafka: ApacheKafka, tmp_path: Path, fault: str) -> None:
        """
        The next worker has another k: the sealed window is withheld unless its windows message was out, and under each
        key there is one content; windows that were not sealed, and those of later records, are released as under the
        new k.
        """
        before, after = crowd(0, 2, people=60, visits=4), crowd(2, 1, people=60, visits=4)
        place, other = Place(apache_kafka, SILENT), {"privacy.k": "7"}
        let_a_worker_die(place, before, fault, at=0)
        out = place.released()
        assert len(out["anonymized"]) == (0 if fault == "dies-after-the-seal" else 60)

        wanted = expected(Place(apache_kafka, place.given | other), before + after, tmp_path)
        place.produce("checkins", after)
        with place.worker(other) as second:
            wait_for_windows(place, second, 3)
            assert second.stop() == 0
        assert letters(place) == []
        released = place.released()
        for topic, values in of_window(wanted, 0).items():
            assert not released[topic].keys() & values.keys()
            for key in values:
                del wanted[topic][key]
            assert out[topic].items() <= released[topic].items()
            assert {key: value for key, value in released[topic].items() if key in wanted[topic]} == wanted[topic]
        assert released["anonymized"].keys() == out["anonymized"].keys() | wanted["anonymized"].keys()
        (told,) = [json.loads(value) for key, value in released["windows"].items() if key not in wanted["windows"]]
        if not out["windows"]:
            assert (told["outcome"], told["reason"]) == ("withheld", WithholdReason.SETTINGS_CHANGED)
