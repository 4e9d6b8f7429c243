"""Pitfall 26: what a URL means."""

from __future__ import annotations

import pytest

from amqpcodec import aio
from amqpcodec.aio._addresses import parse


@pytest.mark.parametrize(
    ("url", "host", "port", "user", "virtual_host"),
    [
        ("amqp://", "localhost", 5672, None, None),
        ("amqp://h", "h", 5672, None, None),
        ("amqp://h/", "h", 5672, None, None),
        ("amqp://h/%2F", "h", 5672, None, "/"),
        ("amqp://h/a", "h", 5672, None, "a"),
        ("amqp://h/a%2Fb", "h", 5672, None, "a/b"),
        ("amqps://h", "h", 5671, None, None),
        ("amqps://h:1", "h", 1, None, None),
        ("amqp://u%40x:p%2F%3A@h:2/v%20w", "h", 2, ("u@x", "p/:"), "v w"),
        ("amqp://u:@h", "h", 5672, ("u", ""), None),
        ("amqp://[::1]:3/", "::1", 3, None, None),
    ],
)
def test_26_a_url(url, host, port, user, virtual_host):
    address = parse(url)
    assert (address.host, address.port) == (host, port)
    expected = {"username": user and user[0], "password": user and user[1]}
    expected["virtual_host"] = virtual_host
    assert address.options == {name: text for name, text in expected.items() if text is not None}
    assert address.tls == url.startswith("amqps")


def test_26_options_of_a_url():
    address = parse("amqp://h?heartbeat=7&channel_max=9&frame_max=8192&auth_mechanism=external")
    assert address.options == {
        "heartbeat": 7,
        "channel_max": 9,
        "frame_max": 8192,
        "mechanism": "EXTERNAL",
    }


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("http://h", "scheme"),
        ("h:5672", "scheme"),
        ("amqp://u:secret@h/a/b", "%2F"),
        ("amqp://u:secret@h//a", "%2F"),
        ("amqp://u:12/secret@h/a", "%2F for a '/' in a name, a password"),
        ("amqp://u:secret@a..b", "'a..b' is no host name"),
        ("amqp://u:secret@h:x", "port"),
        ("amqp://u:secret@h:70000", "port"),
        ("amqp://u:secret@h?heartbeat=x", "heartbeat"),
        ("amqp://u:secret@h?heartbeat=-1", "heartbeat"),
        ("amqp://u:secret@h?hartbeat=1", "unknown option 'hartbeat'"),
        ("amqp://u:secret@h?auth_mechanism=other", "one of PLAIN, AMQPLAIN, EXTERNAL"),
        ("amqp://u:secret@h/a#b", "%23"),
    ],
)
def test_26_what_is_wrong_with_a_url(url, text):
    with pytest.raises(ValueError, match=text) as caught:
        aio.connect(url)
    assert "secret" not in str(caught.value)


def test_26_several_urls():
    with pytest.raises(ValueError, match="no URL"):
        aio.connect([])
    with pytest.raises(ValueError, match="scheme"):
        aio.connect(["amqp://h", "http://h"])


def test_26_a_password_is_not_shown():
    assert "secret" not in repr(parse("amqp://u:secret@h"))
    assert "secret" not in str(parse("amqp://u:secret@h"))
