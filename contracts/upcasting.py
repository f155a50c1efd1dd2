"""Upcasting: payloads of older versions of a contract, read as its present version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from .contract import Contract, ContractRef, contract_ref, convert, load_mapping, load_payload
from .errors import BadSetup, ContractViolation

C = TypeVar("C", bound=Contract)
Upcast: TypeAlias = Callable[[dict[str, Any]], Mapping[str, Any]]


class Upcasts:
    """What an app knows of older versions: by contract, the step from each version to the next."""

    def __init__(self) -> None:
        self._steps: dict[ContractRef, dict[int, Upcast]] = {}

    def add(self, contract: type[Contract], from_version: int, step: Upcast) -> None:
        """Declare a step; `BadSetup` if there is one, or if the contract has no such older version."""
        ref = contract_ref(contract)
        if not 1 <= from_version < ref.version:
            raise BadSetup(f"{ref} has no older version {from_version}: raise version= of the contract first")
        if self._steps.setdefault(ref, {}).setdefault(from_version, step) is not step:
            raise BadSetup(f"there are two upcasts of {ref.name!r} from version {from_version}")

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
        values: Any = dict(load_mapping(ref, data))
        for at in range(ref.version, present.version):
            try:
                values = dict(self._steps[present][at](values))
            except Exception as error:
                told = f"{type(error).__name__}: {error}"
                raise ContractViolation(
                    f"a {ref} is no {present}: the upcast from version {at} failed: {told}"
                ) from error
        return convert(contract, values)
