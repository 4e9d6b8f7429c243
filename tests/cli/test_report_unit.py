"""amqpcodec report: one page, which opens without a network; a browser looks at it."""

from __future__ import annotations

import json
import math
import re
import shutil
import time
from itertools import pairwise

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("rich")
pytest.importorskip("bokeh")

from amqpcodec import v0_9_1 as amqp
from amqpcodec.cli.report import collect
from amqpcodec.cli.report.series import OTHERS, Series
from tests.cli.conftest import TALK
from tests.cli.test_questions_unit import SHOP
from tests.support import recording as builder
from tests.support.amqp091_messages import sent
from tests.support.event_talk import write
from tests.support.shop_talk import working

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
#: What a hostile peer may call its queues, reasons and products.
EVIL = '</script><script>window.evil=1</script><img src=x onerror="window.evil=2"><b>${x}'
FIGURES = ["rates", "messages", "queues", "latency", "sizes", "errors", "connections"]


def hostile() -> list[tuple[str, bytes]]:
    start = amqp.Connection.StartOk(
        client_properties={"product": EVIL}, mechanism="PLAIN", response=b"\0eve\0s3cret-word"
    )
    b = amqp.Basic
    return [
        *SHOP[:2],
        ("client", sent(0, start)),
        *SHOP[3:-1],
        ("client", sent(1, b.Publish("", EVIL), b.Properties(message_id="m-9"), b"")),
        ("server", sent(1, b.Ack(delivery_tag=4))),
        ("server", sent(2, amqp.Channel.Close(404, EVIL, 50, 10))),
        ("client", bytes.fromhex("01 0001 00000006 003c 003c c8 61 ce")),
    ]


def test_what_is_unknown_is_no_0(tmp_path, run):
    """Bytes are missing: deliveries, or their ends, may be, too."""
    out = tmp_path / "page.html"
    for talk, number in ((working(), "2"), (working()[:4] + working()[5:], "unknown")):
        run("report", write(tmp_path / "talk.pcap", talk), "-o", out)
        assert f"<b>{number}</b><span>unacknowledged</span>" in out.read_text()


def test_numbers_that_are_unknown_are_said_to_be(tmp_path, run):
    out = tmp_path / "page.html"
    assert run("report", write(tmp_path / "talk.pcap", working()), "-o", out).status == 0
    assert "<td>unknown</td>" not in out.read_text()
    damaged = working()[:4] + working()[5:]
    run("report", write(tmp_path / "damaged.pcap", damaged), "-o", out)
    text = out.read_text()
    (queues,) = re.findall("<h2>Queues</h2>(.*?)</section>", text, re.S)
    head, row = (re.findall("<t[hd].*?>(.*?)</t[hd]>", line) for line in queues.split("<tr>")[1:3])
    assert dict(zip(head, row, strict=True))["unacknowledged"] == "unknown"
    assert dict(zip(head, row, strict=True))["backlog"] == "unknown"


def test_a_queue_of_which_a_number_is_unknown_is_drawn(monkeypatch):
    from amqpcodec.cli.report import charts
    from amqpcodec.cli.report.collect import Contents

    contents = Contents()
    contents.rows["queues"] = [
        {"queue": "a", "published": None, "delivered": 4},
        {"queue": "b", "published": 3, "delivered": 3},
    ]
    drawn = charts._queues(contents)
    (source,) = {glyph.data_source for glyph in drawn.renderers}
    assert source.data["delivered"] == [3, 4]
    assert source.data["published"][0] == 3
    assert math.isnan(source.data["published"][1])


def test_gaps_of_all_connections_are_counted(tmp_path, run, monkeypatch):
    """Also of those that the page has no room for."""
    monkeypatch.setattr(collect, "MAX_ROWS", 1)
    sides = [(int(who == "server"), octets) for who, octets in TALK]
    talk = []
    for port in (40001, 40002, 40003):
        sent = builder.packets(sides, client=port)
        talk += sent[:4] + sent[5:]
    out = tmp_path / "page.html"
    run("report", write(tmp_path / "talk.pcap", talk), "-o", out)
    assert "<b>3</b><span>gaps</span>" in out.read_text()
    assert "Connections, without 2 more" in out.read_text()


@pytest.fixture
def page(tmp_path, run):
    recording, out = tmp_path / "a&b<i>.pcap", tmp_path / "page.html"
    recording.write_bytes(builder.pcap(builder.dialogue(hostile())))
    assert run("report", recording, "-o", out).status == 1  # a bad frame is in it
    return out


def test_page_needs_nothing_else(page):
    text = page.read_text()
    head = text.partition("<script>")[0]
    assert "default-src 'none'" in head
    body = text[text.index("<body>") :]
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", head + body)
    assert "s3cret" not in text
    assert "<img src=x" not in body
    assert "</script><script>window.evil" not in text
    assert [path.name for path in page.parent.iterdir() if path.name.endswith(".part")] == []


def test_page_says_what_happened(page):
    body = page.read_text().partition("<body>")[2]
    for name in FIGURES:
        assert f'id="{name}"' in body
    assert "<b>4</b><span>published</span>" in body
    assert "<b>3</b><span>delivered</span>" in body
    assert "<b>1</b><span>redelivered</span>" in body
    assert "&lt;/script&gt;" in body


def test_wrong_use(run, good, tmp_path):
    assert run("report", "-").status == 2
    result = run("report", good, "-o", tmp_path / "x.pdf")
    assert (result.status, "ends in .html" in result.err) == (2, True)
    result = run("report", tmp_path / "missing", "-o", tmp_path / "x.html")
    assert result.status == 2
    assert not (tmp_path / "x.html").exists()


def test_recording_without_frames(run, tmp_path):
    path, out = tmp_path / "empty.pcap", tmp_path / "x.html"
    path.write_bytes(builder.pcap([]))
    result = run("report", path, "-o", out)
    assert (result.status, result.out, len(result.err.splitlines())) == (1, "", 1)
    assert "There is nothing to show" in out.read_text()


@pytest.fixture
def browser():
    selenium = pytest.importorskip("selenium")
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("needs Chromium and its driver")
    assert selenium
    from selenium.webdriver import Chrome
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = CHROMIUM
    for word in (
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"),
    ):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options, Service(DRIVER))
    yield driver
    driver.quit()


def wait_for(driver, script: str) -> None:
    end = time.monotonic() + 20
    while not driver.execute_script(f"return {script}"):
        assert time.monotonic() < end, script
        time.sleep(0.05)


def sized(driver, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def opened(driver, page, width: int) -> None:
    sized(driver, width)
    driver.get(page.as_uri())
    wait_for(driver, "document.documentElement.dataset.ready === 'yes'")


#: Is a figure as wide as the room in its card?
FITS = (
    "[...document.querySelectorAll('section')].every(card => {"
    " const drawn = card.querySelector('.figure > *'), style = getComputedStyle(card);"
    " const beside = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);"
    " if (!drawn) return true;"
    " const room = card.clientWidth - beside;"
    " return Math.abs(drawn.getBoundingClientRect().width - room) < 2; })"
)


def test_figures_fit_their_cards(browser, page):
    """At 1000 there is a scrollbar, which comes when the first figures are drawn already."""
    for width in (390, 1000):
        opened(browser, page, width)
        wait_for(browser, FITS)
    for width in (1600, 390, 1000):
        sized(browser, width)
        wait_for(browser, FITS)


@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser(browser, page, width):
    opened(browser, page, width)
    # Nothing of the wire was run, nothing went wrong, nothing was asked of a network.
    assert browser.execute_script("return window.evil") is None
    assert browser.get_log("browser") == []
    urls = {
        message["params"]["request"]["url"]
        for message in (json.loads(e["message"])["message"] for e in browser.get_log("performance"))
        if message["method"] == "Network.requestWillBeSent"
    }
    assert {url.partition(":")[0] for url in urls} <= {"file", "data", "blob"}
    # Every figure is drawn, and fits.
    for name in FIGURES:
        box = browser.execute_script(
            f"const r = document.querySelector('#{name} > *').getBoundingClientRect();"
            "return [r.left, r.right, r.height]"
        )
        assert 0 <= box[0] < box[1] <= width
        assert box[2] > 150
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert "<img" in browser.execute_script("return document.body.innerText")


#: All elements of a page, also those within shadow roots.
ALL = (
    "const all = []; const visit = root => root.querySelectorAll('*').forEach(e => {"
    " all.push(e); if (e.shadowRoot) visit(e.shadowRoot); }); visit(document);"
)


def test_zoom_hover_and_theme(browser, page):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    opened(browser, page, 1280)
    figure = "Bokeh.documents[0].roots()[0]"
    span = f"[{figure}.x_range.start, {figure}.x_range.end].join()"
    before = browser.execute_script(f"return {span}")
    plot = browser.find_element(By.CSS_SELECTOR, "#rates")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    mouse = ActionChains(browser)
    mouse.move_to_element_with_offset(plot, -200, -60).click_and_hold()
    mouse.move_by_offset(60, 0).move_by_offset(100, 0).pause(0.2).release()
    end = time.monotonic() + 20
    while browser.execute_script(f"return {span}") == before:
        assert time.monotonic() < end
        mouse.perform()

    def boxes() -> str:
        return browser.execute_script(
            f"{ALL} return all.filter(e => e.classList.contains('bk-Tooltip'))"
            ".map(e => e.shadowRoot.textContent).join()"
        )

    ActionChains(browser).move_to_element_with_offset(plot, 10, -60).perform()
    end = time.monotonic() + 20
    while "basic." not in boxes():
        assert time.monotonic() < end
        time.sleep(0.05)

    def colours() -> list[str]:
        return browser.execute_script(
            "return [getComputedStyle(document.body).backgroundColor,"
            f"{figure}.below[0].major_label_text_color, document.documentElement.dataset.theme]"
        )

    one = colours()
    browser.find_element(By.ID, "theme").click()
    other = colours()
    assert all(a != b for a, b in zip(one, other, strict=True))
    # No button sends what is shown to anybody, and no link leads elsewhere.
    buttons, links = browser.execute_script(
        f"{ALL} return [{figure}.toolbar.tools.map(t => t.type),"
        " all.filter(e => e.tagName === 'A').map(e => e.href)]"
    )
    assert sorted(buttons) == [
        *("BoxZoomTool", "HoverTool", "PanTool", "ResetTool", "SaveTool", "WheelZoomTool")
    ]
    assert links == []
    assert browser.get_log("browser") == []


def test_a_page_is_small(page):
    """It goes by mail."""
    assert page.stat().st_size < 700_000


def test_a_series_grows_with_the_recording() -> None:
    """At most 240 pieces of time, and 200 names, after which all are one; nothing is lost."""
    series = Series()
    for n in range(1000):
        series.add("q", 1_000_000 + n * 10_000)
    series.add("q", None)
    times, rates = series.curve(["q"])
    assert 120 < len(times) <= 241
    assert {after - time for time, after in pairwise(times)} == {series.width}
    assert round(sum(rates) * series.width / 1e6) == series.total("q") == 1000
    for n in range(300):
        series.add(f"n{n}", 1_000_000)
    assert (series.total("n198"), series.total("n199"), series.total(OTHERS)) == (1, 0, 101)
    assert series.busiest(2) == ["q", OTHERS]
    assert Series().curve(["q"]) == ([], [])
