"""The listings of the pages about Python, run as they stand; a block of text after a listing is what it prints."""

import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = ["README.md", "crates/python/README.md", "book/src/tutorials/python.md"]


@pytest.mark.parametrize("page", PAGES)
def test_listings_run_and_print_what_the_page_says(page, monkeypatch, tmp_path):
    if page == PAGES[-1]:
        pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)  # a listing writes a picture
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / page).read_text(), flags=re.M | re.S)
    names = {"__name__": "__main__"}
    listings = 0
    for (language, text), (next_language, printed) in zip(blocks, [*blocks[1:], ("", "")]):
        if language != "python":
            continue
        listings += 1
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(text, page, "exec"), names)
        if next_language == "text":
            same = doctest.OutputChecker().check_output(printed, out.getvalue(), doctest.ELLIPSIS)
            assert same, f"{page} says\n{printed}\nbut the listing prints\n{out.getvalue()}"
    assert listings > 0
