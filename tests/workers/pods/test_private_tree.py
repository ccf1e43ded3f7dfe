"""Files into and out of a tree that a hostile pod has had its hands in."""

import os
import threading
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.models.errors import PodLost
from infranoise.workers.pods.process import tree_copy
from infranoise.workers.pods.process.private_tree import identity, slug
from infranoise.workers.pods.process.tree_copy import get, put

BUDGET = 1 << 20


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    root = tmp_path / "root"
    (root / "app").mkdir(parents=True)
    (root / "app" / "good").write_text("good")
    return root


def test_a_path_through_links_is_followed_as_the_pod_would_see_it(tree: Path) -> None:
    (tree / "data").mkdir()
    (tree / "data" / "file").write_text("inside")
    (tree / "app" / "absolute").symlink_to("/data")
    (tree / "app" / "relative").symlink_to("../data/file")
    (tree / "app" / "high").symlink_to("../../../../data/./file")
    (tree / "app" / "twice").symlink_to("absolute/../data/file")
    for name in ("absolute/file", "relative", "high", "twice"):
        target = tree.parent / "back" / name
        assert get(tree, PurePosixPath("/app") / name, target, BUDGET), name
        assert target.read_text() == "inside"


LEADING_OUT = ["{outside}/secret", "../../outside/secret", "circle", "gone", "good/under"]


@pytest.mark.parametrize("leads_to", LEADING_OUT)
def test_a_link_that_leads_nowhere_in_the_tree_is_no_file(tree: Path, leads_to: str) -> None:
    (tree / "app" / "circle").symlink_to("circle")
    (tree / "app" / "link").symlink_to(leads_to.format(outside=tree.parent / "outside"))
    assert not get(tree, PurePosixPath("/app/link"), tree.parent / "back", BUDGET)
    assert not (tree.parent / "back").exists()


def test_the_whole_tree_can_be_taken(tree: Path) -> None:
    assert get(tree, PurePosixPath("/"), tree.parent / "back", BUDGET)
    assert (tree.parent / "back" / "app" / "good").read_text() == "good"


def test_taking_twice_overwrites_and_does_not_write_through_a_link(tree: Path) -> None:
    back, outside = tree.parent / "back", tree.parent / "outside"
    assert get(tree, PurePosixPath("/app"), back, BUDGET)
    (back / "good").unlink()
    (back / "good").symlink_to(outside / "secret")
    assert get(tree, PurePosixPath("/app"), back, BUDGET)
    assert (back / "good").read_text() == "good"
    assert (outside / "secret").read_text() == "secret"


def test_files_beyond_the_budget_are_left_out_and_smaller_ones_taken(tree: Path) -> None:
    for name, size in (("a", 600), ("b", 600), ("c", 300), ("d", 10**9)):
        os.truncate(os.open(tree / "app" / name, os.O_CREAT | os.O_WRONLY), size)
    assert get(tree, PurePosixPath("/app"), tree.parent / "back", 1000)
    assert {path.name for path in (tree.parent / "back").iterdir()} == {"a", "c", "good"}


def test_entries_and_depth_are_bounded(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_copy, "ENTRIES_LIMIT", 5)
    for number in range(20):
        (tree / "app" / f"{number:02d}").touch()
    (tree / "deep" / "/".join("d" * 120)).mkdir(parents=True)
    assert get(tree, PurePosixPath("/app"), tree.parent / "many", BUDGET)
    assert len(list((tree.parent / "many").iterdir())) == 5
    monkeypatch.undo()
    assert get(tree, PurePosixPath("/deep"), tree.parent / "far", BUDGET)
    depth = max(len(path.parts) for path, _, _ in (tree.parent / "far").walk())
    assert depth - len(tree.parent.parts) <= tree_copy.DEPTH_LIMIT + 1


@pytest.mark.parametrize("standing", ["link to a file", "link to a folder", "file"])
def test_putting_a_file_replaces_what_stands_there(tree: Path, standing: str) -> None:
    outside = tree.parent / "outside"
    place = tree / "app" / "place"
    if standing == "file":
        place.write_text("old")
    else:
        place.symlink_to(outside / "secret" if "file" in standing else outside)
    (tree.parent / "new").write_text("new")
    put(tree, tree.parent / "new", PurePosixPath("/app/place"), None)
    assert (place.read_text(), place.is_symlink()) == ("new", False)
    assert [path.read_text() for path in outside.iterdir()] == ["secret"]


def test_putting_below_a_link_makes_a_folder_of_it(tree: Path) -> None:
    (tree / "tests").symlink_to(tree.parent / "outside")
    (tree.parent / "source" / "tests").mkdir(parents=True)
    (tree.parent / "source" / "tests" / "secret").write_text("planted")
    put(tree, tree.parent / "source", PurePosixPath("/"), None)
    assert (tree / "tests" / "secret").read_text() == "planted"
    assert (tree.parent / "outside" / "secret").read_text() == "secret"


def test_a_folder_where_a_file_must_be_is_told(tree: Path) -> None:
    (tree.parent / "new").write_text("new")
    with pytest.raises(PodLost, match="/app in the pod"):
        put(tree, tree.parent / "new", PurePosixPath("/app"), None)
    with pytest.raises(PodLost, match="good"):
        put(tree, tree.parent / "new", PurePosixPath("/app/good/below"), None)


def test_a_pod_that_swaps_folders_for_links_meanwhile_gains_nothing(tree: Path) -> None:
    """A race for the place in /app/flip, between a folder and a link to the outside."""
    outside, done = tree.parent / "outside", threading.Event()
    folder, link, place = tree / "app" / "real", tree / "app" / "link", tree / "app" / "flip"
    folder.mkdir()
    (folder / "secret").write_text("own")
    link.symlink_to(outside)
    (tree.parent / "new").write_text("planted")

    def flip() -> None:
        while not done.is_set():
            for one in (folder, link):
                one.rename(place)
                place.rename(one)

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        for number in range(300):
            target = tree.parent / f"back{number}"
            if get(tree, PurePosixPath("/app/flip/secret"), target, BUDGET):
                assert target.read_text() == "own"
    finally:
        done.set()
        thread.join()
    assert (outside / "secret").read_text() == "secret"


PASSWD = "root:x:0:0::/:\napp:x:7:8::/:\nbroken\nodd:x:y:z::\n"


def test_users_are_looked_up_in_the_pod_s_own_passwd(tree: Path) -> None:
    (tree / "etc").mkdir()
    (tree / "etc" / "passwd").write_text(PASSWD)
    assert identity(tree, "app") == (7, 8)
    assert (identity(tree, "12"), identity(tree, "12:34")) == ((12, 12), (12, 34))
    for name in ("ghost", "broken", "odd"):
        with pytest.raises(PodLost, match=name):
            identity(tree, name)


names = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1)


@given(names)
def test_any_name_has_a_safe_slug_of_its_own(name: str) -> None:
    made = slug(name)
    assert made.replace("-", "").replace("_", "").isalnum() or set(made) <= set("-_")
    assert made.isascii()
    assert len(made) <= 80
    assert made == name or slug(name + "x") != made
