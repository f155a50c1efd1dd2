"""The Lua scripts document what they take and give, take what they are sent, and build no key from a user's text."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.items import ItemChange, ItemName, ItemNews
from batonpass.coordinator.redis import scripts, wire, wire_jobs
from batonpass.coordinator.rows import JobRow, KeptJob, OutcomeRow, Place, Write
from tests.harness.bench import Bench, new_checkpoint, new_target
from tests.harness.children import Family
from tests.harness.redis import RedisServer, binaries
from tests.harness.scripts import with_shebang
from tests.harness.stores import RedisHarness
from tests.rules.redis_types import READS

FOLDER = Path(scripts.__file__).with_name("lua")
NAMES = scripts.names()
LIBRARIES = sorted(FOLDER.glob("lib/*.lua"))
USER = "user's {text}:"
_EACH = re.MULTILINE | re.DOTALL

# One command of each kind, with a user's text wherever users give texts.
FENCE = c.Fence(mint("j"), 7, mint("l"))
TARGET = dataclasses.replace(new_target(USER), agent=USER, contract=USER, envelope=b"envelope")
PUT = dataclasses.replace(new_checkpoint(), agent=USER, step=USER, place=Place(USER, USER, "d" * 32))
ITEMS = (ItemName((USER, USER), USER), ItemName((USER,), USER))
WRITES = [Write(USER, b"1"), Write("b", b"2", again=True)]
LAST = dataclasses.replace(new_checkpoint(), agent=USER, step=USER)
CHILDREN = (c.Child(mint("j"), 0, TARGET), c.Child(mint("j"), 1, TARGET))
SAMPLES: list[c.Command[Any]] = [
    c.Submit(mint("j"), USER, TARGET, USER, "d" * 32, "p" * 32, 1, 2, mint("c"), c.Terms(1, 5)),
    c.Claim(USER, (("q" * 32, 1000), ("r" * 32, 1000)), (mint("l"), mint("l"), mint("l"))),
    c.Claim(USER, (("q" * 32, 1000),), (mint("l"),), {"q" * 32: c.Limits("e" * 32, 1, 2, 3)}),
    c.Heartbeat(((FENCE, 1000), (FENCE, 2000))),
    c.Save(USER, LAST, FENCE, records={USER: b"1", "b": b"2"}),
    c.Save(USER, LAST, parent=mint("c"), branch=True),
    c.Put(PUT, USER, USER, FENCE, WRITES),
    c.Put(PUT),
    c.PutWrites(USER, USER, USER, WRITES, FENCE),
    c.Find(USER, USER, USER),
    c.Places(USER, USER, (USER, USER), 5, True),
    c.Places(USER, None),
    c.Walk(USER, USER, USER, 5, mint("c")),
    c.OfRun("d" * 32, 5),
    c.Drop(USER, (mint("c"), mint("c"))),
    c.WriteItems(
        (ItemChange(ITEMS[0], b"1", b"2", 3), ItemChange(ITEMS[1], None)), ItemNews("kind", USER, {USER: USER}, 7)
    ),
    c.ReadItems(ITEMS),
    c.RefreshItems(ITEMS),
    c.ListItems((USER,), USER, 5, True, 3),
    c.ListSpaces((USER,), USER, 5),
    c.Record(FENCE, {USER: b"1", "b": b"2"}),
    c.HandOff(FENCE, TARGET, LAST),
    c.HandOff(FENCE, TARGET),
    c.Complete(FENCE, b"result", LAST),
    c.Fail(FENCE, USER, USER, 5),
    c.Sleep(FENCE, 5, LAST),
    c.Suspend(FENCE, b"question", LAST, b"terms", USER, 5, b"answer", f"9 {USER}"),
    c.Inbox(5, 6, mint("j")),
    c.Stage(FENCE, 1, CHILDREN),
    c.Spawn(FENCE, mint("f"), 3, 2, 1, CHILDREN, LAST, {USER: b"1"}),
    c.ReadOutcomes(mint("j"), mint("f"), 1, 2),
    c.Release(FENCE, USER, cut_off=True),
    c.AnswerJob(mint("j"), b"answer", 5),
    c.Cancel(mint("j")),
    c.RunNow(mint("j")),
    c.Redrive(mint("j"), new_target(), mint("c"), 3, {USER: b"1"}),
    c.Emit(c.Fence(mint("j"), 1, mint("l")), (b"1", b"2")),
    c.ReadStream(mint("j"), "1-0"),
    c.Expire(mint("c")),
    c.Reap(7, USER, ("q" * 32, "r" * 32), 9, early=True),
    c.Name(mint("c"), USER),
    c.Import(USER, 1, [new_checkpoint(thread=USER), new_checkpoint(thread=USER)], [mint("c"), ""]),
    c.Import(USER, 1, [new_checkpoint(thread=USER)], [mint("c")], [c.Stamp(3, 5, USER)]),
    c.Prune(USER, 1, 2, True, 3, 4, (mint("c"),)),
    c.DeleteThread(USER, 5, placed=True),
    c.DeleteJob(mint("j")),
    c.PruneJobs(1, 2, 3),
    c.Restore(mint("c")),
    c.Latest(USER),
    c.Timeline(USER, 5, mint("c"), True),
    c.Ancestors(mint("c"), 5),
    c.FindName(USER, USER),
    c.Threads(5, USER),
    c.Export(USER, 1, 5),
    c.Events("1-1", USER, 5, c.Which(USER, USER, (USER, "b"))),
    c.TrimEvents(5, 6),
    c.JoinGroup(USER, about=b"1"),
    c.TakeEvents(USER, mint("l"), 5, 6, c.Which(USER, USER, (USER, "b"))),
    c.AckEvents(USER, mint("l"), "1-1", 5),
    c.ListGroups(),
    c.DeleteGroup(USER),
    c.LastEvent(),
    c.ReadJob(mint("j")),
    c.FirstUse("d" * 32),
    c.ReadKept(mint("j")),
    c.ReadLane(mint("j"), "a" * 32, 5),
    c.ReadTurns(USER, 5),
    c.Adopt(
        KeptJob(
            JobRow(mint("j"), USER, "failed"), {USER: b"1"}, [(mint("f"), OutcomeRow(mint("j"), 0, "failed", USER))]
        ),
        [{USER: USER}],
    ),
    c.ListJobs(5, mint("j")),
    c.JobsOn(USER, 5, mint("j")),
    c.Declare({USER: b"1"}),
    c.Declare({USER: b"1", "b": b"2"}, {USER: b"0"}),
    c.Declared(),
    c.Takers("q" * 32),
    c.PauseAgent(USER, USER),
    c.ResumeAgent(USER, ("q" * 32, "r" * 32), 5),
    c.Pauses(),
]
SENT: dict[str, list[list[Any]]] = {}
for _sample in SAMPLES:
    _name, _argv = wire.arguments(_sample)
    SENT.setdefault(_name, []).append(_argv)


def body(name: str) -> str:
    return (FOLDER / f"{name}.lua").read_text()


def code(text: str) -> str:
    """Without comments."""
    return re.sub(r"--[^\n]*", "", text)


def header(name: str) -> dict[str, str]:
    """The documented parts: what the script does, KEYS, ARGV, Returns."""
    lines = []
    for line in body(name).splitlines():
        if not line.startswith("-- "):
            break
        lines.append(line[3:])
    parts: dict[str, str] = {"": ""}
    part = ""
    for line in lines:
        word = line.partition(" ")[0]
        if word in ("KEYS", "ARGV", "Returns"):
            part = word
            parts[part] = line.removeprefix(word).strip()
        else:
            parts[part] += " " + line.strip()
    return parts


def test_every_command_has_a_sample_and_a_script() -> None:
    commands = {kind for kind in vars(c).values() if isinstance(kind, type) and issubclass(kind, c.Command)} - {
        c.Command
    }
    # Logs are read by a plain command, not a script: redis/segments.py says why.
    assert {type(sample) for sample in SAMPLES} == commands - {c.ReadSpans}
    assert set(SENT) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_header_says_what_it_does_takes_and_gives(name: str) -> None:
    parts = header(name)
    assert set(parts) == {"", "KEYS", "ARGV", "Returns"}
    assert re.match(r" [A-Z].*\.", parts[""]), "a sentence on what it does"
    assert parts["KEYS"] == "prefix"
    assert re.match(r"\{'\+'", parts["Returns"])


@pytest.mark.parametrize("name", NAMES)
def test_the_documented_arguments_are_those_sent(name: str) -> None:
    """Compares how many: `of each`, `for each` and `then` repeat; a checkpoint has as many as its library reads."""
    documented = header(name)["ARGV"]
    read_checkpoint = re.search(r"from ARGV\[at\]: ([^.;]*);", (FOLDER / "lib" / "checkpoint.lua").read_text())
    assert read_checkpoint
    size = len(read_checkpoint[1].split(","))
    assert size == len(wire.arguments(c.HandOff(FENCE, TARGET, LAST))[1]) - 10
    listed = re.sub(r"checkpoint \(\d+[^)]*\)", ", ".join(["checkpoint"] * size), documented)
    repeats = re.search(r"for each|of each|then |its queues", listed)
    count = 0 if listed == "none" else len(re.sub(r"\([^)]*\)", "x", listed).split(","))
    for argv in SENT[name]:
        assert len(argv) == count or (repeats and len(argv) >= count - 1), documented
    stated = re.search(r"checkpoint \((\d+)", documented)
    assert not stated or int(stated[1]) == size


@pytest.mark.parametrize("name", NAMES)
def test_the_arguments_used_are_sent(name: str) -> None:
    used = {int(index) for index in re.findall(r"ARGV\[(\d+)\]", code(body(name)))}
    starts = [
        int(at)
        for at in re.findall(r"(?:read_checkpoint|append_journal|read_last|wanted)\((?:.*?, )?(\d+)", code(body(name)))
    ]
    for argv in SENT[name]:
        assert max(used, default=0) <= len(argv)
        assert all(start <= len(argv) + 1 for start in starts)
    fewest = min(map(len, SENT[name]))
    if used and "#ARGV" not in body(name) and not starts:
        assert used == set(range(1, fewest + 1)), "an argument is sent that nobody reads"


@pytest.mark.parametrize("path", [*LIBRARIES, *(FOLDER / f"{name}.lua" for name in NAMES)], ids=lambda path: path.stem)
def test_keys_are_the_prefix_a_fixed_suffix_and_an_id(path: Path) -> None:
    """Every key is `P .. 'x:' .. id` or `P .. 'name'`. The test traces where an id comes from."""
    text = code(path.read_text())
    for expression in re.findall(r"\bP \.\. ([^,)\n]*(?:\[[^\]]*\])*)", text):
        assert re.match(r"'(?:[a-z]{1,2}:'|live:'|[a-z]+'$)", expression), expression
    for call in re.findall(r"redis\.p?call\('(\w+)', ([^,)]+)", text):
        command, key = call
        known = r"P \.\.|unpack\(keys|LEASES|TIMERS|LIMITS|GATES|ASKING|EVENTS|\w*key\b"
        assert command in ("TIME", "XREAD") or re.match(known, key.strip()), call
    assert all(value.startswith("P ..") for value in re.findall(r"local \w*key = ([^\n]+)", text))


@pytest.mark.parametrize("name", NAMES)
def test_no_user_text_is_part_of_a_key(name: str) -> None:
    """Each argument that the script or its libraries put into a key is an id or a digest, as the client builds it."""
    text = code(body(name))
    into_keys = set(re.findall(r"\bP \.\. '[a-z]+:' \.\. ARGV\[(\d+)\]", text))
    names = {
        variable: index
        for variables, values in re.findall(r"local ([\w, ]+) = ([^\n]+(?:\n  [^\n]+)?)", text)
        for variable, index in zip(variables.split(", "), re.findall(r"ARGV\[(\d+)\]", values), strict=False)
    }
    into_keys |= {
        names[variable] for variable in re.findall(r"\bP \.\. '[a-z]+:' \.\. (\w+)", text) if variable in names
    }
    functions = (
        "held|enqueue|go_ahead|dequeue|append|append_journal|close|finish|note_limit|fail_late|leave_lane|let_out|newest|newest_named|oldest|drop|drop_job|emit_job|name_of|"
        "whom|end_canceled|make_child|id_at|spots_of|read_writes|writes_key|member_of|new_writes"
    )
    passed_on = rf"\b(?:{functions}|read_head)\((ARGV\[(\d+)\]|\w+)"
    for argument, index in re.findall(passed_on, text):
        into_keys |= {index} if index else {names[argument]} if argument in names else set()
    for argv in SENT[name]:
        for index in into_keys:
            value = argv[int(index) - 1]
            assert re.fullmatch(r"[0-9a-z]{24}|[0-9a-z]{32}|", str(value)), (index, value)
            assert USER not in str(value)


def test_a_claim_tells_what_its_reader_expects() -> None:
    """The script names the fields, and the client names them again in the order of the script's answer."""
    told, rare = re.findall(r"redis\.p?call\('HMGET', P \.\. 'j:' \.\. id,([^)]*)\)", code(body("claim")))
    assert re.findall(r"'(\w+)'", told)[6:] == [*wire_jobs.TOLD[8:], *wire_jobs.ASKED]
    assert re.findall(r"'(\w+)'", rare) == list(wire_jobs.RARE)


def test_keys_at_work(redis_server: str) -> None:
    harness = RedisHarness(redis_server)
    with Bench(harness, side="sync", namespace=USER) as bench:
        fence = bench.start(USER, thread=USER, key=USER, worker=USER)
        bench.save(fence, step=USER, ttl=1000, records={USER: b"1"})
        bench.do(c.Fail(fence, USER, USER, 5))
        bench.save(None, thread=f"{USER} too")
        bench.do(c.Reap(worker=USER, queues=(new_target(USER).queue,), presence=5))
        bench.do(c.Declare({USER: b"1"}))
        family = Family(bench, bench.start(USER), 2)
        bench.do(c.Stage(family.fence, 0, family.children[:1]))
        bench.do(c.Spawn(family.fence, family.fan, 2, 2, 0, family.children[1:], None, {USER: b"1"}))
        bench.do(c.Cancel(family.ids[1]))
        bench.do(c.PutWrites("placed", USER, USER, WRITES))
        bench.do(c.WriteItems(tuple(ItemChange(each, b"1", ttl=1000) for each in ITEMS)))
        bench.do(c.Put(dataclasses.replace(PUT, thread="placed"), USER))
        bench.do(c.JoinGroup(USER))
        keys = list(harness.keys())
    harness.close()
    assert len({key.count(":") for key in keys}) > 1
    for key in keys:
        assert re.fullmatch(r"bp:\{[^{}:]*:0\}:([a-z]+|[a-z]{1,2}:([0-9a-z]{24}|[0-9a-z]{32}(:[0-9a-f]{40})?))", key), (
            key
        )


@pytest.mark.parametrize(
    "name", [*NAMES, *(f"{name}+put" for name in ("save", "hand_off", "complete", "suspend", "sleep"))]
)
def test_of_its_libraries_a_script_has_what_it_calls_alone(name: str) -> None:
    """Each function costs the script time, called or not."""
    text = code(scripts.script(name).source)
    made = set(re.findall(r"^ *local function (\w+)", text, re.MULTILINE))
    known = {
        each for path in LIBRARIES for each in re.findall(r"^local function (\w+)", path.read_text(), re.MULTILINE)
    }
    called = set(re.findall(r"(?<![.:\w])(\w+)\(", re.sub(r"^ *local function \w+", "", text, flags=re.MULTILINE)))
    assert called & known == made & known


def test_what_one_function_alone_uses_is_made_when_that_is_called() -> None:
    """Unless that is called for each of many, as when several jobs end together."""
    submit, complete = (scripts.script(name).source for name in ("submit", "complete"))
    assert re.search(r"^local function end_canceled\(.*?^  local function finish\(", submit, re.MULTILINE | re.DOTALL)
    assert re.search(r"^local function tell_parent\(.*?^local function finish\(", complete, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", NAMES)
def test_no_parameter_is_named_as_what_a_library_defines(name: str) -> None:
    """The parameter would hide the library's function from functions made inside."""
    libraries = scripts.script(name).source.removesuffix(body(name))
    made = re.findall(r"^ *local function (\w+)\(([^)]*)\)", libraries, re.MULTILINE)
    parameters = {word for _, words in made for word in re.findall(r"\w+", words)}
    assert not parameters & {function for function, _ in made}


def functions() -> dict[str, str]:
    """What the libraries define, by name."""
    found = (
        re.finditer(r"^(?:local function |function )?(\w+)(?: = function)?\(.*?^end$", code(path.read_text()), _EACH)
        for path in LIBRARIES
    )
    return {function[1]: function[0] for each in found for function in each}


def first_write(text: str, writing: Iterable[str]) -> int:
    """Where a text first calls the server to write, or calls one of these functions."""
    calls = [found.start() for found in re.finditer(r"redis\.p?call\('(\w+)'", text) if found[1] not in READS]
    calls += [found.start() for name in writing for found in re.finditer(rf"(?<![.\w]){name}\(", text)]
    return min(calls, default=len(text))


def test_a_script_refuses_before_it_writes() -> None:
    """Because a refusal undoes no write."""
    bodies = {name: text.partition("\n")[2] for name, text in functions().items()}
    writing: set[str] = set()
    while more := {name for name, text in bodies.items() if first_write(text, writing) < len(text)} - writing:
        writing |= more
    assert {"enqueue", "park_poisoned", "put_batch"} < writing
    for name, text in {**{name: code(body(name)) for name in NAMES}, **bodies}.items():
        refusals = [found.end() for found in re.finditer(r"\brefuse\(|return (?:nil, )?(?:refused|wrong)\b", text)]
        assert max(refusals, default=0) <= first_write(text, writing), name


@pytest.mark.parametrize("name", NAMES)
def test_libraries_are_named_and_used(name: str) -> None:
    named = set((re.search(r"^--@ uses (.+)$", body(name), re.MULTILINE) or ["", ""])[1].split())
    assert named <= {path.stem for path in LIBRARIES} - {"base"}
    text = code(body(name))
    for path in LIBRARIES:
        functions = re.findall(r"^local function (\w+)", path.read_text(), re.MULTILINE)
        used = any(re.search(rf"\b{function}\(", text) for function in functions)
        if path.stem not in ("base",) and used:
            assert path.stem in named, f"uses {path.stem} without naming it"


@pytest.mark.parametrize("binary", binaries(), ids=lambda path: path.parts[-2])
def test_every_script_loads(binary: Path, tmp_path: Path) -> None:
    """As it is, on every server at hand, and with a shebang where the server knows those."""
    server = RedisServer(tmp_path, binary=binary)
    server.start()
    try:
        with server.client() as client:
            info: Any = client.info("server")
            for name in NAMES:
                assert client.script_load(scripts.script(name).source) == scripts.script(name).sha
                if int(info["redis_version"].partition(".")[0]) >= 7:
                    client.script_load(with_shebang(name).source)
    finally:
        server.close()
