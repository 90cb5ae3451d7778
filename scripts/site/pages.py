#!/usr/bin/env python3
"""Gathers the pages of the site in one folder, and writes the configuration that MkDocs reads.

The pages are README.md, docs/, CONTRIBUTING.md, CHANGELOG.md and others of the root, the samples' sources, the scripts
that the stores play, and the reference of the API (Doxygen's XML). Links between files of the repository become links
between pages; a link to a file that is no page is an error. So is a document that does not say whom it is for, and more
text for users than they would read: of README.md and docs/ without reference/, maintaining/ and decisions/, code aside.

Usage: pages.py ROOT XML OUT      (OUT gets mkdocs.yml and pages/)
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import yaml

import api

ROOT_PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md",
              "SECURITY.md": "security.md", "CODE_OF_CONDUCT.md": "conduct.md"}
LINK = re.compile(r"(!?\[(?:[^\[\]`]|`[^`]*`|\[[^\]]*\])*\])\(([^()\s]+)\)")
BOOST = "---\nsearch:\n  boost: 2\n---\n\n"
NOT_FOR_ALL_USERS = ("docs/reference/", "docs/maintaining/", "docs/decisions/")
MOST_WORDS = 16_000
SCRIPTS = "tests/conformance/suite/scripts"
SNIPPET = re.compile(r"^[ \t]*<!-- (?:snippet|run): .*-->\n", re.MULTILINE)
CODE = {".cpp": "cpp", ".h": "cpp", ".txt": "cmake", ".sh": "sh"}


class Site:
    def __init__(self, root, xml, out):
        self.root, self.out, self.pages = root, out, out / "pages"
        self.reference = api.Reference(xml)
        self.where = {}  # file of the repository -> page
        self.mistakes = []
        self.words = 0

    def make(self):
        shutil.rmtree(self.pages, ignore_errors=True)
        self.pages.mkdir(parents=True)
        files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "docs", "samples"],
                               cwd=self.root, check=True, capture_output=True, text=True).stdout.split()
        documents = [f for f in files if f.startswith("docs/") and f.endswith(".md") and (self.root / f).exists()]
        for name in documents:
            self.where[name] = name.removeprefix("docs/")
        for name, page in ROOT_PAGES.items():
            if (self.root / name).exists():
                self.where[name] = page
        self.where["LICENSE"] = "license.md"
        self.where["docs/decisions"] = "decisions/index.md"
        for name in self.reference.headers:
            self.where[f"include/doclock/{name}"] = api.page_of(name)
        for folder, names in (("pictures", "*.svg"), ("figures", "*.svg"), ("figures/rounds", "*.json*"),
                              ("reference", "*.json")):
            for file in (self.root / "docs" / folder).glob(names):
                self.copy_file(file)
        self.samples([f for f in files if f.startswith("samples/") and (self.root / f).exists()])
        self.write("license.md", "# License\n\n```text\n" + (self.root / "LICENSE").read_text() + "```\n")
        self.scripts()
        self.decisions([name for name in documents if name.startswith("docs/decisions/")])
        api_pages = []
        for page, title, text in self.reference.pages():
            self.write(page, text)
            api_pages.append({title: page})
        for name in documents + [n for n in ROOT_PAGES if n in self.where]:
            self.document(name)
        print(f"docs: {self.words:,} words for users")
        if self.words > MOST_WORDS:
            self.mistakes.append(f"the pages for users have {self.words:,} words; {MOST_WORDS:,} are the most")
        self.configure(api_pages)
        if self.mistakes:
            sys.exit("\n".join(self.mistakes))

    def write(self, page, text):
        path = self.pages / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def copy_file(self, file):
        name = file.relative_to(self.root / "docs").as_posix()
        self.where[f"docs/{name}"] = name
        (self.pages / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, self.pages / name)

    # --- Documents --------------------------------------------------------------------------------------------------

    def document(self, name):
        text = (self.root / name).read_text(encoding="utf-8")
        page = self.where[name]
        parts = re.split(r"(^[ \t]*```.*?^[ \t]*```[ \t]*$)", text, flags=re.MULTILINE | re.DOTALL)
        for i in range(0, len(parts), 2):
            if name == "README.md" or name.startswith("docs/") and not name.startswith(NOT_FOR_ALL_USERS):
                self.words += len(re.sub(r"<!--.*?-->", "", parts[i], flags=re.DOTALL).split())
            parts[i] = SNIPPET.sub("", LINK.sub(lambda match: self.relink(match, name, page), parts[i]))
        text = "".join(parts)
        if name.startswith("docs/") and not name.startswith("docs/decisions/") and "\n*For " not in text[:500]:
            self.mistakes.append(f"{name}: the first lines do not say whom it is for")
        # A page of names comes before the pages that only mention one: without this they are equal in a search.
        self.write(page, BOOST + text if "\n<!-- made: " in text else text)

    def relink(self, match, name, page):
        words, target = match[1], match[2]
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return match[0]
        path, _, anchor = target.partition("#")
        source = os.path.normpath(os.path.join(os.path.dirname(name), path))
        if source not in self.where:
            self.mistakes.append(f"{name}: {target} is no page of the site")
            return words
        there = os.path.relpath(self.where[source], os.path.dirname(page) or ".")
        return f"{words}({there}{'#' + anchor if anchor else ''})"

    def samples(self, files):
        """A page for each sample: its sources."""
        groups = {}
        for name in files:
            top = "/".join(name.split("/")[:2])
            if name.endswith((".cpp", ".h", "CMakeLists.txt")):
                groups.setdefault(top, []).append(name)
        for top, names in groups.items():
            if top.endswith("CMakeLists.txt"):
                continue
            page = f"samples/{pathlib.Path(top).stem}.md"
            self.where[top] = page
            text = [f"# Sample: {pathlib.Path(top).stem}", f"`{top}`"]
            for name in names:
                self.where[name] = page
                text += [f"## {name.removeprefix(top).lstrip('/') or pathlib.Path(name).name}",
                         f"````{CODE.get(pathlib.Path(name).suffix, 'text')}\n{(self.root / name).read_text()}````"]
            self.write(page, "\n\n".join(text) + "\n")

    def scripts(self):
        """A page for each script that the stores play."""
        for file in sorted((self.root / SCRIPTS).glob("*.script")):
            page = f"scripts/{file.stem}.md"
            self.where[f"{SCRIPTS}/{file.name}"] = page
            self.write(page, f"# Script: {file.stem}\n\n````text\n{file.read_text(encoding='utf-8')}````\n")

    def decisions(self, names):
        rows = []
        for name in sorted(names):
            title = (self.root / name).read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
            rows.append(f"- [{title}]({pathlib.Path(name).name})")
        self.write("decisions/index.md", "# Decisions\n\nWhy things are as they are:\n\n" + "\n".join(rows) + "\n")

    # --- MkDocs -----------------------------------------------------------------------------------------------------

    def configure(self, api_pages):
        config = yaml.safe_load((self.root / "docs" / "mkdocs.yml").read_text(encoding="utf-8"))
        sample_pages = sorted({page for page in self.where.values() if page.startswith("samples/")})
        scripts = sorted({page for page in self.where.values() if page.startswith("scripts/")})
        decisions = ["decisions/index.md"] + sorted(
            p for n, p in self.where.items() if n.startswith("docs/decisions/") and n.endswith(".md"))
        made = {"api": api_pages, "samples": sample_pages, "scripts": scripts, "decisions": decisions}

        def fill(entry):
            if isinstance(entry, list):
                return [filled for item in entry if (filled := fill(item)) is not None]
            if isinstance(entry, dict):
                (title, value), = entry.items()
                if isinstance(value, str) and value.startswith("made:"):
                    return {title: made[value.removeprefix("made:").strip()]}
                return {title: fill(value)} if isinstance(value, list) else entry
            return entry

        config["nav"] = fill(config["nav"])
        config["docs_dir"], config["site_dir"] = str(self.pages), str(self.out / "html")
        shutil.copy(self.root / "docs" / "site.css", self.pages / "site.css")
        (self.out / "mkdocs.yml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    Site(*(pathlib.Path(argument).resolve() for argument in sys.argv[1:])).make()
