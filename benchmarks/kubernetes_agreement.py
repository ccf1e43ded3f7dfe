"""Does the bundled experiment end alike in a cluster and in containers?

    python benchmarks/kubernetes_agreement.py
    python benchmarks/kubernetes_agreement.py --json

Runs it twice by the command line: with Docker pods, and with Kubernetes pods whose cluster is the
fake API server of the tests before a kubelet's double that runs containers under real limits.
Compares verdict, cause and the place of OOM kills of every trial. Status 1 if any differs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "services"), str(ROOT / "benchmarks")]

from agreement import Verdict, verdicts  # noqa: E402
from kube_api import FakeApi  # noqa: E402
from kube_kubelet import DockerKubelet  # noqa: E402

NODE = ROOT / "tests" / "golden" / "kubernetes" / "node.json"


def main() -> None:
    """Run both, and say what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    asked = parser.parse_args()
    since = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="agreement-") as folder:
        on_docker = Path(folder, "docker")
        in_cluster = Path(folder, "kubernetes")
        demo(on_docker, "docker", asked.slots, {})  # it also builds the images
        with_cluster(Path(folder), in_cluster, asked.slots)
        first, second = verdicts(on_docker), verdicts(in_cluster)
    sys.exit(tell(first, second, time.monotonic() - since, as_json=asked.json))


def with_cluster(folder: Path, out: Path, slots: int) -> None:
    """Run the demo in a cluster of our own."""
    fake = FakeApi()
    with fake.running():
        fake.store.create("namespaces", "", {"metadata": {"name": "trials"}})
        kubelet = DockerKubelet(fake, json.loads(NODE.read_text()))
        (folder / "kubeconfig").write_text(json.dumps(fake.kubeconfig()))
        environ = {
            "KUBECONFIG": str(folder / "kubeconfig"),
            "INFRANOISE_KUBERNETES_NAMESPACE": "trials",
            "INFRANOISE_IMAGE_PREFIX": "infranoise/env",
        }
        try:
            demo(out, "kubernetes", slots, environ)
            left = kubelet.containers()
            assert not left, f"{len(left)} containers were left behind"
        finally:
            kubelet.close()


def demo(out: Path, runtime: str, slots: int, environ: Mapping[str, str]) -> None:
    """Run the bundled experiment by the command line."""
    state = {"INFRANOISE_STATE": str(out.with_suffix(".state"))}
    options = ["--runtime", runtime, "--out", str(out), "--slots", str(slots)]
    subprocess.run(
        [sys.executable, "-m", "infranoise", "demo", *options],
        env=os.environ | state | environ,
        check=True,
        stdout=sys.stderr,
    )


def tell(
    first: Mapping[str, Verdict], second: Mapping[str, Verdict], wall_s: float, *, as_json: bool
) -> int:
    """Print what differs; 1 if anything does."""
    keys = first.keys() | second.keys()
    differ = sorted(key for key in keys if first.get(key) != second.get(key))
    if as_json:
        print(json.dumps({"trials": len(keys), "differ": differ, "wall_s": wall_s}))
        return bool(differ)
    for key in differ:
        print(f"{key}: docker {first.get(key)}, kubernetes {second.get(key)}")
    print(f"{len(keys) - len(differ)} trials agree, {len(differ)} differ ({wall_s:.0f} s)")
    return bool(differ)


if __name__ == "__main__":
    main()
