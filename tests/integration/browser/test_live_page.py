"""Pages that change while somebody looks at them, and the pages of checkpoints, in Chromium."""

import json
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from integration.browser.test_page import DESK, LOOKS, OVERFLOWING, PHONE, served
from support.processes import until
from unit.app.web.statuses import (
    ORDERS,
    STORIES,
    Source,
    a_job,
    a_record,
    a_root,
    a_status,
    amounts,
    without_plan,
)
from unit.app.web.test_checkpoint_pages import GOLDEN, a_run

pytestmark = [pytest.mark.chromium, pytest.mark.ci]

LOOKED_AT = "document.dispatchEvent(new Event('visibilitychange'))"
"""What a browser says when its page comes to the front: the page is fetched at once."""


@dataclass
class Breaking(Source):
    """A daemon whose answers can fail."""

    is_broken: bool = False

    def status(self):
        if self.is_broken:
            raise RuntimeError("a mistake")
        return super().status()


@pytest.fixture(scope="module")
def source():
    return Breaking(a_status())


@pytest.fixture(scope="module")
def base(source):
    with served(source) as url:
        yield url


def wait_for(browser, expression):
    until(lambda: browser.evaluate(expression))


def many_jobs(orphan, *failed):
    """Return a status with so many jobs that the last of them are folded away."""
    jobs = [a_job(f"{n:032x}", amounts=amounts(live=9, orphan=orphan)) for n in range(20)]
    return a_status(a_root(*failed, a_record(1, jobs=jobs)))


AS_OF = "document.querySelector('#as-of time').textContent"
PLACE = """JSON.stringify([
  document.querySelector('#jobs details').open, document.activeElement.textContent,
  document.querySelector('#jobs details').getBoundingClientRect().top, window.kept])"""


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_newer_numbers_come_without_a_reload_and_take_no_place_away(browser, source, base, width):
    """Scroll position, what is unfolded, the focus and what a script holds stay."""
    source.now = many_jobs(1)
    browser.open(base + "/", width=width)
    browser.evaluate(
        "window.kept = 7; document.querySelector('#jobs details').open = true;"
        "document.querySelector('#jobs details a').focus();"
        "document.querySelector('#jobs details').scrollIntoView()"
    )
    before = json.loads(browser.evaluate(PLACE))
    assert before[0]
    later = many_jobs(4, without_plan(error="no such bucket"))  # a section more, above
    source.now = replace(later, now=later.now + timedelta(minutes=3))
    seen = browser.evaluate(AS_OF)
    browser.evaluate(LOOKED_AT)
    wait_for(browser, f"{AS_OF} !== {json.dumps(seen)}")
    assert browser.evaluate(AS_OF) == "2026-11-21 14:47:12 UTC"
    assert browser.evaluate("document.querySelector('#needs') !== null")
    assert "80.0 GB" in browser.evaluate("document.querySelector('#stored').textContent")
    after = json.loads(browser.evaluate(PLACE))
    assert (after[0], after[1], after[3]) == (before[0], before[1], before[3])
    assert abs(after[2] - before[2]) <= 2
    assert browser.look.complaints == []


def test_a_page_says_that_its_daemon_no_longer_answers(browser, source, base):
    """And goes on as soon as it does."""
    source.now = STORIES["well"]()
    browser.open(base + "/", width=PHONE)
    shown = browser.evaluate("document.querySelector('main').textContent")
    source.is_broken = True
    browser.evaluate(LOOKED_AT)
    wait_for(browser, "!document.getElementById('stale').hidden")
    assert browser.evaluate("document.querySelector('main').textContent") == shown
    source.is_broken = False
    browser.evaluate(LOOKED_AT)
    wait_for(browser, "document.getElementById('stale').hidden")


def test_without_a_script_the_page_is_loaded_again_by_its_link(browser, source, base):
    """Nothing needs the script."""
    source.now = STORIES["well"]()
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(f"{base}/ui/runs?root=x", width=DESK)
        source.now = replace(source.now, now=source.now.now + timedelta(minutes=3))
        browser.evaluate("document.querySelector('#as-of a').click()")
        browser.wait_until_loaded()
        assert browser.evaluate(AS_OF) == "2026-11-21 14:47:12 UTC"
        assert browser.evaluate("location.search") == "?root=x"
    finally:
        browser.ask("Emulation.setScriptExecutionDisabled", value=False)


def test_no_text_becomes_code(browser, source, base):
    """Neither by a script of another place nor by one that is written into the page."""
    source.now = a_status()
    browser.open(base + "/", width=DESK)
    tried = (
        "try { document.body.innerHTML = '<b>x</b>'; 'changed' } catch (error) { error.name }",
        "try { document.createElement('script').text = '1'; 'made' } catch (error) { error.name }",
    )
    assert [browser.evaluate(each) for each in tried] == ["TypeError", "TypeError"]


def test_the_pages_of_checkpoints_fit_every_screen(browser, source, base, tmp_path):
    """A job's checkpoints, one of them as ``inspect`` shows it, and the lineages before them."""
    record = a_run(tmp_path, GOLDEN)
    source.now = a_status(a_root(record, settings={"root": record.root}))
    run = f"/ui/runs/{record.run_id}"
    paths = [f"{run}/checkpoints?{asked}" for asked in (f"job={ORDERS}", f"uri={GOLDEN}")]
    for path in (*paths, f"{run}/lineages"):
        for width, scheme in LOOKS[:3]:
            browser.open(base + path, width=width, scheme=scheme)
            where = f"{path} at {width}, {scheme}"
            assert browser.look.complaints == [], where
            assert browser.evaluate("document.documentElement.scrollWidth") <= width, where
            assert browser.evaluate(f"JSON.stringify({OVERFLOWING})") == "[]", where
    browser.evaluate("document.querySelector('details').open = true")
    browser.evaluate("document.querySelector('details a').click()")
    browser.wait_until_loaded()
    assert browser.evaluate("document.querySelectorAll('section.checkpoint svg.bar').length") > 0
