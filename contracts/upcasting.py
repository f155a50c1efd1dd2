"""Upcasting: payloads of older versions of a contract, read as its present version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar
from weakref import ReferenceType
from weakref import ref as weak

from .contract import Contract, ContractRef, contract_ref, convert, load_mapping, load_payload
from .errors import BadSetup, ContractViolation
from .versions import check_whole

C = TypeVar("C", bound=Contract)
Upcast: TypeAlias = Callable[[dict[str, Any]], Mapping[str, Any]]
# What upcast instances were before, packed, by their ids: they are frozen, and need not be hashable.
_before: dict[int, tuple[ReferenceType[Contract], bytes]] = {}


class Upcasts:
    """What an app knows of older versions: by contract, the step from each version to the next."""

    def __init__(self) -> None:
        self._steps: dict[ContractRef, dict[int, Upcast]] = {}
        self._present: dict[ContractRef, type[Contract]] = {}

    def add(self, contract: type[Contract], from_version: int, step: Upcast) -> None:
        """Declare a step; `BadSetup` if there is one, or if the contract has no such older version."""
        check_whole(from_version)
        ref = contract_ref(contract)
        if not 1 <= from_version < ref.version:
            raise BadSetup(f"{ref} has no older version {from_version}: raise version= of the contract first")
        if self._steps.setdefault(ref, {}).setdefault(from_version, step) is not step:
            raise BadSetup(f"there are two upcasts of {ref.name!r} from version {from_version}")
        self._present[ref] = contract

    def present(self, ref: ContractRef) -> type[Contract] | None:
        """The contract of which that is an older version that can be read."""
        return next((contract for contract in self._present.values() if ref in self.versions(contract)[1:]), None)

    def versions(self, contract: type[Contract]) -> list[ContractRef]:
        """The versions that can be read, the present one first."""
        ref = contract_ref(contract)
        steps, version = self._steps.get(ref, {}), ref.version
        while version - 1 in steps:
            version -= 1
        return [ContractRef(ref.name, at) for at in range(ref.version, version - 1, -1)]

    def load(self, contract: type[C], ref: ContractRef, data: bytes) -> C:
        """Stored bytes of a version as the present one; `ContractViolation` names what does not fit, or the step that
        failed. What has no steps is read as it is."""
        present = contract_ref(contract)
        if ref == present or ref not in self.versions(contract):
            return load_payload(contract, data)
        return self.convert(contract, ref, dict(load_mapping(ref, data)))

    def convert(self, contract: type[C], ref: ContractRef, values: dict[str, Any]) -> C:
        """Plain values of an older version as the present one; raises as `load`."""
        present, before, upcast = contract_ref(contract), _packed(values), values
        for at in range(ref.version, present.version):
            try:
                upcast = dict(self._steps[present][at](upcast))
            except Exception as error:
                told = f"{type(error).__name__}: {error}"
                raise ContractViolation(
                    f"a {ref} is no {present}: the upcast from version {at} failed: {told}"
                ) from error
        made = convert(contract, upcast)
        if before is not None:
            key = id(made)
            _before[key] = weak(made, lambda _: _before.pop(key, None)), before
        return made


def before_upcast(value: Contract) -> dict[str, Any] | None:
    """The values of the version that an upcast instance was stored as; None if it is no such one."""
    known, packed = _before.get(id(value), (None, b""))
    return _unpacked(packed) if known is not None and known() is value else None


def _packed(values: dict[str, Any]) -> bytes | None:
    """The values as they are before steps change them in place."""
    from .codec import try_pack  # a tenth of `import batonpass`

    return try_pack(values)


def _unpacked(packed: bytes) -> Any:
    from .codec import unpack

    return unpack(packed)
