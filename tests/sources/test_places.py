"""Addresses of databases as people type them: known by one name, and no piece of a password in it or in any sentence."""

from pathlib import Path

import pytest

from inspector.sources import places
from inspector.sources.dsn import Dsn
from inspector.sources.places import NoAddress, place, short
from inspector.sources.problems import Missing, shown
from tests.folding import in_one_test

SECRET = "s3cret"

NAMED = [
    ("postgresql://ann@db.example:6000/brain", "postgresql://ann@db.example:6000/brain"),
    ("postgres://ann@db.example/brain", "postgresql://ann@db.example/brain"),
    ("PostgreSQL://ann@db.example/brain", "postgresql://ann@db.example/brain"),
    ("  postgresql://ann@db.example/brain ", "postgresql://ann@db.example/brain"),
    ("postgresql://ann:s3cret@db.example/brain", "postgresql://ann@db.example/brain"),
    ("postgresql://ann:s3cret%2F%40%3A%25@db.example/brain", "postgresql://ann@db.example/brain"),
    ("postgresql://ann:s3cret#x@db.example/brain", "postgresql://ann@db.example/brain"),
    ("postgresql://db.example/brain?user=ann&password=s3cret", "postgresql://ann@db.example/brain"),
    ("postgresql://ann:s3cret@[::1]:6000/brain", "postgresql://ann@[::1]:6000/brain"),
    ("postgresql://ann:s3cret@[fe80::1%25eth0]/brain", "postgresql://ann@[fe80::1%25eth0]/brain"),
    ("postgresql:///brain?host=/run/pg&port=6000&user=ann&password=s3cret", "postgresql://ann@/brain?host=/run/pg&port=6000"),
    ("postgresql://ann:s3cret@%2Frun%2Fpg/brain", "postgresql://ann@/brain?host=/run/pg"),
    (
        "postgresql://ann:s3cret@one:1,two:2/brain?target_session_attrs=any",
        "postgresql://ann@/brain?host=one,two&port=1,2&target_session_attrs=any",
    ),
    ("postgresql://ann:s3cret@db.example/brain?sslmode=require", "postgresql://ann@db.example/brain?sslmode=require"),
    ("postgresql://db.example/brain?sslkey=/k&sslpassword=s3cret", "postgresql://db.example/brain?sslkey=/k"),
    ("postgresql:///?service=brain&password=s3cret", "postgresql:///?service=brain"),
    ("service=brain password=s3cret", "postgresql:///?service=brain"),
    ("host=db.example dbname=brain user=ann password='s3cret with spaces'", "postgresql://ann@db.example/brain"),
    ("password=s3cret host=/run/pg dbname=brain", "postgresql:///brain?host=/run/pg"),
    ("postgresql://postgres.project:s3cret@pooler.example:6543/postgres", "postgresql://postgres.project@pooler.example:6543/postgres"),
    ("postgresql://ann@db.example/na%2Fme%3F%40", "postgresql://ann@db.example/na%2Fme%3F%40"),
]


@in_one_test(("typed", "name"), NAMED)
def test_it_is_known_by_its_address_without_password(typed: str, name: str) -> None:
    found = place(typed)
    assert isinstance(found, Dsn)
    assert (found.name, str(found), places.real(found)) == (name, name, name)
    assert SECRET not in repr(found)


@in_one_test(("typed", "name"), NAMED)
def test_the_name_is_an_address_of_the_same_name(typed: str, name: str) -> None:
    assert str(place(name)) == name


REFUSED = [
    ("postgresql://ann:s3cret@rest@db.example/brain", "more than one @"),
    ("postgresql://ann:1/s3cret@db.example/brain", "follows a /"),
    ("postgresql://ann:s3cret/x@db.example/brain", "follows a /"),
    ("postgresql://ann:s3cret", "port is no number"),
    ("postgresql://ann:x?y@s3cret@db.example/brain", "host holds an @"),
    ("postgresql://ann%3As3cret@db.example/brain", "user holds a :"),
    ("postgresql://ann:s3cret%@db.example/brain", "a part of it"),
    ("postgresql://db.example/brain?pasword=s3cret", "a part of it"),
    ("postgresql://[::1/s3cret", "a part of it"),
    ("postgres:ann:s3cret@db.example/brain", "a part of it"),
    ("host=db.example pasword=s3cret", "a part of it"),
    ("host=db.example password='s3cret", "a part of it"),
    ("ann:s3cret@db.example/brain", "a part of it"),
    ("ann:s3cret@db.example:5432", "a part of it"),
    ("mysql://ann:s3cret@db.example/brain", "only the schemes"),
    ("postgresql+psycopg://ann:s3cret@db.example/brain", "only the schemes"),
    ("jdbc:postgresql://ann:s3cret@db.example/brain", "only the schemes"),
    ("postgresql://ann:s3cret\ud800@db.example/brain", "a part of it"),
]


@in_one_test(("typed", "why"), REFUSED)
def test_an_address_that_cannot_be_read_is_refused_and_not_repeated(typed: str, why: str) -> None:
    with pytest.raises(NoAddress) as caught:
        place(typed)
    assert why in str(caught.value)
    assert "PGPASSWORD" in str(caught.value)
    assert not any(part in str(caught.value) for part in (SECRET, "ann@", "db.example", "brain"))


@in_one_test(
    "path", ["store.db", "./host=x", "/tmp/user=ann/store.db", "a:b/c.db", "agent:main:bob@host", "02c9ab", "brain.pglite", "C:\\x"]
)
def test_what_is_no_address_is_a_path(path: str) -> None:
    assert place(path) == Path(path)


def test_a_later_read_logs_in_as_the_first_one_did() -> None:
    place("postgresql://bea:s3cret@db.example/brain")
    again = place("postgresql://bea@db.example/brain")
    assert isinstance(again, Dsn)
    assert again.conninfo == "postgresql://bea:s3cret@db.example/brain"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("/home/ann/.dispatch/store.db", ".dispatch/store.db"),
        ("postgresql://ann@db.example:6000/brain?sslmode=require", "brain at db.example:6000"),
        ("postgresql://ann@/brain?host=/run/pg&port=6000", "brain at /run/pg:6000"),
        ("postgresql://ann@/brain", "brain at the local server"),
        ("postgresql:///?service=brain", "brain at the local server"),
    ],
)
def test_lists_say_the_database_and_its_host(name: str, said: str) -> None:
    assert short(name) == said


@pytest.mark.parametrize(
    "typed",
    [
        "postgresql://joe:hunter2@db/brain",
        "postgres:/joe:hunter2@db/brain",
        "host=db user=joe password=hunter2",
        "postgresql://db/brain?user=joe&password=hunter2",
    ],
)
def test_an_address_that_was_typed_where_a_path_or_a_name_belongs_is_repeated_without_its_password(typed: str) -> None:
    assert "hunter2" not in shown(typed) and "joe" in shown(typed) and "..." in shown(typed)
    assert "hunter2" not in Missing(Path(typed)).sentence
