"""Which file systems SQLite is not safe on, told from given tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from batonpass.coordinator.sqlite.mounts import network_file_system

PLAIN = "/dev/sda1 / ext4 rw,relatime 0 0\nproc /proc proc rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("server:/export /srv/data nfs rw 0 0", "nfs"),
        ("server:/export /srv/data nfs4 rw,vers=4.2 0 0", "nfs4"),
        ("//server/share /srv/data cifs rw 0 0", "cifs"),
        ("//server/share /srv/data smb3 rw 0 0", "smb3"),
        ("me@host:/ /srv/data fuse.sshfs rw 0 0", "fuse.sshfs"),
        ("remote: /srv/data fuse.rclone rw 0 0", "fuse.rclone"),
        ("C:\\134 /srv/data 9p rw,aname=drvfs;path=C:\\134 0 0", "9p"),  # WSL 2
        ("C: /srv/data drvfs rw 0 0", "drvfs"),  # WSL 1
        ("host0 /srv/data virtiofs rw 0 0", "virtiofs"),
        ("/dev/sdb1 /srv/data ext4 rw 0 0", None),
        ("overlay /srv/data overlay rw 0 0", None),
        ("tmpfs /srv/data tmpfs rw 0 0", None),
        ("/dev/sdb1 /srv/data fuseblk rw 0 0", None),  # NTFS, local
        ("gocryptfs /srv/data fuse.gocryptfs rw 0 0", None),
    ],
)
def test_kinds(line: str, kind: str | None) -> None:
    assert network_file_system("/srv/data/team/store.db", f"{PLAIN}{line}\n") == kind
    assert network_file_system("/srv/database/store.db", f"{PLAIN}{line}\n") is None


def test_the_nearest_place_counts() -> None:
    table = "s:/ / nfs rw 0 0\n/dev/sdb1 /data ext4 rw 0 0\ns:/ /data/far nfs rw 0 0\n"
    assert network_file_system("/store.db", table) == "nfs"
    assert network_file_system("/data/store.db", table) is None
    assert network_file_system("/data/far/store.db", table) == "nfs"
    assert network_file_system("/data/farther.db", table) is None


def test_what_is_mounted_over_it_counts() -> None:
    table = "s:/ /data nfs rw 0 0\n/dev/sdb1 /data ext4 rw 0 0\n"
    assert network_file_system("/data/store.db", table) is None
    assert network_file_system("/data/store.db", "".join(reversed(table.splitlines(keepends=True)))) == "nfs"


def test_places_with_odd_names() -> None:
    table = "s:/ /my\\040data\\134x nfs rw 0 0\n\nnonsense\n"
    assert network_file_system("/my data\\x/store.db", table) == "nfs"
    assert network_file_system("/my/store.db", table) is None


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to(tmp_path / "far")
    table = f"s:/ {tmp_path.resolve()}/far nfs rw 0 0\n"
    assert network_file_system(str(tmp_path / "near" / "store.db"), table) == "nfs"


def test_no_table() -> None:
    assert network_file_system("/data/store.db", "") is None
