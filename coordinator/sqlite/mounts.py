"""Mounts: whether a file is on a file system that SQLite is not safe on."""

from __future__ import annotations

import os
import re

# Between machines, or between a host and its guests: there locks and shared memory do not reach the other side.
_NETWORK = (
    "9p acfs afs beegfs ceph cifs coda drvfs glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs panfs "
    "pvfs2 smb2 smb3 smbfs vboxsf virtiofs vmhgfs"
)
# User-space file systems are local (NTFS, encryption) or not; these are not.
_NETWORK_FUSE = (
    "afpfs blobfuse blobfuse2 ceph-fuse cephfs curlftpfs davfs davfs2 gcsfuse glusterfs goofys grpcfuse "
    "httpfs juicefs mount-s3 nfs osxfs rclone s3fs seaweedfs smbnetfs sshfs vmhgfs-fuse"
)


def network_file_system(path: str, mounts: str) -> str | None:
    """The kind of network file system that `path` is on, None if it is on another.

    `mounts` is the text of /proc/mounts: device, place, kind, options and two numbers a line. The longest place that
    leads to the path counts, and of equal ones the last, which is mounted over the others.
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
    """Blanks, tabs, newlines and backslashes stand as octal numbers in the table."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), place)
