"""``shoal worker`` on a machine that is repaired when it is sent SIGURG.

Until then its clock is wrong by ``SHIFT_S`` seconds, and with ``CODECS_MISSING=1`` its Kafka client has neither snappy
nor lz4 nor zstd, as without the package that brings them.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Any

_true_s = time.time
_shift_s = float(os.environ.get("SHIFT_S") or 0)


def _shifted_s() -> float:
    return _true_s() + _shift_s


def _mend(*_: object) -> None:
    global _shift_s  # noqa: PLW0603 - one worker a process
    _shift_s = 0.0
    for name, has in _codecs.items():
        setattr(codec, name, has)


time.time = _shifted_s

from aiokafka import codec  # noqa: E402
from aiokafka.producer.message_accumulator import BatchBuilder  # noqa: E402

from stream.cli.main import main  # noqa: E402

_append = BatchBuilder.append


def _append_shifted(self: Any, *, timestamp: int | None, **named: Any) -> Any:
    # Compiled code asks the system's clock.
    return _append(self, timestamp=round(time.time() * 1000) if timestamp is None else timestamp, **named)


BatchBuilder.append = _append_shifted
_codecs = {name: getattr(codec, name) for name in ("has_snappy", "has_lz4", "has_zstd")}
if os.environ.get("CODECS_MISSING") == "1":
    for name in _codecs:
        setattr(codec, name, lambda: False)

if __name__ == "__main__":  # its anonymizers import it, too
    signal.signal(signal.SIGURG, _mend)
    main()
