#!/usr/bin/env python3
"""Opens every page of the built site in headless Chromium, as a reader would.

Each page has to render without an error on the console and without a request that fails or leaves the site. Pages have
to fit a narrow screen, and be readable in the light and the dark scheme. The search has to find what readers look for.

Usage: browse.py FOLDER [PAGE...]     only these pages, such as faq.html, and no searches
"""
import functools
import http.server
import pathlib
import shutil
import sys
import threading

from playwright.sync_api import TimeoutError as TooLate, sync_playwright

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# What a reader types, and a page that has to be among the first answers.
SEARCHES = {
    "InDoubtException": "errors",
    "fence": "fences",
    "exit code": "command",
    "Redisson": "comparison",
    "max_holders": "options",
    "conan": "index",
    "work queue": "work-queue",
    "who holds a lock": "holders",
    "paused process": "concepts",
    "conanfile": "adding-doclock",
    "without a database": "first-service",
    "break a lock": "holders",
    "choose a store": "choosing-a-store",
    "vcpkg": "adding-doclock",
    "io_context": "asio",
}
CONTRAST = 4.5  # WCAG AA
WIDE, NARROW = 1280, 360  # px

READ = """() => {
  const light = (c) => {
    const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  // A canvas turns any notation of a colour into numbers.
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const over = (colour, ground) => {
    canvas.fillStyle = `rgb(${ground.join(",")})`; canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const ground = (element) => element ? over(getComputedStyle(element).backgroundColor, ground(element.parentElement))
                                      : [255, 255, 255];
  let worst = 99, where = "";
  for (const element of document.querySelectorAll("article p, article li, article td, article h1, article h2")) {
    if (!element.textContent.trim() || element.closest(".headerlink")) continue;
    const back = ground(element), front = over(getComputedStyle(element).color, back);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < worst) { worst = contrast; where = element.textContent.trim().slice(0, 40); }
  }
  const body = light(ground(document.querySelector("article")));
  const broken = [...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.getAttribute("src"));
  return {title: document.querySelector("article h1")?.textContent ?? "", words: document.querySelector("article").innerText.length,
          wide: document.scrollingElement.scrollWidth - innerWidth, worst, where, ground: body, broken};
}"""


FOUND = """(wanted) => [...document.querySelectorAll("a.md-search-result__link")].slice(0, 12)
    .some((link) => (link.getAttribute("href") ?? "").includes(wanted))"""


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Reader:
    def __init__(self, browser, base):
        self.browser, self.base, self.mistakes = browser, base, []

    def open(self):
        context = self.browser.new_context()
        page = context.new_page()
        page.on("console", lambda m: m.type in ("error", "warning") and not early_search(m.text) and self.mistake(page.url, f"console: {m.text}"))
        page.on("pageerror", lambda e: self.mistake(page.url, f"script: {e}"))
        page.on("requestfailed", lambda r: "ERR_ABORTED" not in (r.failure or "") and self.mistake(page.url, f"failed: {r.url}"))
        page.on("request", lambda r: r.url.startswith(("http:", "https:")) and not r.url.startswith(self.base) and
                self.mistake(page.url, f"leaves the site: {r.url}"))
        return page

    def mistake(self, where, what):
        self.mistakes.append(f"{where.removeprefix(self.base)}: {what}")

    def read_all(self, names):
        page = self.open()
        for name in names:
            self.look(page, WIDE, "light")
            reply = page.goto(self.base + name)
            if reply is None or reply.status != 200:
                self.mistake(name, "does not open")
                continue
            self.judge(page, name, WIDE, "light")
            self.look(page, NARROW, "dark")
            page.wait_for_selector("body[data-md-color-scheme=slate]")
            self.judge(page, name, NARROW, "dark")
        page.context.close()

    @staticmethod
    def look(page, width, scheme):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")

    def judge(self, page, name, width, scheme):
        seen = page.evaluate(READ)
        at = f"{name} ({width} px, {scheme})"
        if not seen["title"].strip() or seen["words"] < 40:
            self.mistake(at, "has no title or no text")
        if seen["broken"]:
            self.mistake(at, f"pictures are missing: {seen['broken']}")
        if seen["wide"] > 0:
            self.mistake(at, f"is {seen['wide']} px wider than the screen")
        if seen["worst"] < CONTRAST:
            self.mistake(at, f"contrast {seen['worst']:.1f} at \"{seen['where']}\"")
        if (seen["ground"] < 0.2) != (scheme == "dark"):
            self.mistake(at, "is not in this scheme")

    def search(self):
        page = self.open()
        self.look(page, WIDE, "light")
        for words, wanted in SEARCHES.items():
            page.goto(self.base + "index.html")
            page.click("input.md-search__input")
            # Words that come before the index is there are an error of the script.
            page.wait_for_function(
                "!document.querySelector('.md-search-result__meta').textContent.includes('Initializing')")
            page.wait_for_load_state("networkidle")  # the index is there
            page.type("input.md-search__input", words)
            try:  # the search answers each letter, late on a busy machine
                page.wait_for_function(FOUND, arg=f"{wanted}.html", timeout=30000)
            except TooLate:
                found = [link.get_attribute("href") or "" for link in page.query_selector_all("a.md-search-result__link")][:12]
                self.mistake("search", f'"{words}" does not find {wanted}, but {[f.split("?")[0].removeprefix(self.base) for f in found] or "nothing"}')
        page.context.close()


def early_search(text):
    """Is it the theme's own error: its search worker is asked before it has read the index?"""
    return text.startswith("Invalid query: ") or "reading '_index'" in text


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        sys.exit(f"browse: none of {', '.join(BROWSERS)} is installed")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    names = sys.argv[2:] or sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*.html") if p.name != "404.html")
    with sync_playwright() as playwright:
        # Containers run as root, where Chromium's sandbox does not work. The pages are our own.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        reader = Reader(browser, f"http://127.0.0.1:{server.server_port}/")
        reader.read_all(names)
        if not sys.argv[2:]:
            reader.search()
        browser.close()
    server.shutdown()
    if reader.mistakes:
        sys.exit("\n".join(reader.mistakes))
    searches = "" if sys.argv[2:] else f"; {len(SEARCHES)} searches find their pages"
    print(f"browse: {len(names)} pages render in both schemes and on a narrow screen{searches}")


main()
