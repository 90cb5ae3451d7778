"""Finds the places where one change of the source should be noticed, and writes a copy of the sources that holds all
of them, switched off. Works on sources formatted by clang-format."""

import dataclasses
import re

TOKEN = re.compile(
    r'''(?P<space>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)
      | (?P<string>(?:u8|L|u|U)?R"(?P<tag>[^(]*)\(.*?\)(?P=tag)"|(?:u8|L|u|U)?"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')
      | (?P<number>\d(?:[\w.]|'\w)*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<mark><=>|->|\+\+|--|&&|\|\||<<=|>>=|<=|>=|==|!=|\+=|-=|\*=|/=|::|<<|.)''',
    re.VERBOSE | re.DOTALL | re.MULTILINE)

SWAPS = {
    '<': ['<='], '<=': ['<'], '>': ['>='], '>=': ['>'], '==': ['!='], '!=': ['=='],
    '&&': ['||'], '||': ['&&'], '+': ['-'], '-': ['+'], '*': ['/'], '/': ['*'],
    '++': ['--'], '--': ['++'], '+=': ['-='], '-=': ['+='],
    'true': ['false'], 'false': ['true'], 'min': ['max'], 'max': ['min'],
}
# Inside string literals: the operators of MongoDB, and SQL.
TEXT_SWAPS = [
    (re.compile(r'\$gte\b'), '$gt'), (re.compile(r'\$gt\b'), '$gte'), (re.compile(r'\$lte\b'), '$lt'),
    (re.compile(r'\$lt\b'), '$lte'), (re.compile(r'\$max\b'), '$min'), (re.compile(r'\$min\b'), '$max'),
    (re.compile(r'\$eq\b'), '$ne'), (re.compile(r'\$in\b'), '$nin'), (re.compile(r'\$nor\b'), '$or'),
    (re.compile(r' AND '), ' OR '), (re.compile(r' <= '), ' < '), (re.compile(r' < '), ' <= '),
    (re.compile(r' >= '), ' > '), (re.compile(r' > '), ' >= '), (re.compile(r' = \?'), ' <> ?'),
    (re.compile(r'\bDESC\b'), ''), (re.compile(r'\bIS NULL\b'), 'IS NOT NULL'),
]
ASSIGNS = {'=', '+=', '-='}
BINARY = {'<', '<=', '>', '>=', '+', '-', '*', '/'}  # and other things where no space stands around them
DECLARES = {'const', 'auto', 'static', 'constexpr', 'thread_local', 'using', 'typedef', 'struct', 'class', 'enum',
            'template', 'static_assert', 'friend', 'namespace', 'unsigned', 'int', 'bool', 'char', 'double', 'extern'}
LEFT_ALONE = {'break', 'goto', 'using', 'static_assert', 'typedef', 'template', 'throw', 'struct', 'class', 'enum',
              'delete', 'friend'}


@dataclasses.dataclass
class Token:
    kind: str
    text: str
    start: int
    end: int


@dataclasses.dataclass(eq=False)
class Mutant:
    file: str
    line: int
    before: str
    after: str
    number: int = 0
    turn: int = 1  # which of those in its file that read the same

    def key(self):
        return f'{self.file}: {self.before} => {self.after}'

    def name(self):
        """What names it in the list of equivalents, whatever line it is on."""
        return self.key() + (f' (#{self.turn})' if self.turn > 1 else '')


def one_line(text):
    return re.sub(r'\s+', ' ', re.sub(r'//[^\n]*', '', text)).strip()


class Source:
    """One file: its tokens, its statements, and the edits that put the mutants in."""

    def __init__(self, name, text):
        self.name = name
        self.text = text
        self.tokens = [Token(m.lastgroup if m.lastgroup != 'tag' else 'string', m.group(), m.start(), m.end())
                       for m in TOKEN.finditer(text)]
        self.tokens = [t for t in self.tokens if t.kind != 'space']
        self.pair = self.pair_brackets()
        self.edits = []  # (start, end, function from the numbers of its mutants to the text, [mutants])
        self.scan_scope(0, len(self.tokens), in_function=False)

    def pair_brackets(self):
        pair, open_ones = {}, []
        for i, token in enumerate(self.tokens):
            if token.kind == 'mark' and token.text in '([{':
                open_ones.append(i)
            elif token.kind == 'mark' and token.text in ')]}':
                first = open_ones.pop()
                pair[first] = i
                pair[i] = first
        return pair

    def at(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ''

    # --- Scopes and statements ---

    def scan_scope(self, first, last, in_function):
        """Namespaces and classes: looks for the bodies of functions."""
        i = first
        start = first
        while i < last:
            text = self.at(i)
            if text == ';':
                start = i + 1
            elif text == '{':
                words = {self.at(k) for k in range(start, i)}
                end = self.pair[i]
                if words & {'namespace', 'class', 'struct', 'union'} and not self.is_body(i):
                    self.scan_scope(i + 1, end, False)
                    start = end + 1
                elif 'enum' in words or not self.is_body(i):
                    pass
                else:
                    self.scan_block(i + 1, end)
                    start = end + 1
                i = end
            elif text in '([' and i in self.pair:
                i = self.pair[i]
            i += 1

    def is_body(self, i):
        """Does the brace open statements (of a function, a lambda)?"""
        k = i - 1
        while self.at(k) in ('const', 'noexcept', 'override', 'final', 'mutable'):
            k -= 1
        if self.at(k) in (')', 'else', 'do', 'try'):
            return True
        if self.at(k) == '}':  # of a member's initialiser
            return self.at(self.pair[k] - 1) not in (')', 'else', 'do', 'try', '') and self.tokens[k].start + 1 < self.tokens[i].start
        if self.at(k) == ']' :
            return True
        # A trailing return type.
        back = k
        while back > 0 and self.at(back) not in (';', '{', '}', '(', ')', '=', ','):
            if self.at(back) == '->' and self.at(back - 1) in (')', 'const', 'noexcept', 'mutable'):
                return True
            back -= 1
        return False

    def scan_block(self, first, last):
        i = first
        while i < last:
            i = self.scan_statement(i, last)

    def scan_statement(self, i, last):
        """Returns the token after the statement at `i`."""
        text = self.at(i)
        if text == '{':
            self.scan_block(i + 1, self.pair[i])
            return self.pair[i] + 1
        if text in (';', 'else', 'do', 'try'):
            return i + 1
        if text in ('case', 'default'):
            while self.at(i) != ':':
                i += 1
            return i + 1
        if text == 'catch' or text == 'switch':
            return self.pair[i + 1] + 1
        if text == 'if' and self.at(i + 1) == 'constexpr':
            return self.pair[i + 2] + 1
        if text in ('if', 'while'):
            self.scan_condition(i + 2, self.pair[i + 1], loop=text == 'while')
            return self.pair[i + 1] + 1
        if text == 'for':
            semicolons = [k for k in self.top_level(i + 2, self.pair[i + 1]) if self.at(k) == ';']
            if len(semicolons) == 2:
                self.mutate_expression(semicolons[0] + 1, semicolons[1])
            return self.pair[i + 1] + 1
        end = i
        while end < last and self.at(end) != ';':
            end = self.pair[end] + 1 if self.at(end) in ('(', '[', '{') else end + 1
        self.scan_simple(i, end)
        return end + 1

    def top_level(self, first, last):
        k = first
        while k < last:
            yield k
            k = self.pair[k] + 1 if self.at(k) in ('(', '[', '{') else k + 1

    def lambdas(self, first, last):
        return [k for k in range(first, last) if self.at(k) == '{' and self.is_body(k)]

    def scan_lambdas(self, braces):
        done = -1
        for k in braces:
            if k > done:
                self.scan_block(k + 1, self.pair[k])
                done = self.pair[k]

    def scan_condition(self, first, last, loop):
        semicolons = [k for k in self.top_level(first, last) if self.at(k) == ';']
        if semicolons:
            first = semicolons[-1] + 1
        if any(self.at(k) == '=' for k in self.top_level(first, last)):
            return
        self.mutate_expression(first, last, condition=True, loop=loop)

    def scan_simple(self, first, last):
        inner = self.lambdas(first, last)
        if inner:
            self.scan_lambdas(inner)
            return
        if first >= last or self.at(first) in LEFT_ALONE:
            return
        if self.at(first) in ('return', 'co_return'):
            if last > first + 1 and self.at(first + 1) != '{':
                self.mutate_expression(first + 1, last)
            return
        if self.at(first) == 'continue' or self.is_expression(first, last):
            self.mutate_statement(first, last)
            return
        if {self.at(first), self.at(first + 1)} & {'constexpr', 'static'}:
            return
        for k in self.top_level(first, last):
            if self.at(k) == '=' and self.at(k + 1) != '{':
                self.mutate_expression(k + 1, last)
                return

    def is_expression(self, first, last):
        if self.at(first) in DECLARES:
            return False
        if self.at(first) in ('++', '--', '*', '('):
            return True
        k = first
        while self.tokens[k].kind == 'word' and self.at(k + 1) == '::':
            k += 2
        if self.at(k) == 'static_cast':
            return False
        return self.tokens[k].kind == 'word' and self.at(k + 1) in (
            '(', '.', '->', '=', '+=', '-=', '[', '++', '--', '?', '|=', '&=', '&&', '==', '!=', '*=', '/=')

    # --- Mutations ---

    def slice(self, first, last):
        return self.text[self.tokens[first].start:self.tokens[last - 1].end]

    def spaced(self, token):
        return self.text[token.start - 1] in ' \n(' and self.text[token.end:token.end + 1] in ' \n'

    def changes(self, first, last):
        """Pairs of a token's number and what may stand in its place."""
        joins_text = any(t.kind == 'string' and t.text.endswith('"') for t in self.tokens[first:last])
        for k in range(first, last):
            token = self.tokens[k]
            if joins_text and token.text in ('+', '+='):
                continue
            if token.kind == 'string' and token.text.endswith('"'):
                for pattern, new in TEXT_SWAPS:
                    if pattern.search(token.text):
                        yield k, pattern.sub(new, token.text, count=1)
            elif token.kind == 'number' and re.fullmatch(r'\d+', token.text):
                if self.at(k - 1) not in ('<', '[') or self.spaced(self.tokens[k - 1]):
                    yield k, str(int(token.text) + 1)
            elif token.text == '!' and self.at(k + 1) != '=':
                yield k, '!!'
            elif token.text in BINARY and not self.spaced(token):
                continue
            elif token.text in ('min', 'max') and self.at(k - 1) != '::':
                continue
            elif token.text in ('+', '*', '-') and 'operator' in (self.at(k - 1), self.at(k - 2)):
                continue
            else:
                for new in SWAPS.get(token.text, []):
                    yield k, new

    def flat(self, first, last, changed=None, new=''):
        """The tokens on one line, so that a compiler's error there is about this mutant."""
        return ' '.join(new if k == changed else self.at(k) for k in range(first, last))

    def shown(self, first, last, changed, new):
        token = self.tokens[changed]
        start, end = self.tokens[first].start, self.tokens[last - 1].end
        return self.text[start:token.start] + new + self.text[token.end:end]

    def choices(self, first, last):
        """Mutants of one token, and the code of each."""
        found = []
        for k, new in self.changes(first, last):
            found.append((self.new_mutant(first, last, self.shown(first, last, k, new)), self.flat(first, last, k, new)))
        marks = [k for k in self.top_level(first, last) if self.at(k) == '?']
        if marks and not any(self.at(k) in ASSIGNS for k in self.top_level(first, marks[0])):
            new = f'!({self.flat(first, marks[0])}) {self.flat(marks[0], last)}'
            found.append((self.new_mutant(first, last, new), new))
        return found

    def new_mutant(self, first, last, after):
        line = self.text.count('\n', 0, self.tokens[first].start) + 1
        return Mutant(self.name, line, one_line(self.slice(first, last)), one_line(after))

    def mutate_expression(self, first, last, condition=False, loop=False):
        if first >= last:
            return
        inner = self.lambdas(first, last)
        if inner:
            self.scan_lambdas(inner)
            return
        old = self.slice(first, last)
        choices = self.choices(first, last)
        if condition:
            # What only turns the whole condition round is caught where "always" or "never" is.
            whole = not any(self.at(k) in ('&&', '||') for k in range(first, last))
            if whole:
                choices = [(m, new) for m, new in choices if not self.turns_round(m)]
            choices += [(self.new_mutant(first, last, new), new) for new in (['false'] if loop else ['true', 'false'])]
        make = 'static_cast<bool>' if condition else ''

        def render(kept):
            parts = [f'\nDoclockMutant({m.number}) ?\n{make}({new}) :\n' for m, new in choices if m in kept]
            return f'({"".join(parts)}{make}({old}))' if parts else old
        self.add(first, last, render, choices)

    @staticmethod
    def turns_round(mutant):
        return '!!' in mutant.after or mutant.before.count('==') != mutant.after.count('==')

    def mutate_statement(self, first, last):
        old = self.slice(first, last)
        choices = self.choices(first, last) + [(self.new_mutant(first, last, '(nothing)'), '')]

        def render(kept):
            parts = [f'\nif (DoclockMutant({m.number})) {{\n{new}; }} else\n' for m, new in choices if m in kept]
            return f'{{{"".join(parts)}{{ {old}; }} }}' if parts else old + ';'
        self.add(first, last, render, choices, with_semicolon=True)

    def add(self, first, last, render, choices, with_semicolon=False):
        mutants = [m for m, _ in choices]
        end = self.tokens[last].end if with_semicolon else self.tokens[last - 1].end
        if mutants:
            self.edits.append((self.tokens[first].start, end, render, mutants))

    def mutants(self):
        return [m for edit in self.edits for m in edit[3]]

    def render(self, kept):
        """The text with those of its mutants whose number is in `kept`."""
        out, at = [], 0
        for start, end, render, mutants in sorted(self.edits, key=lambda edit: edit[0]):
            assert start >= at, f'{self.name}: overlapping mutants at {self.text[start:end]}'
            out.append(self.text[at:start])
            out.append(render([m for m in mutants if m.number in kept]))
            at = end
        out.append(self.text[at:])
        return ''.join(out)
