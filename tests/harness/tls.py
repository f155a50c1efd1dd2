"""A Redis server that talks TLS, with an authority of its own."""

from __future__ import annotations

from pathlib import Path

import trustme

from tests.harness.redis import RedisServer, tls_binary


class TlsServer(RedisServer):
    """A server that speaks TLS only. `certified`: it asks its clients for a certificate too."""

    def __init__(self, folder: Path, *, certified: bool = False) -> None:
        authority = trustme.CA()
        self.authority = folder / "ca.pem"
        authority.cert_pem.write_to_path(self.authority)
        certificate, key = _issue(authority, folder, "server")
        asks = "yes" if certified else "no"
        files = ("--tls-cert-file", str(certificate), "--tls-key-file", str(key))
        trusts = ("--tls-ca-cert-file", str(self.authority), "--tls-auth-clients", asks)
        super().__init__(folder, *files, *trusts, binary=tls_binary())
        self._options = (*self._options, "--port", "0", "--tls-port", str(self.port))
        self.certificate, self.key = _issue(authority, folder, "client")
        self.plain_url = f"rediss://127.0.0.1:{self.port}"
        self.verified_url = f"{self.plain_url}?ssl_ca_certs={self.authority}"
        self.url = f"{self.verified_url}&ssl_certfile={self.certificate}&ssl_keyfile={self.key}"


def _issue(authority: trustme.CA, folder: Path, name: str) -> tuple[Path, Path]:
    issued = authority.issue_cert("127.0.0.1", "localhost")
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    issued.cert_chain_pems[0].write_to_path(certificate)
    issued.private_key_pem.write_to_path(key)
    return certificate, key
