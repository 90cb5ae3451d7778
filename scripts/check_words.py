#!/usr/bin/env python3
"""Counts the comments of include/ and src/ that use forms which CONTRIBUTING.md ("Names and English") rules out.

usage: scripts/check_words.py [--list [FOLDER] | --update]

scripts/words.txt allows each folder as many as it has today. A folder with more fails, and so does one with fewer: its
allowance only falls.
  --list    prints each such comment, of all folders or of one
  --update  lowers the allowances to what there is; it raises none
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "scripts" / "words.txt"

# What is counted: a name, the pattern, a comment that has the form, and how to say the same without it.
FORMS = [
    ("a beginning that leans on another comment", r"^(?:Of|(?:That|Those) of|The same|As above)\b",
     "Those of other tables do not wait.", "Renewals in other tables do not wait."),
    ("an actor without a name", r"(?i)\b(?:no|some)body\b|\bwhoever\b",
     "Nobody holds it.", "No client holds it."),
    ("told", r"\b(?:is|are|was|were|be|been|being) (?:not )?told\b",
     "The caller is told of it.", "The caller gets it."),
    ("kept, of a row lock", r"\b(?:document|row|table|collection|operation|one)s? (?:that )?(?:is|are|was|were|stays?|stayed) kept\b"
     r"|\b(?:others|(?:clients?|transactions?)) (?:keeps?|kept) (?:an?|the|one|them|it|rows?|documents?|tables?)\b",
     "Another transaction keeps a row.", "Another transaction has locked a row."),
    ("so long, so far", r"(?:^|[.?!] )So (?:long|far)\b",
     "So long it waits.", "It waits for this long."),
    ("a look", r"(?i)\ba look\b",
     "Needs a look at the row.", "Reads the row."),
    ("is to be", r"\b(?:is|are|was|were) (?:not )?to be\b",
     "A document that is to be written.", "A document that the call writes."),
    ("but for", r"(?i)\bbut for\b",
     "All fields but for the key.", "All fields except the key."),
    ("one outcome of two", r"^(?!.*\b[Tt]rue\b).*\bFalse\b",
     "Takes the row. False: another client has locked it.", "Returns true if it took the row; false if another client has locked it."),
]
PATTERNS = [(name, re.compile(pattern)) for name, pattern, _, _ in FORMS]

# A comment, or what may look like the beginning of one and is none.
TOKEN = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|(?P<comment>//[^\n]*|/\*.*?\*/)', re.DOTALL)
FRAME = re.compile(r"^(?://[/!]?<?|/\*[*!]?<?|\*(?!/))\s*|\s*\*/$", re.MULTILINE)


def comments_of(text):
    """(line, words) of each comment; lines that stand below each other at one indent are one."""
    found, end, column = [], None, None
    for token in TOKEN.finditer(text):
        comment = token["comment"]
        if not comment:
            continue
        begin, here = token.start(), token.start() - text.rfind("\n", 0, token.start())
        words = FRAME.sub("", re.sub(r"\n\s*", "\n", comment)).replace("\n", " ").strip()
        words = re.sub(r"^[@\\](?:brief|return|returns)\s+", "", words)
        if end is not None and here == column and re.fullmatch(r"\n *", text[end:begin]):
            found[-1][1] += " " + words
        else:
            found.append([text.count("\n", 0, begin) + 1, words])
        end, column = token.end(), here
    return found


def forms_in(words):
    return [name for name, pattern in PATTERNS if pattern.search(words)]


def found_in_sources():
    """{folder: [(place, form, words)]}"""
    found = collections.defaultdict(list)
    for path in sorted(path for top in ("include", "src") for path in (ROOT / top).rglob("*") if path.suffix in {".h", ".cpp"}):
        name = path.relative_to(ROOT)
        for line, words in comments_of(path.read_text(encoding="utf-8")):
            for form in forms_in(words):
                found[name.parent.as_posix()].append((f"{name}:{line}", form, words))
    return found


def allowances():
    rules = (line.split("#")[0].partition(":") for line in TABLE.read_text(encoding="utf-8").splitlines())
    return {folder.strip(): int(count) for folder, colon, count in rules if colon}


def write(counts):
    header = TABLE.read_text(encoding="utf-8").splitlines()[0]
    TABLE.write_text("\n".join([header, *(f"{folder}: {count}" for folder, count in sorted(counts.items()) if count)]) + "\n",
                     encoding="utf-8")


def main():
    for name, pattern, coined, plain in FORMS:
        if forms_in(coined) != [name] or forms_in(plain):
            sys.exit(f"check_words: \"{name}\" does not tell its own examples apart")
    arguments = sys.argv[1:]
    found, allowed = found_in_sources(), allowances()
    if arguments[:1] == ["--list"] and len(arguments) < 3:
        for folder in arguments[1:] or sorted(found):
            for place, form, words in found.get(folder.rstrip("/"), []):
                print(f"{place}: {form}: {words}")
        return 0
    if arguments == ["--update"]:
        write({folder: min(allowed.get(folder, 0), len(places)) for folder, places in found.items()})
        allowed = allowances()
    elif arguments:
        print(__doc__.strip(), file=sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    faults = []
    for folder in sorted(found.keys() | allowed.keys()):
        count, most = len(found.get(folder, [])), allowed.get(folder, 0)
        if count > most:
            faults.append(f"{folder} has {count} comments that are not plain, and {most} are allowed: scripts/check_words.py --list {folder}")
        elif count < most:
            faults.append(f"{folder} has {count} comments that are not plain, fewer than the {most} of scripts/words.txt: run "
                          "scripts/check_words.py --update")
    for fault in faults:
        print(f"check_words: {fault}", file=sys.stderr)
    if not faults:
        print(f"check_words: {sum(allowed.values())} comments that are not plain, as scripts/words.txt allows them")
    return 1 if faults else 0


sys.exit(main())
