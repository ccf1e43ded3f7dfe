"""What kinds of pods a node offers to its fleet."""

import logging
from collections.abc import Collection, Mapping

from ..models.errors import PodError
from ..models.link import LINKS
from .runtimes import NAMES, Runtimes

log = logging.getLogger(__name__)


def offers(runtimes: Runtimes, wanted: Collection[str] = ()) -> dict[str, str]:
    """Every kind of pod by name: "" where this node offers it, else why not.

    Args:
        wanted: the kinds that whoever started the worker wants offered; empty: all there are.
    """
    return {name: _why_not(runtimes, name, wanted) for name in NAMES}


def no_links(runtimes: Runtimes, offered: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The links that pods cannot have on this node, by kind of pod and name, each with its why.

    Args:
        offered: as `offers` says.
    """
    kinds = {name: runtimes.named(name) for name, why in offered.items() if not why}
    return {
        name: {link: why for link, asked in LINKS.items() if (why := pods.refuse_link(*asked))}
        for name, pods in kinds.items()
    }


def _why_not(runtimes: Runtimes, name: str, wanted: Collection[str]) -> str:
    if wanted and name not in wanted:
        return f"not offered here (INFRANOISE_RUNTIMES={','.join(wanted)})"
    try:
        runtimes.named(name).facts()
    except PodError as error:
        log.info("no %s pods on this node: %s", name, error)
        return str(error)
    return ""
