#!/usr/bin/env python3
"""Makes the parts of docs/reference/ that have another source: between `<!-- made: NAME -->` and `<!-- end -->` stands

    errors     of all exceptions in include/doclock/, and the codes of errors.h
    options    of all structs of options in include/doclock/
    metrics    of src/metrics/prometheus_observer.cpp
    manual     of packaging/cli/doclock.1

With --check it changes nothing, and fails if a part is not what its source makes.

Usage: reference.py [--check]
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts" / "site"))

import api  # noqa: E402
import manual  # noqa: E402

MADE = re.compile(r"(?<=^<!-- made: )(\w+)( -->\n).*?(?=^<!-- end -->$)", re.MULTILINE | re.DOTALL)


def api_of_headers():
    settings = (ROOT / "docs" / "Doxyfile").read_text(encoding="utf-8")
    settings += "\nOUTPUT_DIRECTORY = build/reference\nGENERATE_HTML = NO\nGENERATE_XML = YES\nXML_PROGRAMLISTING = NO\n"
    (ROOT / "build" / "reference").mkdir(parents=True, exist_ok=True)
    for old in (ROOT / "build" / "reference").glob("xml/*.xml"):
        old.unlink()
    subprocess.run(["doxygen", "-"], input=settings, text=True, cwd=ROOT, check=True)
    return api.Reference(ROOT / "build" / "reference" / "xml")


def metrics():
    source = (ROOT / "src" / "metrics" / "prometheus_observer.cpp").read_text(encoding="utf-8")
    found = {}
    for metric, text in re.findall(r'"(doclock_\w+)",\s*"([^"]+)"', source):
        found.setdefault(metric, text)
    if len(found) < 10:
        sys.exit("reference: the metrics were not found in src/metrics/prometheus_observer.cpp")
    rows = ["| metric | kind | what it counts |", "|---|---|---|"]
    for metric, text in found.items():
        kind = "counter" if metric.endswith("_total") else "histogram" if metric.endswith("_seconds") else "gauge"
        rows.append(f"| `{metric}` | {kind} | {text} |")
    return "\n".join(rows)


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    headers = api_of_headers()
    parts = {
        "errors": headers.errors("reference/errors.md"),
        "options": headers.options("reference/options.md"),
        "metrics": metrics(),
        "manual": manual.Manual((ROOT / "packaging/cli/doclock.1").read_text(encoding="utf-8")).markdown(),
    }
    # In the repository an entity is explained in its header.
    parts = {name: re.sub(r"\]\((?:\.\./)?reference/api/([\w/]+)\.md", r"](../../include/doclock/\1.h", text)
             for name, text in parts.items()}
    stale = False
    for page in sorted((ROOT / "docs" / "reference").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        made = MADE.sub(lambda match: f"{match[1]}{match[2]}\n{parts[match[1]]}\n\n", text)
        if made == text:
            continue
        stale = True
        if check:
            print(f"reference: {page.relative_to(ROOT)} is not made from its source; run scripts/reference.py", file=sys.stderr)
        else:
            page.write_text(made, encoding="utf-8")
            print(f"reference: {page.relative_to(ROOT)}")
    sys.exit(check and stale)


if __name__ == "__main__":
    main()
