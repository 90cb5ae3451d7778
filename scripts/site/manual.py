"""The manual of the command as Markdown, from the macros of man(7) that packaging/cli/doclock.1 uses."""
import re

ESCAPES = {r"\-": "-", r"\(rs": "\\", r"\ ": " "}
SPECIAL = re.compile(r"([\\`*_<>|])")


def runs_of(words, font):
    """The text in pieces of one font each; `\\fI` changes the font, `\\fP` goes back."""
    before, runs = font, []
    for part in re.split(r"(\\f[RBIP])", words):
        if part.startswith("\\f"):
            before, font = font, before if part[2] == "P" else part[2]
        elif part:
            runs.append((font, re.sub(r"\\-|\\\(rs|\\ ", lambda match: ESCAPES[match[0]], part)))
    return runs


def escape(words):
    return SPECIAL.sub(r"\\\1", words)


def inline(runs):
    """Bold is code, and italic is emphasis; what is raw is Markdown."""
    merged = []
    for font, words in runs:
        if merged and merged[-1][0] == font:
            words = merged.pop()[1] + words
        merged.append((font, words))
    out = ""
    for font, words in merged:
        bare = words.strip()
        if font == "raw":
            out += words
            continue
        if font == "R" or not re.search(r"[\w-]", bare):
            out += escape(words)
            continue
        marked = f"`{bare}`" if font == "B" or "_" in bare else f"*{escape(bare)}*"
        out += words[:len(words) - len(words.lstrip())] + marked + words[len(words.rstrip()):]
    return out


def line_runs(line):
    """A line of text, or of a macro that chooses fonts, and a space behind it."""
    macro, _, rest = line.partition(" ")
    if not macro.startswith("."):
        return [*runs_of(line, "R"), ("R", " ")]
    fonts = macro[1:]
    if not re.fullmatch("[RBI]{1,2}", fonts):
        raise ValueError(f'the manual uses the macro "{macro}", which scripts/site/manual.py does not know')
    words = [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|((?:\\.|[^\s\\])+)', rest)]
    if len(fonts) == 1:
        return [*runs_of(" ".join(words), fonts), ("R", " ")]
    return [run for i, word in enumerate(words) for run in runs_of(word, fonts[i % 2])] + [("R", " ")]


class Manual:
    def __init__(self, source):
        self.lines = iter(source.splitlines())
        self.out, self.runs = [], []

    def markdown(self):
        for line in self.lines:
            macro, _, rest = line.partition(" ")
            if macro in (".TH", "'\\\""):
                continue
            if macro in (".SH", ".SS"):
                self.end()
                self.out.append("## " + rest.capitalize() if macro == ".SH" else "### " + rest)
            elif macro == ".PP":
                self.end()
            elif macro == ".br":
                self.runs.append(("raw", "<br>\n"))
            elif macro == ".TP":
                self.end()
                tag = inline(line_runs(next(self.lines))).strip()
                self.runs = [("raw", f"- {tag}: ")]
            elif macro == ".EX":
                self.end()
                self.out.append("```sh\n" + "\n".join(self.until(".EE")) + "\n```")
            elif macro == ".TS":
                self.end()
                self.table(self.until(".TE"))
            else:
                self.runs += line_runs(line)
        self.end()
        return "\n\n".join(self.out)

    def until(self, end):
        return [line.replace("\\-", "-") for line in iter(lambda: next(self.lines), end)]

    def end(self):
        words = inline(self.runs).strip()
        if words:
            self.out.append(re.sub(r" +(<br>)?\n", r"\1\n", re.sub(" +", " ", words)))
        self.runs = []

    def table(self, lines):
        """Rows of two columns. The first two lines are options; `T{` and `T}` enclose a cell of several lines."""
        text = re.sub(r"T\{\n(.*?)\nT\}", lambda match: match[1].replace("\n", " "), "\n".join(lines[2:]), flags=re.DOTALL)
        rows = ["| code | when |", "|---|---|"]
        for row in text.splitlines():
            code, when = row.split("|")
            rows.append(f"| {code} | {when} |")
        self.out.append("\n".join(rows))
