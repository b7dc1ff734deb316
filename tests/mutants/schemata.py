"""Writes a copy of C sources that has all their mutants in it, one of which a variable chooses.

Each site becomes (ZKLI_M(7) ? (a <= b) : (a < b)), and each statement { if (!ZKLI_M(8)) f(); }. So
all mutants are built once. ZKLI_M also notes that the site was reached. Not here: which mutants a
test finds (run.py).

Not mutated: assertions, macros where they are defined, static initialisers, sizes of arrays, case
labels, and which constant of an enum is named. The numbers in macros' definitions and in static
tables are counted.
"""
import re

from clang.cindex import CursorKind, Index, StorageClass, TranslationUnit, TypeKind

# What each binary operator becomes.
BINARY = {
    "<": ["<=", ">="],
    "<=": ["<", ">"],
    ">": [">=", "<="],
    ">=": [">", "<"],
    "==": ["!="],
    "!=": ["=="],
    "+": ["-"],
    "-": ["+"],
    "*": ["/"],
    "/": ["*"],
    "%": ["*"],
    "&": ["|"],
    "|": ["&"],
    "^": ["&"],
    "<<": [">>"],
    ">>": ["<<"],
    "&&": ["||"],
    "||": ["&&"],
    "+=": ["-="],
    "-=": ["+="],
    "*=": ["/="],
    "/=": ["*="],
    "|=": ["&="],
    "&=": ["|="],
}
FLIPPED = {"true": "false", "false": "true"}
# Function-like macros that stand for a number.
NUMBER_MACROS = {"INT64_C", "UINT64_C"}
# One more or less would overflow.
LIMITS = {"INT64_MAX", "INT64_MIN", "SIZE_MAX", "UINT64_MAX", "INT_MAX", "INT32_MAX"}
# Comparisons with one more or less on the right that say what another operator says.
SAME_STEPS = {("<", 1), (">=", 1), (">", -1), ("<=", -1)}
TRANSPARENT = {CursorKind.UNEXPOSED_EXPR, CursorKind.PAREN_EXPR}
LOOPS = {CursorKind.WHILE_STMT, CursorKind.DO_STMT, CursorKind.FOR_STMT}
LITERALS = {CursorKind.INTEGER_LITERAL, CursorKind.CHARACTER_LITERAL}
INTEGERS = {
    TypeKind.BOOL, TypeKind.CHAR_S, TypeKind.CHAR_U, TypeKind.SCHAR, TypeKind.UCHAR, TypeKind.SHORT,
    TypeKind.USHORT, TypeKind.INT, TypeKind.UINT, TypeKind.LONG, TypeKind.ULONG, TypeKind.LONGLONG,
    TypeKind.ULONGLONG, TypeKind.ENUM,
}


def plain(text):
    """One line, without comments."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"\s+", " ", text).strip()


class Mutant:
    """One change. Its key, by which it is found again, has neither its file nor its line."""

    def __init__(self, number, path, line, function, before, after):
        self.number = number
        self.path = path
        self.line = line
        self.function = function
        self.key = f"{path.split('/')[1]}/{function}: {before} => {after}"


class Edit:
    """Source bytes from start to end, to be replaced by text."""

    def __init__(self, start, end, text):
        self.start = start
        self.end = end
        self.text = text


def kind_of(node):
    return node.type.get_canonical().kind


def operands(node):
    return list(node.get_children())


def peeled(node):
    """The expression inside parentheses and implicit conversions."""
    while node.kind in TRANSPARENT:
        inside = operands(node)
        if len(inside) != 1:
            break
        node = inside[0]
    return node


class File:
    """The mutants of one source file, and its text with them."""

    def __init__(self, path, unit, mutants, seen):
        self.path = path
        with open(path, "rb") as source:
            self.bytes = source.read()
        self.mutants = mutants
        self.function = ""
        self.result_kind = None
        self.seen = seen
        self.macros = {}
        self.constants_left_out = 0
        for node in unit.cursor.get_children():
            if self.is_here(node) and node.kind == CursorKind.MACRO_INSTANTIATION:
                self.macros[node.extent.start.offset] = (node.extent.end.offset, node.spelling)
        edits = []
        for node in unit.cursor.get_children():
            if self.is_here(node):
                edits += self.top_level(node)
        self.text = '#include "zkli_mutant.h"\n' + self.spliced(0, len(self.bytes), edits)

    # ---- text ----

    def is_here(self, node):
        return node.location.file is not None and node.location.file.name == self.path

    def source(self, start, end):
        return self.bytes[start:end].decode()

    def text_of(self, node):
        return self.source(node.extent.start.offset, node.extent.end.offset)

    def spliced(self, start, end, edits):
        text, at = "", start
        for edit in sorted(edits, key=lambda edit: edit.start):
            assert edit.start >= at and edit.end <= end, f"{self.path}: edits overlap: {edit.text}"
            text += self.source(at, edit.start) + edit.text
            at = edit.end
        return text + self.source(at, end)

    def macro_at(self, node):
        """The macro in whose expansion the node begins: its end and its name, or None."""
        start = node.extent.start.offset
        if start in self.macros:
            return self.macros[start]
        for begin, (end, name) in self.macros.items():
            if begin < start < end:
                return end, name
        return None

    def is_inside_macro(self, node):
        macro = self.macro_at(node)
        return macro is not None and node.extent.end.offset <= macro[0]

    # ---- mutants ----

    def new_mutant(self, node, before, after):
        mutant = Mutant(len(self.mutants) + 1, self.path, node.extent.start.line, self.function,
                        plain(before), plain(after))
        self.seen[mutant.key] = self.seen.get(mutant.key, 0) + 1
        if self.seen[mutant.key] > 1:
            mutant.key += f" (place {self.seen[mutant.key]})"
        self.mutants.append(mutant)
        return f"ZKLI_M({mutant.number})"

    def choose(self, node, alternatives, edits):
        """The node, or one of its alternatives, which are (what stands there then, key's two)."""
        start, end = node.extent.start.offset, node.extent.end.offset
        if not alternatives:
            return edits
        text = "("
        for other, before, after in alternatives:
            text += f"{self.new_mutant(node, before, after)} ? ({other}) : "
        return [Edit(start, end, text + "(" + self.spliced(start, end, edits) + "))")]

    # ---- expressions ----

    def in_context(self, node, parents, replacement):
        """A constant's text alone says little: the smallest expression around it, both ways."""
        start, end = node.extent.start.offset, node.extent.end.offset
        for parent in reversed(parents):
            first, last = parent.extent.start.offset, parent.extent.end.offset
            if parent.kind not in TRANSPARENT and (first, last) != (start, end):
                return (self.source(first, last),
                        self.source(first, start) + replacement + self.source(end, last))
        return self.source(start, end), replacement

    def steps(self, node, parents):
        """How a number may change: not to what the comparison's operator makes of it anyway."""
        for parent in reversed(parents):
            if parent.kind in TRANSPARENT:
                continue
            if parent.kind == CursorKind.BINARY_OPERATOR:
                left, right = operands(parent)
                operator = self.operator_between(left, right)
                if right.extent.start.offset <= node.extent.start.offset:
                    return [step for step in (1, -1) if (operator, step) not in SAME_STEPS]
            break
        return [1, -1]

    def constant(self, node, parents):
        text = self.text_of(node)
        digits = re.fullmatch(r"([0-9]+|0x[0-9a-fA-F]+)([uUlL]*)", text)
        if text in FLIPPED:
            values = [FLIPPED[text]]
        elif text in LIMITS:
            values = []
        elif digits:
            number = int(digits[1], 0)
            values = [str(number + step) + digits[2] for step in self.steps(node, parents)
                      if number + step >= 0]
        elif text == r"'\0'":
            values = [r"'\1'"]
        else:
            values = [f"({text} {'+-'[step < 0]} 1)" for step in self.steps(node, parents)]
        alternatives = [(value, *self.in_context(node, parents, value)) for value in values]
        return self.choose(node, alternatives, [])

    def exact_macro(self, node, parents):
        """The node is the whole of a macro's expansion, or lies inside one."""
        end, name = self.macro_at(node)
        is_number = name in NUMBER_MACROS or name in FLIPPED or "(" not in self.text_of(node)
        if node.extent.end.offset == end and is_number and kind_of(node) in INTEGERS:
            return self.constant(node, parents)
        return []

    def operator_between(self, left, right):
        return plain(self.source(left.extent.end.offset, right.extent.start.offset))

    def binary(self, node, parents):
        left, right = operands(node)
        edits = self.expression(left, parents + [node]) + self.expression(right, parents + [node])
        operator = self.operator_between(left, right)
        others = BINARY.get(operator, [])
        are_pointers = [kind_of(side) == TypeKind.POINTER for side in (left, right)]
        if operator in ("+", "-") and (are_pointers[1] or any(are_pointers) and operator == "-"):
            others = []
        first, second = self.text_of(left), self.text_of(right)
        text = self.text_of(node)
        alternatives = [(f"({first}) {other} ({second})", text, f"{first} {other} {second}")
                        for other in others]
        if operator in ("&&", "||"):
            alternatives += [(first, text, first), (second, text, second)]
            alternatives = [("!!(" + a + ")", b, c) for a, b, c in alternatives]
        return self.choose(node, alternatives, edits)

    def unary(self, node, parents):
        operand = operands(node)[0]
        edits = self.expression(operand, parents + [node])
        text, inside = self.text_of(node), self.text_of(operand)
        if text.startswith(("!", "-", "~")) and not text.startswith("--"):
            other = "!!(" + inside + ")" if text[0] == "!" else inside
            return self.choose(node, [(other, text, inside)], edits)
        for operator, other in (("++", "--"), ("--", "++")):
            if operand.extent.start.offset - node.extent.start.offset == 2 and \
                    text.startswith(operator):
                return self.choose(node, [(f"{other}({inside})", text, other + inside)], edits)
            if operand.extent.start.offset == node.extent.start.offset:
                if not text.endswith(operator):
                    continue
                return self.choose(node, [(f"({inside}){other}", text, inside + other)], edits)
        return edits

    def expression(self, node, parents=()):
        parents = list(parents)
        if self.is_inside_macro(node):
            return self.exact_macro(node, parents)
        if node.kind in LITERALS:
            return self.constant(node, parents)
        if node.kind in (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR):
            return self.binary(node, parents)
        if node.kind == CursorKind.UNARY_OPERATOR:
            return self.unary(node, parents)
        if node.kind == CursorKind.CXX_UNARY_EXPR:  # sizeof
            return []
        parts = operands(node)
        edits = []
        if node.kind == CursorKind.CONDITIONAL_OPERATOR:
            rest = self.source(parts[0].extent.end.offset, node.extent.end.offset)
            edits += self.condition(parts.pop(0), lambda text: text + rest, ["true", "false"])
        for part in parts:
            if part.kind.is_expression():
                edits += self.expression(part, parents + [node])
        return edits

    def condition(self, node, around, values):
        """What decides an if, a loop or a ?:, which around shows in its place."""
        text = self.text_of(node)
        alternatives = [(value, around(text), around(value)) for value in values]
        return self.choose(node, alternatives, self.expression(node))

    # ---- statements ----

    def end_of_statement(self, node):
        end = node.extent.end.offset
        gap = re.match(rb"(\s|/\*.*?\*/)*;", self.bytes[end:], flags=re.S)
        assert gap is not None, f"{self.path}:{node.extent.end.line}: no semicolon"
        return end + gap.end()

    def removable(self, node, edits):
        """A statement that is left out in one mutant."""
        start, end = node.extent.start.offset, self.end_of_statement(node)
        text = self.spliced(start, end, edits)
        site = self.new_mutant(node, self.text_of(node) + ";", "nothing")
        return [Edit(start, end, f"{{ if (!{site}) {text} }}")]

    def has_effect(self, node):
        inside = peeled(node)
        if inside.kind == CursorKind.CSTYLE_CAST_EXPR:
            inside = peeled(operands(inside)[-1])
        return inside.kind != CursorKind.DECL_REF_EXPR

    def result(self, node):
        """return EXPRESSION."""
        value = operands(node)[0]
        inside = peeled(value)
        text = self.text_of(value)
        values = []
        if inside.kind not in LITERALS and text not in FLIPPED and text != "NULL":
            if self.result_kind == TypeKind.BOOL:
                values = ["true", "false"]
            elif self.result_kind in INTEGERS or self.result_kind == TypeKind.POINTER:
                values = ["0"]
        if inside.kind == CursorKind.DECL_REF_EXPR and \
                inside.referenced.kind == CursorKind.ENUM_CONSTANT_DECL and \
                inside.referenced.enum_value == 0:
            values = []
        alternatives = [(value, f"return {text};", f"return {value};") for value in values]
        return self.choose(value, alternatives, self.expression(value, [node]))

    def loop_parts(self, node):
        """Of a for: its first statement, its condition and its step, each or None; its body."""
        parts = operands(node)
        body = parts.pop()
        ends = []
        at, depth = node.extent.start.offset, 0
        header = re.sub(rb"/\*.*?\*/|'(\\.|[^\\'])'", lambda found: b" " * len(found.group()),
                        self.bytes[at:body.extent.start.offset], flags=re.S)
        for i, byte in enumerate(header):
            depth += {ord("("): 1, ord(")"): -1}.get(byte, 0)
            if byte == ord(";") and depth == 1:
                ends.append(at + i)
        places = [None, None, None]
        for part in parts:
            places[sum(part.extent.start.offset > end for end in ends)] = part
        return places, body

    def declaration(self, node):
        edits = []
        for variable in operands(node):
            if variable.kind != CursorKind.VAR_DECL:
                continue
            if variable.storage_class == StorageClass.STATIC:
                self.leave_out(variable)
                continue
            start = variable.location.offset + len(variable.spelling)
            found = re.match(rb"(\s|\[[^\]]*\])*=", self.bytes[start:variable.extent.end.offset])
            if found:
                edits += self.expression(operands(variable)[-1], [variable])
        return edits

    def loop(self, node):
        edits = []
        if node.kind == CursorKind.FOR_STMT:
            (first, condition, step), body = self.loop_parts(node)
            if first is not None:
                edits += self.declaration(first) if first.kind == CursorKind.DECL_STMT \
                    else self.expression(first)
            if step is not None:
                edits += self.expression(step)
        else:
            condition, body = operands(node)
            if node.kind == CursorKind.DO_STMT:
                condition, body = body, condition
        if condition is not None:
            edits += self.condition(condition, "loop while ({})".format, ["false"])
        return edits + self.statement(body)

    def statement(self, node):
        kind = node.kind
        if kind == CursorKind.DECL_STMT:
            return self.declaration(node)
        if self.is_inside_macro(node):
            return []
        if kind.is_expression():
            edits = self.expression(node)
            return self.removable(node, edits) if self.has_effect(node) else edits
        if kind in (CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT):
            return self.removable(node, [])
        parts = operands(node)
        if kind == CursorKind.RETURN_STMT:
            return self.result(node) if parts else self.removable(node, [])
        if kind == CursorKind.IF_STMT:
            edits = self.condition(parts.pop(0), "if ({})".format, ["true", "false"])
        elif kind in LOOPS:
            return self.loop(node)
        elif kind in (CursorKind.SWITCH_STMT, CursorKind.CASE_STMT):
            edits = []
            if kind == CursorKind.SWITCH_STMT:
                edits += self.expression(parts[0])
            parts.pop(0)
        else:
            edits = []
        for part in parts:
            edits += self.statement(part)
        return edits

    # ---- top level ----

    def leave_out(self, node):
        """No variable can stand in a macro's definition or in a static initialiser."""
        self.constants_left_out += len(re.findall(r"\b[0-9]+\b", self.text_of(node)))

    def top_level(self, node):
        if node.kind in (CursorKind.MACRO_DEFINITION, CursorKind.VAR_DECL):
            self.leave_out(node)
        if node.kind != CursorKind.FUNCTION_DECL or not node.is_definition():
            return []
        self.function = node.spelling
        self.result_kind = node.result_type.get_canonical().kind
        return self.statement(operands(node)[-1])


def mutate(paths, arguments):
    """The mutants of all these .c files and of the headers of the same directories that they
    include, and for each file its text with them."""
    index = Index.create()
    directories = {path.rsplit("/", 1)[0] for path in paths}
    mutants, files, seen = [], {}, {}
    for path in paths:
        unit = index.parse(path, args=arguments,
                           options=TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        errors = [str(said) for said in unit.diagnostics if said.severity >= 3]
        assert not errors, errors
        headers = {str(included.include) for included in unit.get_includes()}
        for name in [path] + sorted(headers):
            if name.rsplit("/", 1)[0] in directories and name not in files:
                files[name] = File(name, unit, mutants, seen)
    return mutants, files
