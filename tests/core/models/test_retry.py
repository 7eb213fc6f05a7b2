"""The retry policy, with a clock, a sleep and a chance of the test's own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import Cancelled, EmptyReply, ModelError, ModelMisconfigured, ModelUnavailable
from core.models.retry import RetryPolicy, Waiting, with_retries


class FakeTime:
    """A clock that moves only when somebody sleeps or works."""

    def __init__(self, chance: float = 0.5) -> None:
        self.now = 100.0
        self.slept: list[float] = []
        self.waiting = Waiting(lambda: self.now, self.sleep, lambda: chance)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def failing(errors: list[ModelError], begun: list[float], time: FakeTime) -> Callable[[int], str]:
    """Sends that raise the errors one after the other, then answer."""

    def send(attempt: int) -> str:
        begun.append(time.now)
        assert attempt == len(begun)
        if errors:
            raise errors.pop(0)
        return f"answer {attempt}"

    return send


def test_the_first_answer_is_taken_when_nothing_fails() -> None:
    time, begun = FakeTime(), []
    assert with_retries(failing([], begun, time), RetryPolicy(60), time.waiting) == "answer 1"
    assert time.slept == []


def test_waits_double_when_a_model_stays_unavailable() -> None:
    time, begun = FakeTime(chance=1.0), []
    errors: list[ModelError] = [ModelUnavailable("busy") for _ in range(4)]
    assert with_retries(failing(errors, begun, time), RetryPolicy(60), time.waiting) == "answer 5"
    assert time.slept == [0.5, 1.0, 2.0, 4.0]


def test_the_providers_wish_is_honoured_when_it_names_one() -> None:
    time, begun = FakeTime(chance=0.0), []
    errors: list[ModelError] = [ModelUnavailable("busy", retry_after=17.0)]
    with_retries(failing(errors, begun, time), RetryPolicy(60), time.waiting)
    assert time.slept == [17.0]


def test_it_gives_up_at_once_when_the_wish_lies_beyond_the_limit() -> None:
    time, begun = FakeTime(), []
    errors: list[ModelError] = [ModelUnavailable("busy", retry_after=61.0)]
    with pytest.raises(ModelUnavailable) as caught:
        with_retries(failing(errors, begun, time), RetryPolicy(60), time.waiting)
    assert (caught.value.attempts, caught.value.retry_after, time.slept) == (1, 61.0, [])


def test_an_empty_reply_is_tried_once_more_when_it_comes_again() -> None:
    time, begun = FakeTime(), []
    errors: list[ModelError] = [EmptyReply("nothing"), EmptyReply("nothing"), EmptyReply("no")]
    with pytest.raises(EmptyReply) as caught:
        with_retries(failing(errors, begun, time), RetryPolicy(60), time.waiting)
    assert caught.value.attempts == len(begun) == 2


def test_nothing_is_tried_again_when_nothing_would_help() -> None:
    time, begun = FakeTime(), []
    errors: list[ModelError] = [ModelUnavailable("busy"), ModelMisconfigured("bad key")]
    with pytest.raises(ModelMisconfigured) as caught:
        with_retries(failing(errors, begun, time), RetryPolicy(60), time.waiting)
    assert caught.value.attempts == 2


def test_nothing_is_sent_when_it_was_cancelled_before() -> None:
    time, begun = FakeTime(), []
    with pytest.raises(Cancelled):
        with_retries(failing([], begun, time), RetryPolicy(60), time.waiting, lambda: True)
    assert begun == []


def test_a_wait_ends_within_a_poll_when_it_is_cancelled() -> None:
    time, begun = FakeTime(), []
    errors: list[ModelError] = [ModelUnavailable("busy", retry_after=30.0)]
    with pytest.raises(Cancelled):
        with_retries(
            failing(errors, begun, time), RetryPolicy(60), time.waiting, lambda: time.now >= 103
        )
    assert 103 <= time.now <= 103.3


def test_no_time_at_all_means_one_attempt_when_it_fails() -> None:
    time, begun = FakeTime(), []
    with pytest.raises(ModelUnavailable):
        with_retries(failing([ModelUnavailable("busy")], begun, time), RetryPolicy(0), time.waiting)
    assert len(begun) == 1


@given(
    limit=st.floats(0, 600),
    wishes=st.lists(st.none() | st.floats(0, 100), max_size=30),
    chance=st.floats(0, 1, exclude_max=True),
    work=st.floats(0, 20),
)
def test_every_request_begins_within_the_limit_whatever_fails(
    limit: float, wishes: list[float | None], chance: float, work: float
) -> None:
    time = FakeTime(chance)
    begun: list[float] = []

    def send(attempt: int) -> str:
        begun.append(time.now)
        time.now += work
        if len(begun) > len(wishes):
            return "answer"
        raise ModelUnavailable("busy", retry_after=wishes[attempt - 1])

    started = time.now
    with contextlib.suppress(ModelUnavailable):
        assert with_retries(send, RetryPolicy(limit), time.waiting) == "answer"
        assert len(begun) == len(wishes) + 1
    assert all(at - started <= limit + 1e-6 for at in begun)
    gaps = [later - earlier - work for earlier, later in zip(begun, begun[1:], strict=False)]
    assert all(gap >= (wish or 0) - 1e-6 for gap, wish in zip(gaps, wishes, strict=False))


@given(
    failures=st.integers(1, 2000), chance=st.floats(0, 1, exclude_max=True), wish=st.floats(0, 1e6)
)
def test_a_delay_is_bounded_for_every_number_of_failures(
    failures: int, chance: float, wish: float
) -> None:
    policy = RetryPolicy(60)
    assert 0.25 <= policy.delay(failures, None, chance) <= policy.longest_delay
    assert wish <= policy.delay(failures, wish, chance) <= wish + policy.longest_delay / 2
