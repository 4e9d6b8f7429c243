"""The questions are SQL that DuckDB and Spark both run, with the same rows."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from amqpcodec import analysis, capture
from amqpcodec.analysis import _questions
from tests.paths import REPO

FOLDER = REPO / "src" / "amqpcodec" / "analysis"
QUERIES = {name: _questions.load(name) for name in _questions.NAMES}

#: What the engines take differently, or one of them alone, and why.
REFUSED = {
    r'"': "an identifier, or a text",
    r"\bany_value\b|\b(?:first|last)\(": "DuckDB skips nulls, Spark does not",
    r"\b(?:max|min)_by\(": "a nullable value, and two rows that are first",
    r"\bconcat\(": "null for DuckDB is empty text; || says so itself",
    r"\bCAST\([^()]* AS INT\)": "2.5 becomes 2 or 3",
    r"\bround\(": "halves",
    r"\[": "lists begin at 0 or at 1",
    r"\b(?:unnest|explode)\b": "one engine only",
    r"get_json_object|json_extract|->": "one engine only",
    r"\bepoch|timestampdiff|date_diff": "one engine only; time_us",
    r"\bQUALIFY\b": "a window in a subquery",
    r"//": "one engine only; floor",
    r"UNION BY NAME|\bEXCEPT\b|\bEXCLUDE\b": "columns by position",
    r"string_agg|listagg": "array_agg",
    r"regexp_replace": "all matches, or the first",
    r"percentile_cont": "the last bits of a mean of two values; percentile_disc",
    # Of integers; a count by a window of 0 and 1 is compared, and not shown.
    r"(?<!CAST\()(?<!CAST\(coalesce\()\bsum\((?!CASE[^)]*THEN 1 ELSE 0 END\) OVER)": "128 bits",
    r"\bconnection_index\b": "numbered anew in each task of Spark",
}


@pytest.mark.parametrize("name", QUERIES)
def test_the_question_has_nothing_that_engines_take_differently(name: str) -> None:
    text = re.sub(r"^--.*$", "", QUERIES[name].query, flags=re.M)
    for pattern, reason in REFUSED.items():
        assert not re.search(pattern, text), (pattern, reason)


@pytest.mark.parametrize(
    "text",
    [
        'SELECT "queue"',
        "SELECT any_value(x)",
        "max_by(reply_text, event_id)",
        "CAST(x AS INT)",
        "SELECT route[1]",
        "SELECT sum(body_size) FROM events",
        "percentile_cont(0.5)",
    ],
)
def test_the_lint_sees(text: str) -> None:
    assert any(re.search(pattern, text) for pattern in REFUSED)


def order_terms(text: str) -> list[str]:
    """What the last ORDER BY of a query sorts by."""
    depth, terms = 0, [""]
    for sign in text[text.rindex("ORDER BY") + len("ORDER BY") :]:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            terms.append("")
        else:
            terms[-1] += sign
    return [term.strip() for term in terms]


#: Columns of answers that are never null.
NOT_NULL = {
    *(
        "connection",
        "certainty",
        "count",
        "event",
        "event_id",
        "finding",
        "kind",
        "severity",
        "span",
    ),
    *("delivery", "waiting", "delivered", "published + delivered"),
    "published_bytes + delivered_bytes",
}


@pytest.mark.parametrize("name", QUERIES)
def test_nulls_come_last_in_every_order(name: str) -> None:
    for term in order_terms(QUERIES[name].query):
        plain = re.sub(r" (?:DESC|ASC)$|^[a-z]\.", "", term)
        assert term.endswith("NULLS LAST") or plain in NOT_NULL, term


def scans(text: str) -> int:
    """How often the events are scanned, where every name of a part stands for its text."""
    parts = re.split(r"(?:\bWITH|\), *|\n, *)\s*(\w+) AS \(\n", text)
    counts = {"events": 1}

    def count(part: str) -> int:
        names = re.findall(r"\b(?:FROM|JOIN) (\w+)", part)
        return sum(counts.get(name, 0) for name in names)

    names = parts[1::2]
    for at, (name, body) in enumerate(zip(names, parts[2::2], strict=True)):
        if at == len(names) - 1:  # the query itself follows the last part
            body, query = body.rsplit("\n)\n", 1)
            counts[name] = count(body)
            return count(query)
        counts[name] = count(body)
    return count(parts[0])


@pytest.mark.parametrize("name", QUERIES)
def test_events_are_scanned_at_most_four_times(name: str) -> None:
    assert 1 <= scans(QUERIES[name].query) <= 4


def test_scans_are_counted() -> None:
    assert scans("SELECT 1 FROM events JOIN events e ON true") == 2
    parts = "WITH a AS (\n SELECT 1 FROM events\n), b AS (\n SELECT 1 FROM a JOIN a c\n)\n"
    assert scans(f"{parts}SELECT 1 FROM b JOIN a") == 3


@pytest.mark.parametrize("name", QUERIES)
def test_the_first_line_names_the_columns_that_are_used(name: str) -> None:
    question = QUERIES[name]
    events = pa.schema(capture.schema("event")).names
    assert question.query.startswith("-- columns: ")
    assert set(question.columns) <= set(events)
    assert len(set(question.columns)) == len(question.columns)
    body = question.query.split("\n", 2)[2]
    words = set(re.findall(r"\w+", re.sub(r"'[^']*'", "", body)))
    assert set(question.columns) <= words
    assert question.query.splitlines()[1].startswith("-- A row ")


def test_every_file_is_a_question_and_has_a_function() -> None:
    files = {path.stem for path in (FOLDER / "questions").glob("*.sql")}
    assert files == set(_questions.NAMES) == set(analysis.__all__) - {"sql", "query"}


def test_no_question_of_that_name() -> None:
    with pytest.raises(
        ValueError, match="'slow' is no question: choose one of diagnose, connections"
    ):
        analysis.query("slow")
    assert analysis.query("queues").startswith("-- columns: ")
