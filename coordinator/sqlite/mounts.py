"""Mounts: whether a file is on a file system where SQLite is not safe."""

from __future__ import annotations

import os
import re

# Shared between machines, or between a host and its guests. Locks and shared memory don't reach the other side.
_NETWORK = (
    "9p acfs afs beegfs ceph cifs coda drvfs glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs panfs "
    "pvfs2 smb2 smb3 smbfs vboxsf virtiofs vmhgfs"
)
# Some user-space file systems are local (NTFS, encryption). These are not.
_NETWORK_FUSE = (
    "afpfs blobfuse blobfuse2 ceph-fuse cephfs curlftpfs davfs davfs2 gcsfuse glusterfs goofys grpcfuse "
    "httpfs juicefs mount-s3 nfs osxfs rclone s3fs seaweedfs smbnetfs sshfs vmhgfs-fuse"
)


def network_file_system(path: str, mounts: str) -> str | None:
    """The kind of network file system that `path` is on. None for other file systems.

    `mounts` is the text of /proc/mounts, with device, place, kind, options and two numbers in each line. The longest
    place that leads to the path decides. If there are several, the last is mounted over the others.
    """
    where = os.path.realpath(path)
    longest, found = -1, ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        place = _unescaped(fields[1])
        if _leads_to(place, where) and len(place) >= longest:
            longest, found = len(place), fields[2]
    kind, _, program = found.partition(".")
    known = _NETWORK_FUSE if kind in ("fuse", "fuseblk") else _NETWORK
    return found if (program or kind) in known.split() else None


def _leads_to(place: str, path: str) -> bool:
    return path == place or path.startswith(place.rstrip("/") + "/")


def _unescaped(place: str) -> str:
    """Replaces the octal numbers that stand for blanks, tabs, newlines and backslashes in the table."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), place)
