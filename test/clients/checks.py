"""What the checks of every SDK share: a running gateway, and one line a check."""

import json
import os
import sys

URL = os.environ["SLUICEGATE_URL"]
KEY = os.environ["SLUICEGATE_KEY"]
STRANGER = "sg_nobody_0"
# Aliases of one model each, served by a deployment that speaks the dialect.
DIALECTS = ("chat", "responses", "messages", "generate")
# A picture of one pixel, and what a provider is to understand of it and one by address, beside words.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SEEN = {
    "messages": [{"role": "user", "kinds": ["text", "image", "image"]}],
    "images": ["image/png", "https://example.com/a.png"],
}


def run(name, checks):
    """Runs each check, all of them, and exits 1 when one fails."""
    failed = 0
    for check in checks:
        try:
            check()
            print(f"ok      python {name}: {check.__name__}")
        except Exception as error:  # every check is to be reported, whatever it raises
            failed += 1
            print(f"FAILED  python {name}: {check.__name__}: {error!r}")
    sys.exit(1 if failed else 0)


def raised_by(error, act):
    """The error of that class that `act` raises."""
    try:
        act()
    except error as raised:
        return raised
    raise AssertionError(f"{error.__name__} was not raised")


def same(got, wanted):
    """Fails, saying both, where they differ."""
    assert got == wanted, f"{got!r} is not {wanted!r}"


def heard_in(text):
    """What a `mirror` says it understood: words, pictures, and what is asked for beside them."""
    heard = json.loads(text)
    return {name: heard[name] for name in ("messages", "images", "system", "temperature")}
