"""The last windows of a worker look the same whatever encoding their messages have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.records.record import Kind
from core.release.outcome import Outcome, WithholdReason
from stream.formats.release.avro import AvroRelease
from stream.formats.release.encoding import ReleaseEncoding
from stream.formats.release.encodings import WITHOUT_REGISTRY
from stream.formats.release.messages import outcome_messages
from tests.builders.live_windows import live, sequences, told, tracks, withheld

ENCODINGS = [*WITHOUT_REGISTRY.values(), AvroRelease(anonymized_id=1, windows_id=2)]


@pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda encoding: encoding.name)
@pytest.mark.parametrize("outcome", [sequences(), tracks(), withheld()], ids=["sequences", "tracks", "withheld"])
def test_every_encoding_is_shown_alike(encoding: ReleaseEncoding, outcome: Outcome) -> None:
    """
    Figures and shapes are those of the JSON messages.
    """
    if encoding.name == "mf-json" and outcome.key.kind is Kind.CHECKINS:
        return
    plain, encoded = live(), live()
    window = told(outcome)
    plain.add(window)
    encoded.add(replace(window, messages=tuple(outcome_messages(outcome, encoding)), encoding=encoding))
    assert encoded.windows() == plain.windows()
    assert len(plain.windows()) == 1
    assert encoded.shapes(outcome.release_id) == plain.shapes(outcome.release_id)


def test_the_page_is_as_silent_as_the_topics() -> None:
    """
    By default a withheld window is not shown, not even as a count: only the operator's logs and metrics have it.
    """
    shown = live({"release.withheld": "silent"})
    for window in (told(withheld()), told(sequences()), told(withheld(WithholdReason.VERIFICATION_FAILED))):
        shown.add(window)
    assert [one.outcome for one in shown.windows()] == ["released"]
    status = shown.status([])
    assert (status.counts, status.withheld) == ({"released": 1}, [])
