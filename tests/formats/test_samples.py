"""Times are kept in eight bytes each, and nobody who reads them notices."""

from __future__ import annotations

import json
import pickle
import sys

import pytest
from pydantic import TypeAdapter, ValidationError

from searchmark import AnswerDetails
from searchmark.records.answers import Samples

TIMES = (0.25, 1e-9, 1234.5678901234567)


def test_samples_are_what_a_tuple_of_them_is() -> None:
    samples = Samples(TIMES)
    assert samples == TIMES
    assert samples == Samples(TIMES)
    assert samples != TIMES[:2]
    assert (len(samples), samples[-1], samples[:2]) == (3, TIMES[2], TIMES[:2])
    assert (sorted(samples), repr(samples)) == (sorted(TIMES), repr(TIMES))
    assert (bool(Samples()), hash(samples)) == (False, hash(TIMES))
    assert pickle.loads(pickle.dumps(samples)) == samples  # noqa: S301  # our own bytes


def test_details_with_samples_are_written_and_read_as_before() -> None:
    details = AnswerDetails(cold_ms=(1.0,), warm_ms=Samples(TIMES))
    assert details == AnswerDetails(cold_ms=(1.0,), warm_ms=TIMES)
    assert json.dumps(details.to_plain()) == json.dumps({"cold_ms": [1.0], "warm_ms": list(TIMES)})
    read = TypeAdapter(AnswerDetails).validate_python(json.loads(json.dumps(details.to_plain())))
    assert read == details
    assert isinstance(read.warm_ms, Samples)


@pytest.mark.parametrize("wrong", [[-1.0], [True], ["fast"], [float("nan")], 5])
def test_what_is_no_list_of_times_is_refused(wrong: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(AnswerDetails).validate_python({"warm_ms": wrong})


def test_a_sample_takes_eight_bytes() -> None:
    samples = Samples(float(number) for number in range(1000))
    assert sys.getsizeof(samples) + sys.getsizeof(samples._packed) < 1000 * 8 + 128
