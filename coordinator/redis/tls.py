"""What went wrong with TLS: OpenSSL's words, and what they mean for a store's URL."""

from __future__ import annotations

from redis import exceptions

_OWN = "ssl_certfile=FILE, and ssl_keyfile=FILE if the key is in another one"
_FILES = "ssl_ca_certs, ssl_certfile or ssl_keyfile"
_REFUSED = "refuses the client's certificate (ssl_certfile)"
# OpenSSL's words, and what is told of a server. Both are looked for in this order.
_SAID = {
    "CERTIFICATE_VERIFY_FAILED": "has a certificate that can't be verified (?ssl_ca_certs=FILE)",
    "ALERT_CERTIFICATE_REQUIRED": f"asks for a certificate of the client's: give {_OWN}",
    "ALERT_UNKNOWN_CA": _REFUSED,
    "ALERT_BAD_CERTIFICATE": _REFUSED,
    "ALERT_CERTIFICATE_": _REFUSED,
    "KEY_VALUES_MISMATCH": "can't be asked: ssl_keyfile is not the key of ssl_certfile",
    "NO_CERTIFICATE_OR_CRL_FOUND": "can't be asked: ssl_ca_certs has no certificate in PEM form",
    "PEM lib": f"can't be asked: the client's certificate or its key can't be read as PEM: give {_OWN}",
    "WRONG_VERSION_NUMBER": "does not speak TLS at that port",
    # The client library opens no other files.
    "No such file or directory": f"can't be asked: a file is gone ({_FILES})",
    "Permission denied": f"can't be asked: a file can't be read ({_FILES})",
}
# Sometimes this is all that is heard of a refusal. It may also have other reasons.
_HUNG_UP = "EOF occurred in violation of protocol"


def tls_mistake(error: Exception, text: str, where: str) -> str | None:
    """What is wrong with the certificates, if that is what a server, or the files of its URL, said."""
    if isinstance(error, exceptions.ResponseError) or "rediss" not in where:
        return None
    told = next((told for said, told in _SAID.items() if said in text), None)
    return told and f"{where} {told}: {text}"


def tls_hint(text: str) -> str:
    """What else to say of a server that can't be reached."""
    return f": it may want another certificate of the client's, or any ({_OWN})" if _HUNG_UP in text else ""
