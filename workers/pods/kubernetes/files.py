"""Files in and out of a pod: tar streams through an exec connection, their bytes counted."""

import tarfile
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath

from ....models.errors import PodLost
from .. import archive
from . import scripts
from .api import ApiTrouble
from .channel import STDERR, STDOUT
from .exec import Execution, Script, mark

NO_SUCH_PATH = 3
SPOOL_BYTES = 8 * 1024 * 1024
Lost = Callable[[str], PodLost]


def upload(execution: Execution, lost: Lost, source: Path, target: PurePosixPath) -> None:
    """Copy a file, or a folder's contents, in: a tar stream whose length is told beforehand.

    Args:
        lost: makes the error for work that broke off.
    Raises:
        PodLost: the pod has no `tar`, or not every byte arrived.
    """
    with tempfile.SpooledTemporaryFile(SPOOL_BYTES) as spool:
        for piece in archive.pack(source, target):
            spool.write(piece)
        size_bytes = spool.tell()
        spool.seek(0)
        word = mark()
        script = Script(scripts.unpacking(size_bytes, word), word, spool.read())
    complaint = b"".join(_output(execution, lost, script, STDERR))
    if execution.code() != 0:
        told = complaint.decode("utf-8", "replace").strip()
        raise lost(f"{target} could not be uploaded ({execution.code()}): {told}")


def download(
    execution: Execution, lost: Lost, source: PurePosixPath, target: Path, cap_bytes: int
) -> bool:
    """Copy a file or folder out; False if there is no such path.

    Args:
        lost: makes the error for work that broke off.
        cap_bytes: the most that is written.
    Raises:
        PodLost: the stream broke off before its end.
    """
    word = mark()
    script = Script(scripts.packing(str(source), word), word)
    pieces = _output(execution, lost, script, STDOUT)
    with closing(pieces):
        first = next(pieces, b"")
        if execution.code() == NO_SUCH_PATH or not first:
            if execution.code() not in (0, NO_SUCH_PATH):
                raise lost(f"its files cannot be packed (exit code {execution.code()})")
            return False
        try:
            return archive.unpack(_chained(first, pieces), target, cap_bytes)
        except tarfile.TarError as error:
            raise lost(f"{source}: its archive broke off: {error}") from error


def _output(execution: Execution, lost: Lost, script: Script, wanted: int) -> Generator[bytes]:
    try:
        for channel, content in execution.output(script):
            if channel == wanted:
                yield content
    except ApiTrouble as trouble:
        raise lost(str(trouble)) from trouble
    if execution.code() is None:
        raise lost("the connection ended before the command")


def _chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
