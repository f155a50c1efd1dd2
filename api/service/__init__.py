"""The service: one more client of the store, for those who speak HTTP. `batonpass serve` runs it."""

from batonpass.contracts.errors import MissingExtra

try:
    import starlette as _starlette  # noqa: F401  # pyright: ignore[reportUnusedImport]
    import uvicorn as _uvicorn  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ImportError as missing:
    raise MissingExtra(f"serving needs Starlette and uvicorn ({missing}): pip install 'batonpass[http]'") from None
