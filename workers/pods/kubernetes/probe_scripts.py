"""What probe pods run: plain `sh`, and python3 or nc where a connection is needed."""

NO_TOOL = 42
PORT = 8099
_SERVE = (
    "import socket,threading\n"
    f"s=socket.create_server(('',{PORT}),backlog=64)\n"
    "def eat(c):\n"
    "  while c.recv(1<<20): pass\n"
    "while 1: threading.Thread(target=eat,args=(s.accept()[0],),daemon=True).start()"
)
LISTEN = f"""
if command -v python3 >/dev/null; then
  setsid python3 -c "{_SERVE}" >/dev/null 2>&1 </dev/null &
elif command -v nc >/dev/null; then
  setsid sh -c 'while :; do nc -l -p {PORT} >/dev/null; done' >/dev/null 2>&1 </dev/null &
else exit {NO_TOOL}; fi
sleep 1
"""
"""Takes connections and swallows what comes."""


def hog(size_bytes: int) -> str:
    """Holds so many bytes of memory: `tail` keeps a line until its end, and there is none."""
    return f"head -c {size_bytes} /dev/zero | tail | head -c 1 >/dev/null"


def connect(address: str) -> str:
    """Ends with 0 where the listener is reached within three seconds."""
    code = f"import socket; socket.create_connection(('{address}',{PORT}),3)"
    return f"""
if command -v python3 >/dev/null; then exec python3 -c "{code}" 2>/dev/null
elif command -v nc >/dev/null; then echo | nc -w 3 {address} {PORT} >/dev/null 2>&1
else exit {NO_TOOL}; fi
"""


def flood(address: str, size_bytes: int, seconds: int) -> str:
    """Sends bytes to the listener, and prints second by second how many have left the pod."""
    code = (
        "import socket\n"
        f"c=socket.create_connection(('{address}',{PORT}),10)\n"
        "c.settimeout(None)\n"
        f"b=bytes(1<<16)\nfor _ in range({size_bytes}>>16): c.sendall(b)"
    )
    return f"""
sent() {{ while IFS=: read -r name rest; do case $name in *lo|*Inter*|*face*) ;; *)
  set -- $rest; [ $# -gt 8 ] && t=$((t + $9));; esac; done < /proc/net/dev; }}
if command -v python3 >/dev/null; then python3 -c "{code}" >/dev/null 2>&1 &
elif command -v nc >/dev/null; then
  head -c {size_bytes} /dev/zero | nc {address} {PORT} >/dev/null &
else exit {NO_TOOL}; fi
n=0; t=0; sent; echo $t
while [ $n -lt {seconds} ]; do sleep 1; t=0; sent; echo $t; n=$((n + 1)); done
kill $! 2>/dev/null
exit 0
"""
