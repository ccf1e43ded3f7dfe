"""A place for blobs: a directory that all machines share, or a bucket; anything that fsspec opens.

Names are content hashes, so that a blob is written once and never changes.

| name | what |
|---|---|
| `tasks/<content hash>.tar.gz` | a task's folder |
| `artefacts/<first two digits>/<sha-256>` | a kept file of an attempt |
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from ..errors import BlobError


def bundle_name(content_hash: str) -> str:
    """The name of a task's packed folder."""
    return f"tasks/{content_hash}.tar.gz"


def artefact_name(sha256: str) -> str:
    """The name of a kept file."""
    return f"artefacts/{sha256[:2]}/{sha256}"


@dataclass(frozen=True, slots=True)
class Blobs:
    """Blobs below a URL: a path, `file:///…`, `s3://bucket/…`. Safe from many threads.

    Credentials come from the environment of the process, never from the URL.

    Raises:
        BlobError: from every method, where the place cannot be reached or refuses.
    """

    url: str

    def has(self, name: str) -> bool:
        """Whether there is such a blob."""
        with self._opened(name) as (place, path):
            return bool(place.exists(path))

    def put(self, name: str, content: bytes | Path) -> None:
        """Keep bytes, or a file's: whole or not at all. What is there already is left alone."""
        with self._opened(name) as (place, path):
            if place.exists(path):
                return
            # A bucket shows an object when it is complete; a directory shows a file as it grows.
            aside = f"{path}.{uuid.uuid4().hex}" if isinstance(place, LocalFileSystem) else path
            place.makedirs(path.rpartition("/")[0], exist_ok=True)
            if isinstance(content, Path):
                place.put_file(str(content), aside)
            else:
                place.pipe_file(aside, content)
            if aside != path:
                place.mv(aside, path)

    def get(self, name: str, target: Path) -> None:
        """Copy a blob to a file of this machine."""
        with self._opened(name) as (place, path):
            place.get_file(path, str(target))

    def read(self, name: str) -> bytes:
        """A blob's bytes."""
        with self._opened(name) as (place, path):
            return bytes(place.cat_file(path))

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[Any, str]]:
        try:
            place, root = fsspec.url_to_fs(self.url)
            yield place, f"{root.rstrip('/')}/{name}"
        except FileNotFoundError as error:
            raise BlobError(
                f"{self.url} holds no {name}: is it the place with which the experiment was "
                "submitted, and the same one here? (--blobs, INFRANOISE_BLOBS)"
            ) from error
        except Exception as error:  # the boundary: every kind of place has errors of its own
            raise BlobError(
                f"blobs at {self.url}: {type(error).__name__}: {error}; correct --blobs "
                "(INFRANOISE_BLOBS), or give this process access to it"
            ) from error
