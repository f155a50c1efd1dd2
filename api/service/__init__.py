"""The service: another client of the store, for everybody who speaks HTTP. `batonpass serve` runs it."""

from batonpass.contracts.errors import MissingExtra

try:
    import jinja2 as _jinja2  # noqa: F401  # pyright: ignore[reportUnusedImport]
    import prometheus_client as _prometheus  # noqa: F401  # pyright: ignore[reportUnusedImport]
    import sse_starlette as _sse  # noqa: F401  # pyright: ignore[reportUnusedImport]
    import starlette as _starlette  # noqa: F401  # pyright: ignore[reportUnusedImport]
    import uvicorn as _uvicorn  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ImportError as missing:
    raise MissingExtra(f"serving needs the http extra ({missing}): pip install 'batonpass[http]'") from None
