"""What runs inside a pod for us: plain `sh`, since a task's image may hold nothing else.

Nothing here may cost the task anything while it works: PID 1 sleeps, and all else is asked for.
"""

import re
import shlex
from collections.abc import Mapping, Sequence

VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
IDLE_S = 2147483647  # every `sleep` knows a number of this size, and it lasts 68 years

_COUNTERS = """
key() { k=; while read -r k v; do [ "$k" = "$2" ] && { printf %s "$v"; return; }; done \
2>/dev/null < "$1"; printf null; }
first() { x=; { read -r x < "$1"; } 2>/dev/null; printf %s "${x:-null}"; }
wall() { t=$(date +%s.%N 2>/dev/null); case $t in ''|*[!0-9.]*) t=$(date +%s);; esac; \
printf %s "$t"; }
up() { x=; { read -r x rest < /proc/uptime; } 2>/dev/null; printf %s "${x:-null}"; }
look() {
  g=/sys/fs/cgroup
  if [ -r $g/memory.events ]; then
    printf '{"v":2,"oom_kill":%s,"peak":%s,' "$(key $g/memory.events oom_kill)" \
"$(first $g/memory.peak)"
  else
    printf '{"v":1,"oom_kill":%s,"peak":%s,' "$(key $g/memory/memory.oom_control oom_kill)" \
"$(first $g/memory/memory.max_usage_in_bytes)"
  fi
  printf '"wall":%s,"up":%s}' "$(wall)" "$(up)"
}
"""

FIRST_PROCESS = f"""{_COUNTERS}
before=$(look)
finish() {{
  trap '' TERM INT
  printf '{{"rc":%s,"before":%s,"after":%s}}' "$1" "$before" "$(look)" > /dev/termination-log
  exit "$1"
}}
trap 'finish 143' TERM INT
while :; do
  sleep {IDLE_S} & wait $!
  [ $? -eq 127 ] && finish 127
done
"""
"""PID 1: reaps orphans, and at its end tells of kills and times in the termination message."""

RUNNER = 'IFS= read -r n && s=$(head -c "$n") && eval "$s"'
"""A command that takes its script from standard input: nothing has begun until that is sent, so a
failed handshake may be tried again; and what is run shows in no URL and no process list."""

QUIESCE = """
killed=0
while :; do
  n=0
  for p in /proc/[0-9]*; do
    s=; while read -r k v rest; do [ "$k" = State: ] && { s=$v; break; }; done \
2>/dev/null < "$p/status"
    case $s in ''|Z|X) ;; *) n=$((n + 1));; esac
  done
  n=$((n - 3))
  [ "$n" -le 0 ] && break
  [ "$killed" -lt "$n" ] && killed=$n
  kill -9 -1
done
echo "$killed"
"""
"""Kills every process but PID 1 and the asking shell, until none is left. Three are always there:
PID 1, what it waits for, and the shell itself."""

_FILES = (
    "memory.events",
    "memory.peak",
    "memory.max",
    "memory.oom.group",
    "cpu.stat",
    "cpu.max",
    "cpu.weight",
    "pids.peak",
    "pids.current",
    "pids.max",
    "cpuset.cpus.effective",
    "memory/memory.oom_control",
    "memory/memory.max_usage_in_bytes",
    "memory/memory.limit_in_bytes",
    "memory/memory.memsw.limit_in_bytes",
    "cpu/cpu.stat",
    "cpu/cpu.shares",
    "cpu/cpu.cfs_quota_us",
    "cpu/cpu.cfs_period_us",
    "cpuacct/cpuacct.usage",
    "cpuset/cpuset.cpus",
    "pids/pids.current",
    "pids/pids.max",
)
SHOW = (
    'show() { [ -r "$1" ] && { printf \'== %s\\n\' "$1"; '
    'while IFS= read -r l; do printf \'%s\\n\' "$l"; done < "$1"; } 2>/dev/null; }\n'
    'top() { n=$2; [ -r "$1" ] && { printf \'== %s\\n\' "$1"; '
    'while [ "$n" -gt 0 ] && IFS= read -r l; do printf \'%s\\n\' "$l"; n=$((n - 1)); done '
    '< "$1"; } 2>/dev/null; }\n'
)
READ_FILES = (
    f"{SHOW}for f in {' '.join(_FILES)}; do show /sys/fs/cgroup/$f; done\nshow /proc/net/dev\n"
    "show /proc/loadavg\nfor f in cpu memory io; do show /proc/pressure/$f; done\n"
    "top /proc/stat 1\ntop /proc/meminfo 20\ntop /proc/self/status 12\ntrue"
)
"""Prints the pod's own counters and limits and its node's load, each file under a line with its
name."""

NODE_FILES = (
    f"{SHOW}for f in memory.events memory.oom.group memory/memory.oom_control; "
    "do show /sys/fs/cgroup/$f; done\nshow /proc/version\nshow /proc/cpuinfo\ntrue"
)
"""Prints what a pod sees of its node that stays so until the node is started again."""

AS_USER = """
as() {
  u=${1%%:*}; g=${1#*:}; [ "$g" = "$1" ] && g=$(id -g "$u" 2>/dev/null || echo 0); shift
  if command -v setpriv >/dev/null; then setpriv --reuid="$u" --regid="$g" --clear-groups "$@"
  elif chroot --help 2>&1 | grep -q userspec; then chroot --userspec="$u:$g" --groups= / "$@"
  else echo "no setpriv and no chroot --userspec here: cannot run as $u" >&2; return 126; fi
}
"""


def command(
    argv: Sequence[str],
    *,
    mark: str,
    stdin_bytes: int = 0,
    env: Mapping[str, str] | None = None,
    user: str | None = None,
    cwd: str | None = None,
) -> str:
    """The script of one command: where, as whom, with what input; its end is told on both outputs.

    Args:
        mark: a word that the command cannot know; it stands before the exit code, and once on
            standard error when the command begins.
        env: exported by the shell, so that no value is ever an argument that others can list.
    """
    named = {name: value for name, value in (env or {}).items() if VARIABLE.fullmatch(name)}
    odd = {name: value for name, value in (env or {}).items() if name not in named}
    told = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in named.items())
    line = f"{f'as {shlex.quote(user)} ' if user else ''}{shlex.join([*_with(odd), *argv])}"
    line = f"head -c {stdin_bytes} | {line}" if stdin_bytes else f"{line} </dev/null"
    place = f"cd {shlex.quote(cwd)} && " if cwd else ""
    return (
        f"{AS_USER if user else ''}printf '\\000{mark}<' >&2\n"
        f"( {told}{place}{{ {line}\n}} )\nrc=$?\n"
        f"printf '\\000{mark}>%s\\n' $rc\nprintf '\\000{mark}>%s\\n' $rc >&2\nexit $rc"
    )


def _with(env: Mapping[str, str] | None) -> list[str]:
    return ["env", *(f"{name}={value}" for name, value in env.items())] if env else []


def unpacking(stdin_bytes: int, mark: str) -> str:
    """The script that unpacks so many bytes of a tar stream at `/`, owned by who unpacks."""
    return command(["tar", "-xof", "-", "-C", "/"], mark=mark, stdin_bytes=stdin_bytes)


def packing(path: str, mark: str) -> str:
    """The script that packs one path to standard output; exit code 3 where there is none.

    A link that is asked for is followed; links below it stay links.
    """
    text = (
        'p=$1; [ -L "$p" ] && p=$(readlink -f "$p"); [ -n "$p" ] && [ -e "$p" ] || exit 3; '
        'cd "$(dirname "$p")" && exec tar -cf - "./$(basename "$p")"'
    )
    return command(["sh", "-c", text, "sh", path], mark=mark)
