"""``shoal worker`` that stands still amid its start, when Faust has taken over; it says so."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog

from stream.cli.main import main
from stream.worker import run

Worker: Any = run._Worker
find_inputs = Worker._find_inputs


async def slowly_find_inputs(self: Any) -> None:
    structlog.get_logger("shoal.worker").warning("standing_still")
    await asyncio.sleep(30)
    await find_inputs(self)


Worker._find_inputs = slowly_find_inputs

if __name__ == "__main__":  # its anonymizers import it, too
    main()
