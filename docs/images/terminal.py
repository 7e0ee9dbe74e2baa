#!/usr/bin/env python3
"""Draws what the README's program does on a terminal.

    python3 docs/images/terminal.py PROGRAM [--check]

Runs PROGRAM on a terminal, and writes terminal.svg beside this file. With `--check` it compares instead, and fails if
something else would be drawn.
"""

import os
import pathlib
import pty
import re
import select
import signal
import sys
import time
from xml.sax.saxutils import escape

IMAGE = pathlib.Path(__file__).with_suffix(".svg")
# What is typed. A server is interrupted as soon as it says where it listens.
COMMANDS = ["", "call add a=2 b=3", "call add a=two", "serve --http 3000"]
COLUMNS, LINE, LETTER, MARGIN, BAR = 96, 20, 8.43, 18, 34
COLORS = {"1": "#ffffff", "2": "#8b949e", "31": "#ff7b72", "32": "#7ee787", "33": "#f2cc60", "34": "#79c0ff", "36": "#76e3ea"}


def run(program, words):
    """What a command prints on a terminal."""
    child, terminal = pty.fork()
    if child == 0:
        environment = {"PATH": os.environ["PATH"], "TERM": "xterm", "COLUMNS": str(COLUMNS)}
        os.execve(program, ["calc", *words], environment)
    printed, deadline, is_interrupted = b"", time.monotonic() + 30, False
    while time.monotonic() < deadline:
        try:
            if select.select([terminal], [], [], 0.1)[0]:
                part = os.read(terminal, 4096)
                if not part:
                    break
                printed += part
        except OSError:
            break
        if words[:1] == ["serve"] and b"http://" in printed and not is_interrupted:
            is_interrupted = True
            served = printed
            os.kill(child, signal.SIGINT)
    else:
        os.kill(child, signal.SIGKILL)
        sys.exit(f"`calc {' '.join(words)}` does not end; it printed {printed}")
    os.waitpid(child, 0)
    printed = served if is_interrupted else printed
    # The path of the program differs from machine to machine.
    return printed.decode().replace("\r\n", "\n").replace(os.path.realpath(program), "/path/to/calc")


def wrapped(text):
    """The lines of a text on a terminal: each a list of letters with their colors."""
    lines, color = [[]], None
    for part in re.split(r"(\x1b\[[0-9;]*m)", text.rstrip("\n")):
        if code := re.fullmatch(r"\x1b\[([0-9;]*)m", part):
            codes = [one for one in code[1].split(";") if one in COLORS]
            color = COLORS[codes[-1]] if codes else None
            continue
        for letter in part:
            if letter == "\n":
                lines.append([])
                continue
            if len(lines[-1]) == COLUMNS:
                # Words stay whole, which is easier to read than what a terminal does.
                blank = max((n for n, (one, _) in enumerate(lines[-1]) if one == " "), default=COLUMNS - 1)
                lines.append(lines[-1][blank + 1:])
                del lines[-2][blank + 1:]
            lines[-1].append((letter, color))
    return lines


def spans(line):
    """The letters of a line as SVG, one element for each color."""
    start = 0
    while start < len(line):
        end = start
        while end < len(line) and line[end][1] == line[start][1]:
            end += 1
        text, color = "".join(letter for letter, _ in line[start:end]), line[start][1]
        # Browsers drop blanks at the beginning.
        indent = len(text) - len(text.lstrip(" "))
        if text := text.strip(" "):
            fill = f' fill="{color}"' if color else ""
            yield f'<tspan x="{MARGIN + LETTER * (start + indent):.1f}"{fill}>{escape(text)}</tspan>'
        start = end


def draw(program):
    lines = []
    for words in COMMANDS:
        typed = [("$", COLORS["32"]), *((letter, COLORS["1"]) for letter in f" calc {words}".rstrip())]
        lines += [typed, *wrapped(run(program, words.split())), []]
    lines.pop()
    width, height = round(2 * MARGIN + COLUMNS * LETTER), BAR + len(lines) * LINE + MARGIN
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
           'role="img" aria-label="the program on a terminal">')
    yield f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>'
    for n, color in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        yield f'<circle cx="{MARGIN + 4 + 20 * n}" cy="{BAR // 2}" r="6" fill="{color}"/>'
    yield '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="14" fill="#c9d1d9" xml:space="preserve">'
    for n, line in enumerate(lines):
        if line:
            yield f'<text y="{BAR + 14 + n * LINE}">{"".join(spans(line))}</text>'
    yield "</g>"
    yield "</svg>"


def main():
    program, *flags = sys.argv[1:]
    image = "\n".join(draw(os.path.realpath(program))) + "\n"
    if flags != ["--check"]:
        IMAGE.write_text(image)
    elif IMAGE.read_text() != image:
        sys.exit(f"{IMAGE} does not show what the program prints; draw it again with {pathlib.Path(__file__).name}")


main()
