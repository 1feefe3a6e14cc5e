"""Results as the messages of the topics: NDJSON, or Avro container files."""

from __future__ import annotations

import hashlib
from typing import Any

from stream.formats.input.encodings.extras import needs_extra
from stream.formats.release.avro import parsed, to_avro
from stream.formats.release.encoding import Content
from stream.replay.results.part_files import PartFiles
from stream.replay.results.results import Results, WindowMessages

__all__ = ["AvroFiles", "NdjsonFiles"]


class NdjsonFiles(Results):
    """``anonymized.ndjson`` and ``windows.ndjson``: one message on each line, exactly as on the topics.

    Args:
        files: Where to write.
    """

    def __init__(self, files: PartFiles) -> None:
        self._files = {topic: files.open(f"{topic}.ndjson") for topic in ("anonymized", "windows")}

    def add(self, window: WindowMessages) -> None:
        """See :meth:`Results.add`."""
        for message in window.messages:
            self._files[message.topic].write(message.value + b"\n")

    def finish(self) -> None:
        """See :meth:`Results.finish`."""


class AvroFiles(Results):
    """``anonymized.avro`` and ``windows.avro``: container files with the schemas of the topics.

    Args:
        files: Where to write.

    Raises:
        MissingExtraError: fastavro is not installed.
    """

    def __init__(self, files: PartFiles) -> None:
        with needs_extra("avro", "fastavro"):
            from fastavro.write import Writer  # noqa: PLC0415 - an extra, loaded where it is used

        self._writers: dict[str, Any] = {}
        for topic in ("anonymized", "windows"):
            self._writers[topic] = Writer(
                files.open(f"{topic}.avro"),
                parsed(topic),
                codec="deflate",
                sync_marker=hashlib.md5(topic.encode(), usedforsecurity=False).digest(),  # the same file in every run
                options={"disable_tuple_notation": True},
            )

    def add(self, window: WindowMessages) -> None:
        """See :meth:`Results.add`."""
        for content in window.trajectories:
            self._write("anonymized", content)
        self._write("windows", window.window)

    def _write(self, topic: str, content: Content) -> None:
        self._writers[topic].write(to_avro(content))

    def finish(self) -> None:
        """See :meth:`Results.finish`."""
        for writer in self._writers.values():
            writer.flush()
