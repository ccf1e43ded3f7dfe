"""What a node tells its fleet of the pods that it offers."""

import pytest

from infranoise.models.egress import Egress
from infranoise.models.errors import Refused
from infranoise.models.link import LINKS, Network, link_of
from infranoise.workers.offers import no_links, offers


class Weak:
    """A kind of pods without a link of its own."""

    def facts(self) -> dict[str, object]:
        return {}

    def refuse_link(self, network: Network, egress_mbps: Egress | None) -> str | None:
        return None if network == "public" and egress_mbps is None else f"no {network}"


class Kinds:
    """A node with such pods alone."""

    def named(self, name: str) -> Weak:
        if name != "process":
            raise Refused(f"no {name} here")
        return Weak()


def test_of_what_is_offered_the_links_that_it_lacks_are_told() -> None:
    offered = offers(Kinds())  # type: ignore[arg-type]
    assert {name for name, why in offered.items() if not why} == {"process"}
    told = no_links(Kinds(), offered)  # type: ignore[arg-type]
    assert set(told) == {"process"}
    assert set(told["process"]) == set(LINKS) - {"public"}
    assert told["process"]["internal"] == "no internal"


@pytest.mark.parametrize(
    ("mode", "network", "capped", "link"),
    [
        ("public", "public", False, "public"),
        ("public", "public", True, "public, capped"),
        ("allowlist", "public", True, "gateway, capped"),
        ("allowlist", "gateway", False, "gateway"),
        ("public", "internal", True, "internal, capped"),
        ("no-network", "public", True, "none"),
        ("no-network", "internal", False, "none"),
    ],
)
def test_a_tasks_link_has_one_name(
    make_task,
    mode: str,
    network: Network,
    capped: bool,
    link: str,  # type: ignore[no-untyped-def]
) -> None:
    assert link_of(make_task(network_mode=mode), network, capped=capped) == link
    assert link in LINKS
