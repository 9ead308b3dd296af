"""A kernel that is a copy of the template stands where a kernel stands that bubblewrap has started, and alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from grading_class import need_templates, sandbox_problem
from kernels import Kernel

from fp8lab.grading.places import own_folder
from fp8lab.grading.ready import KERNELS
from fp8lab.grading.warm import templates
from fp8lab.grading.watch import process_tree, proportional


@pytest.fixture(autouse=True)
def boxed():
    need_templates()


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two copies of the template, alive at the same time."""
    need_templates()
    folder = tmp_path_factory.mktemp("k")
    both = [Kernel(folder / name, warm=True) for name in "ab"]
    yield both
    for kernel in both:
        kernel.end()


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """A kernel that was started anew, by bubblewrap alone."""
    if sandbox_problem():
        pytest.skip("no sandbox here")
    kernel = Kernel(tmp_path_factory.mktemp("cold"), warm=False)
    yield kernel
    kernel.end()


# ---- the same place

FACTS = {
    "rights": """
names = ("Cap", "NoNewPrivs", "Seccomp:", "Uid", "Gid", "Groups")
result = [line for line in open("/proc/self/status") if line.startswith(names)]
""",
    "limits": """
import resource
names = ["RLIMIT_CORE", "RLIMIT_FSIZE", "RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_NPROC", "RLIMIT_NOFILE", "RLIMIT_STACK"]
result = {name: resource.getrlimit(getattr(resource, name)) for name in names}
""",
    "files": """
import os
result = {folder: sorted(os.listdir(folder)) for folder in ("/", "/tmp", "/dev", "/dev/shm", "/home", "/etc", "/work")}
""",
    "mounts": """
fields = [line.split(" - ") for line in open("/proc/self/mountinfo")]
result = sorted([one.split()[4], one.split()[5], two.split()[0], two.split()[2]] for one, two in fields)
""",
    "environment": "import os; result = dict(os.environ)",
    "network": "result = [line.split(':')[0].strip() for line in open('/proc/net/dev')][2:]",
    "host and folder": "import os, socket; result = [socket.gethostname(), os.getcwd()]",
    "session": "import os; result = [os.getpid() == os.getsid(0) or os.getsid(0) > 0, os.getppid() < 2]",
    "imports": "import sys; result = sys.path",
    "signals": """
import signal
result = {s.name: str(signal.getsignal(s)) for s in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGTERM, signal.SIGHUP)}
""",
    "further namespaces": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
result = [bool(libc.unshare(flag)) for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000)]
""",
    "streams": "import os; result = [os.readlink(f'/proc/self/fd/{number}') for number in (0, 1, 2)]",
}


@pytest.mark.parametrize("fact", FACTS)
def test_a_copy_stands_where_a_started_kernel_stands(two, started, fact):
    expected, found = (kernel.ask(FACTS[fact]) for kernel in (started, two[0]))
    if fact == "mounts":  # each has a connection folder of its own
        expected, found = ([m for m in mounts if not m[0].endswith("/k")] for mounts in (expected, found))
    if fact == "limits":  # pytest sets them for a kernel that it starts; this test has not
        launch = two[0].launch
        expected = {**expected, **{name: [value, value] for name, value in launch.resources.items()}}
    assert found == expected


def test_it_has_no_rights_at_all(two):
    """Not only as few as the other one."""
    lines = two[0].ask(FACTS["rights"])
    assert {line.split()[1] for line in lines if line.startswith("Cap")} == {"0" * 16}
    assert "NoNewPrivs:\t1\n" in lines
    assert two[0].ask(FACTS["further namespaces"]) == [True] * 4


def test_no_namespace_is_shared_with_another_kernel_or_with_us(two):
    code = "import os; result = {n: os.readlink(f'/proc/self/ns/{n}') for n in ('user','mnt','pid','ipc','uts','net')}"
    mine = {name: os.readlink(f"/proc/self/ns/{name}") for name in ("user", "mnt", "pid", "ipc", "uts", "net")}
    first, second = (kernel.ask(code) for kernel in two)
    for name in mine:
        assert len({mine[name], first[name], second[name]}) == 3, name


# ---- what one kernel cannot learn of another, or of the template

TRACES = """
import ctypes, mmap, os, socket
for place in ("/tmp", "/dev/shm", "/home/learner", "/work"):
    with open(f"{place}/of-a", "w") as file: file.write("x")
abstract = socket.socket(socket.AF_UNIX); abstract.bind("\\0of-a"); abstract.listen()
named = socket.socket(socket.AF_UNIX); named.bind("/tmp/of-a.sock"); named.listen()
lo = socket.socket(); lo.bind(("127.0.0.1", 0)); lo.listen()
segment = ctypes.CDLL(None).shmget(4711, 4096, 0o1666)
secret = b"the secret of kernel a" * 3
result = [lo.getsockname()[1], segment >= 0]
"""
LOOK = """
import ctypes, os, socket
found = [p for p in ("/tmp", "/dev/shm", "/home/learner", "/work") if os.path.exists(f"{{p}}/of-a")]
for address in ("\\0of-a", "/tmp/of-a.sock", ("127.0.0.1", {port})):
    try:
        socket.socket(socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX).connect(address)
        found.append(address)
    except OSError:
        pass
if ctypes.CDLL(None).shmget(4711, 0, 0) >= 0: found.append("shared memory")
found += [line for line in open("/proc/net/unix") if "of-a" in line or "fp8g-" in line]
result = found
"""


def test_nothing_that_one_leaves_is_seen_by_the_other(two):
    a, b = two
    port, segment = a.ask(TRACES)
    assert segment
    assert a.ask(LOOK.format(port=port)) != []  # the look finds what is there
    assert b.ask(LOOK.format(port=port)) == []


def test_no_process_of_others_is_seen(two):
    """bubblewrap's two, and itself."""
    code = """
import os
pids = [int(pid) for pid in os.listdir("/proc") if pid.isdigit()]
def alive(pid):
    try:
        os.kill(pid, 0); return True
    except OSError:
        return False
threads = {int(t) for p in pids for t in os.listdir(f"/proc/{p}/task")}
found = [p for p in range(1, 5000) if alive(p) and p not in threads]
result = [[open(f"/proc/{pid}/cmdline").read() for pid in pids], os.getppid(), found]
"""
    commands, parent, others = two[1].ask(code)
    assert parent == 0  # the template is outside
    assert len(commands) == 3 and others == []
    assert sum("fp8lab.grading.template" in command for command in commands) == 1


def test_the_memory_of_others_cannot_be_read(two):
    """ptrace and process_vm_readv for every number that a process could have: in vain, even for the holder's parent."""
    pids = [kernel.process.copy.pid for kernel in two] + [templates._running[KERNELS].process.pid, os.getpid()]
    code = f"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def pidfd(pid):
    try:
        os.close(os.pidfd_open(pid)); return True
    except OSError:
        return False
result = [[p for p in {pids} if libc.ptrace(16, p, 0, 0) == 0], [p for p in {pids} if pidfd(p)],
          [p for p in {pids} if os.path.exists(f"/proc/{{p}}")]]
"""
    assert two[0].ask(code) == [[], [], []]


def test_the_connection_folders_of_others_are_not_there(two):
    a, b = two
    code = f"import os; result = [os.path.exists(p) for p in {[str(a.folder), str(b.folder), str(own_folder())]}]"
    code += f"\nresult.append(sorted(os.listdir({str(b.folder.parent)!r})))"
    assert b.ask(code)[:2] == [False, True]
    assert b.ask(code)[3] == [b.folder.name]
    assert not b.ask(f"import os; result = os.path.exists({templates._running[KERNELS].address!r})")


def test_no_descriptor_of_the_template_is_left_open(two):
    """Sockets and pipes have numbers that are the same on both sides of the sandbox."""
    code = "import os\nresult = [os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd')[:-1]]"
    own = set(two[0].ask(code))
    folder = Path(f"/proc/{templates._running[KERNELS].process.pid}/fd")
    theirs = {os.readlink(entry) for entry in folder.iterdir()}
    numbered = [{link for link in links if link.startswith(("socket", "pipe"))} for links in (own, theirs)]
    assert all(numbered) and not numbered[0] & numbered[1]


def test_random_numbers_are_its_own(two):
    code = "import random, uuid, numpy; result = [random.random(), numpy.random.rand(), uuid.uuid4().hex]"
    first, second = (kernel.ask(code) for kernel in two)
    assert [one for one, other in zip(first, second) if one == other] == []


def test_its_memory_can_be_measured_from_outside(two):
    kernel = two[0]
    roots = {kernel.process.pid, kernel.process.copy.pid}
    before = proportional(process_tree(roots)[0])
    kernel.ask("hoard = bytearray(b'x') * 300_000_000; result = 0")
    after = proportional(process_tree(roots)[0])
    kernel.ask("del hoard; result = 0")
    assert 0 < before and after - before > 290_000_000
