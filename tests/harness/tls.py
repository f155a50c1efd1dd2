"""Redis servers that talk TLS, with an authority of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import trustme

from tests.harness.failover import SERVICE, SentinelServer
from tests.harness.redis import RedisServer, tls_binary


class Certificates:
    """Files with what an authority has issued for a server and a client, and with its own certificate."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.authority = folder / "ca.pem"
        self.renew()
        self.certificate, self.key = folder / "client.pem", folder / "client.key"
        self.query = f"ssl_ca_certs={self.authority}&ssl_certfile={self.certificate}&ssl_keyfile={self.key}"
        server = ("--tls-cert-file", str(folder / "server.pem"), "--tls-key-file", str(folder / "server.key"))
        self.options = (*server, "--tls-ca-cert-file", str(self.authority))

    def renew(self) -> None:
        """Have another authority issue all of them anew, in the same files."""
        authority = trustme.CA()
        authority.cert_pem.write_to_path(self.authority)
        for name in ("server", "client"):
            issued = authority.issue_cert("127.0.0.1", "localhost")
            issued.cert_chain_pems[0].write_to_path(self._folder / f"{name}.pem")
            issued.private_key_pem.write_to_path(self._folder / f"{name}.key")


class TlsServer(RedisServer):
    """A server that speaks TLS only. `certified`: it asks its clients for a certificate too."""

    def __init__(self, folder: Path, *options: str, certified: bool = False) -> None:
        self.certificates = made = Certificates(folder)
        asks = ("--tls-auth-clients", "yes" if certified else "no")
        super().__init__(folder, *made.options, *asks, *options, binary=tls_binary())
        self._options = (*self._options, *_on(self.port))
        self.plain_url = f"rediss://127.0.0.1:{self.port}"
        self.verified_url = f"{self.plain_url}?ssl_ca_certs={made.authority}"
        self.url = f"{self.plain_url}?{made.query}"


class TlsSentinel(SentinelServer):
    """A Sentinel that speaks TLS only, also with the master that it watches."""

    def __init__(self, folder: Path, master: TlsServer) -> None:
        super().__init__(folder, master)
        self._binary = tls_binary() or self._binary
        self._certificates = master.certificates
        self.url = f"rediss://127.0.0.1:{self.port}?{master.certificates.query}"
        self.service_url = f"rediss+sentinel://127.0.0.1:{self.port}/{SERVICE}"

    def _arguments(self) -> Sequence[str]:
        return (*super()._arguments(), *_on(self.port), "--tls-replication", "yes", *self._certificates.options)


def _on(port: int) -> tuple[str, ...]:
    return ("--port", "0", "--tls-port", str(port))
