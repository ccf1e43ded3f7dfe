"""The kernel's files under /proc, /sys and /etc, as text, numbers and tables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Files:
    """A root of the kernel's files; another one than `/` for a container's or a test's."""

    root: Path = Path("/")

    def text(self, path: str) -> str | None:
        """What a file holds, stripped; None where it is missing or unreadable."""
        try:
            return (self.root / path).read_text(errors="replace").strip()
        except OSError:
            return None

    def whole(self, path: str) -> int | None:
        """The whole number that a file holds; None where it holds another thing or nothing."""
        return _whole(self.text(path))

    def table(self, path: str, separator: str | None = None) -> dict[str, str]:
        """A file of `key<separator>value` lines; of keys that repeat the first counts."""
        rows = (line.partition(separator or " ") for line in (self.text(path) or "").splitlines())
        table: dict[str, str] = {}
        for key, _, value in rows:
            table.setdefault(key.strip(), value.strip())
        return table

    def line(self, path: str, key: str) -> str:
        """What follows the key in the first line that begins with it; "" where none does."""
        _, _, rest = f"\n{self.text(path) or ''}".partition(f"\n{key} ")
        return rest.partition("\n")[0].strip()

    def size_bytes(self, path: str, key: str) -> int | None:
        """A size that a table such as meminfo gives in kB, which is KiB."""
        amount = _whole(self.line(path, f"{key}:").removesuffix(" kB"))
        return None if amount is None else amount * 1024

    def paths(self, folder: str, pattern: str) -> list[str]:
        """Paths below a folder that match a glob, sorted, relative to the root."""
        return sorted(str(p.relative_to(self.root)) for p in (self.root / folder).glob(pattern))


@dataclass(frozen=True, slots=True)
class Told(Files):
    """Files that someone else has read, by their paths: those of another machine."""

    held: Mapping[str, str] = field(default_factory=dict)

    def text(self, path: str) -> str | None:
        """What a file held; None where nobody read it."""
        text = self.held.get(path)
        return None if text is None else text.strip()


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
