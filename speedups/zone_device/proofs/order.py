# SPDX-License-Identifier: GPL-2.0-only
"""Search all executions of the litmus tests beside this file by a model of x86, then run them.

usage: order.py [SECONDS]     (of running them on CPUs of this machine; 10 by default)

The model is operational. Each CPU has a list of stores that are not yet in memory, in the order
of its program. An entry may leave the list, and reach memory, when

- no earlier entry of the list is an sfence;
- no earlier entry is a store to the same location;
- for a plain store, no earlier entry is a plain store.

So plain stores reach memory in order (TSO), while a streaming store may be overtaken by all later
stores to other locations, and may overtake earlier ones. An sfence leaves when it is the first of
the list. A load takes the newest store to its location from its own list, or else memory. A
locked instruction waits until the list is empty.

Where published models of non-temporal stores differ, this one is meant to allow more. So "Never"
is safe to rely on, and "Sometimes" asks for an observation on silicon.
"""

import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
STEPS = {
    "stream": r"movnti \$(?P<value>\d+),(?P<place>\w+)",
    "store": r"movq \$(?P<value>\d+),(?P<place>\w+)",
    "load": r"movq (?P<place>\w+),%(?P<value>\w+)",
    "locked_add": r"lock addq \$(?P<value>\d+),(?P<place>\w+)",
    "sfence": r"(?P<place>)(?P<value>)sfence",
}


def read(path):
    """Return the steps of each thread, the condition, and the verdicts with and without sfence."""
    text = path.read_text()
    rows = [row.rstrip(" ;").split("|") for row in re.findall(r"^.* ;$", text, re.M)][1:]
    columns = [[cell.strip() for cell in column] for column in zip(*rows, strict=True)]
    threads = [[step(cell) for cell in column if cell] for column in columns]
    condition = re.findall(r"(\d+):(\w+)=(\d+)", text)
    return threads, condition, re.search(r"Result: (\w+)\. Without sfence: (\w+)\.", text).groups()


def step(text):
    """Return the kind, the location, and the value or register of an instruction."""
    found = ((kind, re.fullmatch(pattern, text)) for kind, pattern in STEPS.items())
    return next((kind, match["place"], match["value"]) for kind, match in found if match)


def verdict(threads, condition):
    """Search for an execution at whose end the condition holds."""
    start = (0,) * len(threads), ((),) * len(threads), frozenset(), frozenset()
    waiting, known = [start], {start}
    while waiting:
        state = waiting.pop()
        following = set(executions(threads, *state))
        if (
            not following
            and {(int(cpu), name, value) for cpu, name, value in condition} <= state[2]
        ):
            return "Sometimes"
        waiting += following - known
        known |= following
    return "Never"


def executions(threads, counters, pending, registers, memory):
    """Yield each state that one step of one CPU leads to."""
    for cpu, steps in enumerate(threads):
        mine = pending[cpu]
        for index, (kind, place, value) in enumerate(mine):
            if _may_leave(mine[:index], kind, place):
                rest = _put(pending, cpu, mine[:index] + mine[index + 1 :])
                after = memory if kind == "sfence" else _written(memory, place, value)
                yield counters, rest, registers, after
        if counters[cpu] == len(steps):
            continue
        kind, place, value = steps[counters[cpu]]
        counted = _put(counters, cpu, counters[cpu] + 1)
        if kind == "load":
            own = [entry[2] for entry in mine if entry[1] == place]
            loaded = (cpu, value, own[-1] if own else dict(memory).get(place, "0"))
            yield counted, pending, registers | {loaded}, memory
        elif kind != "locked_add":
            yield counted, _put(pending, cpu, (*mine, steps[counters[cpu]])), registers, memory
        elif not mine:
            total = int(dict(memory).get(place, "0")) + int(value)
            yield counted, pending, registers, _written(memory, place, str(total))


def _may_leave(earlier, kind, place):
    if kind == "sfence":
        return not earlier
    return not any(
        other == "sfence" or where == place or other == kind == "store"
        for other, where, _ in earlier
    )


def _put(items, index, item):
    return (*items[:index], item, *items[index + 1 :])


def _written(memory, place, value):
    return frozenset({**dict(memory), place: value}.items())


def observe(threads, condition, words, seconds, work):
    """Return what hosted/litmus/litmus.c prints of a test whose streams are of some words."""
    terms = [f"at->t{cpu}_{name} == {value}" for cpu, name, value in condition]
    lines, values = [], []
    for cpu, steps in enumerate(threads):
        lines.append(f"static void thread_{cpu}(struct instance *at)\n{{")
        for kind, place, value in steps:
            if kind == "sfence":
                lines.append('asm volatile("sfence" ::: "memory");')
            elif kind == "load":
                values.append(f"unsigned long t{cpu}_{value} LINE;")
                lines.append(f"at->t{cpu}_{value} = load(&at->{place});")
            else:
                lines.append(f"{kind}(&at->{place}, {value});")
        lines.append("}")
    places = sorted({place for steps in threads for _, place, _ in steps if place})
    (work / "litmus_test.h").write_text(
        f"#define THREADS {len(threads)}\n#define STREAMED_WORDS {words}\n"
        f"struct instance {{ struct line {', '.join(places)}; {' '.join(values)} }};\n"
        + "\n".join(lines)
        + "\nstatic void (*const threads[])(struct instance *at) = {"
        + ", ".join(f"thread_{cpu}" for cpu in range(len(threads)))
        + "};\nstatic bool could_show(const struct instance *at)\n"
        + f"{{ return {' && '.join(terms[:-1])}; }}\n"
        + f"static bool shows(const struct instance *at)\n{{ return {' && '.join(terms)}; }}\n"
    )
    source = HERE.parents[2] / "hosted" / "litmus" / "litmus.c"
    command = ["gcc", "-O2", "-Wall", "-pthread", "-I", work, "-o", work / "litmus", source]
    subprocess.run(command, check=True)
    printed = subprocess.run([work / "litmus", str(seconds)], check=True, stdout=subprocess.PIPE)
    return map(int, printed.stdout.split())


def main(seconds):
    """Return whether the model and this machine agree with all files."""
    good = True
    ways = []
    for path in sorted(HERE.glob("*.litmus")):
        threads, condition, expected = read(path)
        undrained = [[step for step in steps if step[0] != "sfence"] for steps in threads]
        for name, steps, wanted in (
            (path.stem, threads, expected[0]),
            (f"{path.stem} without sfence", undrained, expected[1]),
        ):
            found = verdict(steps, condition)
            good &= found == wanted
            print(f"{'ok   ' if found == wanted else 'FAIL '} {name}: {found} by the model")
            ways += [(name, steps, condition, found, words) for words in (1, 8)]
    possible = [way for way in ways if len(way[1]) <= len(os.sched_getaffinity(0))]
    if platform.machine() != "x86_64" or len(possible) < len(ways):
        print(f"skip  {len(ways) - len(possible)} of {len(ways)} runs: each thread needs a CPU")
    for name, steps, condition, found, words in possible:
        with tempfile.TemporaryDirectory() as work:
            share = seconds / len(possible)
            seen, published, runs = observe(steps, condition, words, share, Path(work))
        bad = bool(seen) and found == "Never"
        good &= not bad
        of = f"{seen} times in {runs} runs, of which {published} could show it"
        print(f"{'FAIL ' if bad else 'ok   '} {name}, {8 * words} bytes: observed {of}")
    return good


if __name__ == "__main__":
    sys.exit(not main(float(sys.argv[1]) if len(sys.argv) > 1 else 10))
