"""What a pod is shown of a machine, for machines of several kinds."""

from pathlib import Path

from infranoise.workers.pods.process.userland import TOOLS, of_host


def machine(root: Path, folders: tuple[str, ...], links: dict[str, str]) -> Path:
    for folder in folders:
        (root / folder).mkdir(parents=True)
    for place, target in links.items():
        (root / place).symlink_to(target)
    return root


def test_a_merged_usr_is_shown_once_and_linked_to(tmp_path: Path) -> None:
    folders = ("usr/bin", "usr/lib64", "etc/ssl", "dev", "home/me")
    host = machine(tmp_path, folders, {"bin": "usr/bin", "lib64": "usr/lib64"})
    shown = of_host(host, Path("/usr/bin/python3.12"))
    assert shown.binds == (("/usr", "usr"), ("/etc/ssl", "etc/ssl"))
    assert ("bin", "usr/bin") in shown.links
    assert ("lib64", "usr/lib64") in shown.links


def test_an_unmerged_machine_shows_each_folder(tmp_path: Path) -> None:
    host = machine(tmp_path, ("usr", "bin", "lib", "etc"), {})
    shown = of_host(host, Path("/usr/bin/python3"))
    assert {place for _, place in shown.binds} == {"usr", "bin", "lib"}


def test_a_python_of_its_own_is_shown_with_its_prefix_and_found_by_name(tmp_path: Path) -> None:
    host = machine(tmp_path, ("usr", "etc"), {})
    shown = of_host(host, Path("/home/me/.local/python-3.13/bin/python3.13"))
    prefix = "/home/me/.local/python-3.13"
    assert (prefix, prefix[1:]) in shown.binds
    assert (f"{TOOLS[1:]}/python3", f"{prefix}/bin/python3.13") in shown.links
    assert "home/me/.local" in shown.folders


def test_every_place_lies_in_a_folder_that_is_made_before_it(tmp_path: Path) -> None:
    made: set[str] = {""}
    shown = of_host()
    for place in shown.places():
        parent = place.rpartition("/")[0]
        assert parent in made, place
        made.add(place)
    assert {place for _, place in shown.binds} <= made


def test_settings_are_copied_by_content_and_users_are_not_the_machine_s(tmp_path: Path) -> None:
    host = machine(tmp_path, ("usr", "etc", "run"), {})
    (host / "run" / "resolv.conf").write_text("nameserver 192.0.2.1\n")
    (host / "etc" / "resolv.conf").symlink_to(host / "run" / "resolv.conf")
    (host / "etc" / "passwd").write_text("alice:x:1000:1000::/home/alice:/bin/sh\n")
    files = dict(of_host(host, Path("/usr/bin/python3")).files)
    assert files["etc/resolv.conf"] == b"nameserver 192.0.2.1\n"
    assert b"alice" not in files["etc/passwd"]


def test_what_is_the_machine_s_is_known_as_not_writable() -> None:
    shown = of_host()
    assert all(shown.hides(place) for place in ("usr/local/bin/x", "usr", "proc/self", "dev/null"))
    assert not any(shown.hides(place) for place in ("app/usr", "usrx", "tmp", "etc/hosts", "opt"))
