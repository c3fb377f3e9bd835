"""A question that hangs costs whoever asks its deadline, and nobody more than that."""

from __future__ import annotations

import threading

import pytest

from app.edge.timely import Question, TooSlow


def test_a_question_that_hangs_costs_its_askers_their_deadline_and_no_more_threads() -> None:
    go_on = threading.Event()
    asked = []

    def ask() -> str:
        asked.append(1)
        go_on.wait(20)
        return "answer"

    question = Question(ask)
    for _ in range(3):
        with pytest.raises(TooSlow):
            question.begin(0.05)()
    assert asked == [1]

    go_on.set()
    assert question.begin(5)() == "answer"


def test_a_question_raises_what_went_wrong() -> None:
    def ask() -> str:
        raise KeyError("this")

    with pytest.raises(KeyError, match="this"):
        Question(ask).begin(5)()
