"""The reference of the API as Markdown pages, one per public header, from Doxygen's XML."""
import html
import re
import xml.etree.ElementTree as ET

SPECIAL = re.compile(r"([\\`*_\[\]{}|])")
KINDS = {"class": "class", "struct": "struct", "concept": "concept"}


def escape(words):
    return SPECIAL.sub(r"\\\1", html.escape(words, quote=False))


def slug(words):
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def plain(element):
    """The text of an element, as code."""
    return "" if element is None else " ".join("".join(element.itertext()).split())


class Reference:
    """All public headers, and where each entity of them is explained."""

    def __init__(self, folder):
        self.compounds = {}
        for path in sorted(folder.glob("*.xml")):
            if path.name in ("index.xml", "Doxyfile.xml"):
                continue
            for compound in ET.parse(path).getroot().findall("compounddef"):
                self.compounds[compound.get("id")] = compound
        self.places = {}  # refid -> (page, anchor)
        self.headers = {}  # "locked.h" -> its classes and free members
        self.collect()

    # --- What belongs to which header -------------------------------------------------------------------------------

    @staticmethod
    def header_of(element):
        location = element.find("location")
        file = location.get("file") if location is not None else None
        return file.removeprefix("doclock/") if file else None

    def header(self, name):
        return self.headers.setdefault(name, {"classes": [], "members": [], "about": None})

    def collect(self):
        for compound in self.compounds.values():
            kind = compound.get("kind")
            if kind == "file":
                name = self.header_of(compound)
                if name:
                    self.header(name)["about"] = compound
                    self.places[compound.get("id")] = (page_of(name), "")
            elif kind in KINDS and "detail" not in compound.findtext("compoundname"):
                name = self.header_of(compound)
                if name:
                    self.header(name)["classes"].append(compound)
                    short = self.short(compound)
                    self.places[compound.get("id")] = (page_of(name), slug(short))
                    for member in compound.iter("memberdef"):
                        anchor = f"{slug(short)}-{slug(plain(member.find('name')))}"
                        self.places[member.get("id")] = (page_of(name), anchor)
        for compound in self.compounds.values():
            if compound.get("kind") not in ("namespace", "file"):
                continue
            for member in compound.iter("memberdef"):
                name = self.header_of(member)
                if member.get("id") in self.places or not name or name not in self.headers:
                    continue
                self.headers[name]["members"].append(member)
                self.places[member.get("id")] = (page_of(name), slug(plain(member.find("name"))))
        for name in [name for name, header in self.headers.items() if not header["classes"] and not header["members"]
                     and header["about"] is None]:
            del self.headers[name]

    @staticmethod
    def short(compound):
        return compound.findtext("compoundname").removeprefix("doclock::")

    # --- Descriptions -----------------------------------------------------------------------------------------------

    def inline(self, element, page):
        out = [escape(element.text or "")]
        for child in element:
            out.append(self.inline_child(child, page))
            out.append(escape(child.tail or ""))
        return re.sub(r"\s+", " ", "".join(out))

    def inline_child(self, child, page):
        if child.tag == "computeroutput":
            code = "`" + plain(child).replace("`", "'") + "`"
            ref = child.find("ref")
            return self.link(ref.get("refid"), code, page) if ref is not None and plain(ref) == plain(child) else code
        if child.tag == "ref":
            return self.link(child.get("refid"), "`" + plain(child) + "`", page)
        if child.tag == "ulink":
            return f"[{self.inline(child, page)}]({child.get('url')})"
        if child.tag == "emphasis":
            return f"*{self.inline(child, page).strip()}*"
        if child.tag == "bold":
            return f"**{self.inline(child, page).strip()}**"
        return {"ndash": "–", "mdash": "—", "linebreak": "<br>", "sp": " "}.get(child.tag) or self.inline(child, page)

    def link(self, refid, words, page):
        if refid not in self.places:
            return words
        target, anchor = self.places[refid]
        if target == page and not anchor:
            return words
        up = "../" * page.count("/")
        return f"[{words}]({'' if target == page else up + target}{'#' + anchor if anchor else ''})"

    BLOCKS = ("itemizedlist", "orderedlist", "programlisting", "verbatim", "parameterlist", "simplesect", "table")

    def blocks(self, element, page):
        """The paragraphs of a description."""
        out = []
        for para in element.findall("para") if element is not None else []:
            out += self.paragraph(para, page)
        return [block for block in out if block.strip()]

    def paragraph(self, para, page):
        out, words = [], [escape(para.text or "")]
        for child in para:
            if child.tag in self.BLOCKS:
                out.append("".join(words).strip())
                out.append(self.block(child, page))
                words = []
            else:
                words.append(self.inline_child(child, page))
            words.append(escape(child.tail or ""))
        out.append("".join(words).strip())
        return [block if "\n" in block else re.sub(r"\s+", " ", block) for block in out]

    def block(self, child, page):
        if child.tag in ("itemizedlist", "orderedlist"):
            mark = "- " if child.tag == "itemizedlist" else "1. "
            return "\n".join(mark + " ".join(self.blocks(item, page)) for item in child.findall("listitem"))
        if child.tag == "programlisting":
            lines = ["".join(" " if e.tag == "sp" else (e.text or "") for e in line.iter() if e.tag != "codeline")
                     for line in child.findall("codeline")]
            return "```cpp\n" + "\n".join(code_line(line) for line in child.findall("codeline")) + "\n```" if lines else ""
        if child.tag == "verbatim":
            return "```text\n" + (child.text or "").strip("\n") + "\n```"
        if child.tag == "parameterlist":
            title = {"param": "", "exception": "throws ", "templateparam": ""}.get(child.get("kind"), "")
            return "\n".join(
                f"- {title}`{', '.join(plain(n) for n in item.iter('parametername'))}`: "
                f"{' '.join(self.blocks(item.find('parameterdescription'), page))}"
                for item in child.findall("parameteritem"))
        if child.tag == "simplesect":
            title = {"return": "Returns", "see": "See", "note": "Note"}.get(child.get("kind"), child.get("kind").title())
            return f"*{title}:* " + " ".join(self.blocks(child, page))
        rows = [[" ".join(self.blocks(cell, page)) for cell in row.findall("entry")] for row in child.findall("row")]
        if not rows:
            return ""
        rows.insert(1, ["---"] * len(rows[0]))
        return "\n".join("| " + " | ".join(row) + " |" for row in rows)

    def about(self, element, page):
        return (self.blocks(element.find("briefdescription"), page) +
                self.blocks(element.find("detaileddescription"), page))

    # --- Pages ------------------------------------------------------------------------------------------------------

    def pages(self):
        """(path below api/, title, text) of each header."""
        for name in sorted(self.headers):
            yield page_of(name), name, "\n\n".join(self.page(name)) + "\n"

    def page(self, name):
        page, header = page_of(name), self.headers[name]
        out = [f"# {name}", f"`#include <doclock/{name}>`"]
        if header["about"] is not None:
            out += self.about(header["about"], page)
        for compound in header["classes"]:
            out += self.compound(compound, page)
        if header["members"]:
            if header["classes"]:
                out.append("## Others")
            out += self.members(header["members"], "", page)
        return out

    def compound(self, compound, page):
        short = self.short(compound)
        out = [f"## {escape(short)} {{#{slug(short)}}}"]
        bases = [self.link(base.get("refid"), f"`{plain(base)}`", page) for base in compound.findall("basecompoundref")]
        if bases:
            out.append("Derives from " + ", ".join(bases) + ".")
        out += self.about(compound, page)
        initializer = compound.find("initializer")
        if compound.get("kind") == "concept" and initializer is not None:
            out.append(f"```cpp\n{''.join(initializer.itertext()).strip()}\n```")
        fields, others = [], []
        for section in compound.findall("sectiondef"):
            if section.get("kind", "").startswith("private"):
                continue
            for member in section.findall("memberdef"):
                (fields if member.get("kind") == "variable" else others).append(member)
        if fields:
            out.append(self.fields(fields, page))
        return out + self.members(others, slug(short) + "-", page)

    def fields(self, members, page):
        rows = ["| member | type | default | |", "|---|---|---|---|"]
        for member in members:
            default = plain(member.find("initializer")).removeprefix("=").strip()
            name = plain(member.find("name"))
            rows.append(f"| <a id=\"{self.places[member.get('id')][1]}\"></a>`{name}` | {code_cell(plain(member.find('type')))} | "
                        f"{code_cell(default)} | {cell(self.about(member, page))} |")
        return "\n".join(rows)

    def members(self, members, prefix, page):
        out, by_name = [], {}
        for member in members:
            by_name.setdefault(plain(member.find("name")), []).append(member)
        for name, same in by_name.items():
            text = []
            for member in same:
                about = self.about(member, page)
                if member.get("kind") == "enum":
                    about += [self.enumeration(member, page)]
                text += [f"```cpp\n{signature(member)}\n```", *about]
            out += [f"### {escape(name)} {{#{prefix}{slug(name)}}}", *text]
        return out

    def enumeration(self, member, page):
        rows = ["| value | |", "|---|---|"]
        for value in member.findall("enumvalue"):
            rows.append(f"| `{plain(value.find('name'))}` | {cell(self.about(value, page))} |")
        return "\n".join(rows)

    # --- Pieces for other pages -------------------------------------------------------------------------------------

    def options(self, page):
        """Every struct of options, with its members."""
        out = []
        for name in sorted(self.headers):
            for compound in self.headers[name]["classes"]:
                short = self.short(compound)
                if compound.get("kind") != "struct" or not short.endswith("Options"):
                    continue
                members = [m for m in compound.iter("memberdef") if m.get("kind") == "variable"]
                out.append(f"## {short}")
                out += self.blocks(compound.find("briefdescription"), page)
                rows = ["| option | default | |", "|---|---|---|"]
                for member in members:
                    default = plain(member.find("initializer")).removeprefix("=").strip()
                    rows.append(f"| `{plain(member.find('name'))}` | {code_cell(default)} | {cell(self.about(member, page))} |")
                out.append("\n".join(rows))
        return "\n\n".join(out)

    def errors(self, page):
        """The codes of errors, and the exceptions that carry them."""
        classes = [compound for header in self.headers.values() for compound in header["classes"]]
        exceptions = [f"| {self.link(compound.get('id'), '`' + self.short(compound) + '`', page)} | "
                      f"{cell(self.about(compound, page))} |"
                      for compound in sorted(classes, key=self.short) if self.short(compound).endswith("Exception")]
        out = ["\n".join(["| exception | meaning |", "|---|---|", *exceptions])]
        for member in self.headers["errors.h"]["members"]:
            if plain(member.find("name")) == "Errc":
                out.append(self.enumeration(member, page))
        return "\n\n".join(out)


def code_line(line):
    def text(element):
        words = element.text or ""
        for child in element:
            words += (" " if child.tag == "sp" else text(child)) + (child.tail or "")
        return words
    return text(line).rstrip()


def code_cell(code):
    return f"`{code.replace('|', '¦')}`" if code and code != "{}" else ""


def cell(blocks):
    return " ".join(" ".join(blocks).split())


def page_of(name):
    return f"reference/api/{name.removesuffix('.h')}.md"


def signature(member):
    parts = []
    template = member.find("templateparamlist")
    if template is not None:
        arguments = []
        for param in template.findall("param"):
            declared = plain(param.find("declname"))
            words = " ".join(filter(None, [plain(param.find("type")), declared]))
            default = plain(param.find("defval"))
            arguments.append(words + (f" = {default}" if default else ""))
        parts.append(f"template <{', '.join(arguments)}>")
    kind, name, type_ = member.get("kind"), plain(member.find("name")), plain(member.find("type"))
    if kind == "enum":
        strong = "enum class" if member.get("strong") == "yes" else "enum"
        parts.append(f"{strong} {name};")
    elif kind == "define":
        arguments = [plain(param) for param in member.findall("param")]
        parts.append(f"#define {name}" + (f"({', '.join(arguments)})" if arguments else ""))
    elif kind == "typedef":
        parts.append(plain(member.find("definition")) + ";")
    elif kind == "variable":
        parts.append(f"{type_} {name} {plain(member.find('initializer'))};".replace(" ;", ";"))
    else:
        static = "static " if member.get("static") == "yes" else ""
        parts.append(f"{static}{type_} {name}{plain(member.find('argsstring'))};".strip())
    return "\n".join(parts)
