"""Arguments: one model is schema and judge; the first wrong field is named, unknown keys first."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator
from pydantic import Field

from app.api import arguments
from app.api.arguments import AnyJson, Arguments, Text, TodoId
from app.domain.errors import InvalidArgument
from app.domain.values import Json


class Asked(TodoId):
    """A model with one argument of every kind."""

    count: int | None = None
    flag: bool | None = None
    note: Text | None = Field(default=None, description="What was noted.")
    bounded: int = Field(default=0, ge=0, le=30)
    result: AnyJson = None


def refused_field(raw: dict[str, Json]) -> str | None:
    with pytest.raises(InvalidArgument) as refused:
        arguments.parse(Asked, raw)
    return refused.value.field


@pytest.mark.parametrize(("raw", "field"), [
    ({}, "id"),
    ({"id": 1}, "id"),
    ({"id": None}, "id"),
    ({"id": "td", "count": "5"}, "count"),
    ({"id": "td", "count": True}, "count"),
    ({"id": "td", "count": 5.0}, "count"),
    ({"id": "td", "flag": 1}, "flag"),
    ({"id": "td", "flag": "true"}, "flag"),
    ({"id": "td", "bounded": 31}, "bounded"),
    ({"id": "td", "bounded": -1}, "bounded"),
    ({"id": "td", "bounded": None}, "bounded"),
    ({"id": "t\x00d"}, "id"),
    ({"id": "td", "note": "\ud800"}, "note"),
    ({"id": "td", "note": []}, "note"),
])
def test_the_wrong_field_is_named(raw: dict[str, Json], field: str) -> None:
    assert refused_field(raw) == field


def test_an_unknown_key_is_refused_before_any_value_is_judged() -> None:
    assert refused_field({"count": "five", "surprise": 1}) == "surprise"


def test_an_argument_given_as_null_is_one_not_given() -> None:
    asked = arguments.parse(Asked, {"id": "td", "count": None, "note": None})
    assert asked.canonical() == arguments.parse(Asked, {"id": "td"}).canonical()


def test_a_number_of_any_size_is_a_number() -> None:
    assert arguments.parse(Asked, {"id": "td", "count": 10**400}).count == 10**400


def test_the_schema_is_one_and_says_what_the_judge_does() -> None:
    schema = arguments.input_schema(Asked)
    Draft202012Validator.check_schema(schema)
    judge = Draft202012Validator(schema)

    assert schema["additionalProperties"] is False
    assert schema["required"] == ["id"]
    assert "title" not in str(schema)
    assert judge.is_valid({"id": "td", "count": 3, "result": {"any": [1, None]}})
    assert not judge.is_valid({"id": "td", "surprise": 1})
    assert not judge.is_valid({"id": "td", "bounded": 31})
    assert not judge.is_valid({})
    assert arguments.input_schema(Arguments) == {
        "type": "object", "properties": {}, "required": [], "additionalProperties": False,
    }


def test_query_parameters_are_read_by_the_types_of_the_schema() -> None:
    read = arguments.from_query(
        Asked, [("id", "7"), ("count", "-5"), ("flag", "true"), ("bounded", "7")]
    )

    assert read == {"id": "7", "count": -5, "flag": True, "bounded": 7}


@pytest.mark.parametrize("text", ["", "five", "1.0", "1e3", "٣", "0x10", " 1"])
def test_a_parameter_that_is_no_whole_number_is_refused(text: str) -> None:
    assert refused_field(arguments.from_query(Asked, [("id", "td"), ("count", text)])) == "count"


def test_a_parameter_given_twice_is_refused() -> None:
    with pytest.raises(InvalidArgument) as refused:
        arguments.from_query(Asked, [("id", "a"), ("id", "a")])
    assert refused.value.field == "id"


def test_an_unknown_parameter_is_refused() -> None:
    assert refused_field(arguments.from_query(Asked, [("id", "td"), ("surprise", "1")])) == (
        "surprise"
    )
