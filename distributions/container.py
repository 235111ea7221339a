"""Containers of parameters: frozen dataclasses, registered as nodes of a tree, made from annotated fields.

When a family is made of one, its formulas get their guards.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from probdiff.distributions.guards import GUARDS
from probdiff.distributions.parameters import Alternative, domains, is_unchecked, parameter
from probdiff.distributions.support import Support
from probdiff.errors import ParameterError, UnsupportedError
from probdiff.ops.dispatch import Lifted, is_lifted
from probdiff.ops.foreign import framework_among
from probdiff.tree import Array, register

__all__ = ["REQUIRED", "Container"]

REQUIRED = object()  # the default of a parameter that has none
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


class Container:
    """Fields with supports, checked when it is made, and what they say of shapes."""

    support: Any
    domains: ClassVar[dict[str, Support | None]] = {}
    relation: ClassVar[str] = ""
    exclusive: ClassVar[tuple[str, ...]] = ()
    __broadcasts__: ClassVar[bool] = True  # called with arrays, a constructor makes the container of arrays
    _abstract: ClassVar[bool] = False
    _defaults: ClassVar[dict[str, Any]] = {}
    _alternatives: ClassVar[dict[str, Alternative]] = {}
    _given: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, abstract: bool = False, base: bool = False, **kwargs: Any) -> None:
        """A family, or with `abstract` what families share, or with `base` what is derived for all of them."""
        super().__init_subclass__(**kwargs)
        if base:
            return
        cls._abstract = abstract
        if abstract:
            return
        # The formulas and fields of abstract parents are the family's own.
        own: dict[str, Any] = {}
        inherited: dict[str, Support | None] = {}
        for parent in reversed(cls.__mro__[1:]):
            if vars(parent).get("_abstract"):
                own.update(vars(parent))
                inherited.update((name, domain) for name, domain in domains(parent).items() if domain is not None)
        own.update(vars(cls))
        cls.domains = {**inherited, **domains(cls)}
        # Formulas are guarded once, here, so that a family's file holds its mathematics alone.
        for name in own.keys() & GUARDS.keys():
            setattr(cls, name, GUARDS[name](own[name]))
        cls._given |= own.keys() & GUARDS.keys()
        cls._defaults = {name: own.get(name, REQUIRED) for name in cls.domains}
        found = [value for value in own.values() if isinstance(value, Alternative)]
        cls._alternatives = {name: each for each in found for name in each.domains}
        dataclasses.dataclass(frozen=True, eq=False, repr=False, init=False)(cls)
        leaves = tuple(name for name, domain in cls.domains.items() if domain is not None)
        register(cls, leaves, tuple(name for name in cls.domains if name not in leaves))

    def __init__(self, *args: Any, check: bool = True, **named: Any) -> None:
        cls = type(self)
        owner = cls.__name__
        if len(args) > len(cls.domains):
            raise UnsupportedError(f"{owner} takes at most {len(cls.domains)} parameters, got {len(args)}")
        values = dict(zip(cls.domains, args, strict=False))
        if named:
            values.update(self._from_keywords(values, named, check))
        fields = self.__dict__
        for name, domain in cls.domains.items():
            value = values.get(name, cls._defaults[name])
            if value is REQUIRED:
                raise UnsupportedError(f"{owner} needs the parameter {name}")
            fields[name] = value if value is None else parameter(owner, name, value, domain, check)
        self._settle_precision(fields)
        if cls.exclusive and sum(fields[name] is not None for name in cls.exclusive) != 1:
            one_of = " or ".join(cls.exclusive)
            if all(fields[name] is None for name in cls.exclusive):
                raise UnsupportedError(f"{owner} needs the parameter {one_of}")
            raise ParameterError(f"{owner} takes {one_of}, not both")
        if cls.relation:
            self._check_relation(check)

    @staticmethod
    def _settle_precision(fields: dict[str, Any]) -> None:
        """Python floats become NumPy's, which overflow where Python raises; single ones beside single parameters."""
        weak = [name for name, value in fields.items() if type(value) is float]
        if weak and (len(weak) == len(fields) or framework_among(list(fields.values())) is None):
            kinds = {getattr(value, "dtype", None) for value in fields.values()}
            kind = np.float32 if SINGLE in kinds and DOUBLE not in kinds else np.float64
            for name in weak:
                fields[name] = kind(fields[name])

    def _from_keywords(self, values: dict[str, Any], named: dict[str, Any], check: bool) -> dict[str, Any]:
        """Fields given by name, those of another parameterisation included."""
        cls, owner, result = type(self), type(self).__name__, {}
        for name in [name for name in named if name in cls.domains]:
            if name in values:
                raise UnsupportedError(f"{owner} got {name} twice")
            result[name] = named.pop(name)
        while named:
            first = next(iter(named))
            other = cls._alternatives.get(first)
            if other is None:
                known = ", ".join([*cls.domains, *cls._alternatives])
                raise UnsupportedError(f"{owner} has no parameter {first}. It takes {known}.")
            absent = [name for name in other.domains if name not in named]
            if absent:
                raise UnsupportedError(f"{owner} needs {' and '.join(absent)} together with {first}")
            for name, value in other(owner, named, check).items():
                if name in values or name in result:
                    raise ParameterError(f"{owner} takes {name} or {first}, not both")
                result[name] = value
        return result

    def _check_relation(self, check: bool) -> None:
        """Refuse concrete parameters that are each valid, but not together."""
        fields = [value for value in self.__dict__.values() if value is not None]
        check = check and not is_unchecked()
        plain = not any(is_lifted(value) for value in fields) and framework_among(fields) is None
        if check and plain and not np.all(self.related()):
            shown = ", ".join(f"{name}={_shown(value)}" for name, value in self.parameters().items())
            raise ParameterError(f"{type(self).__name__} needs {self.relation}, got {shown}")

    def related(self) -> Array:
        """Whether the parameters go together, as `relation` says in words."""
        return True

    def parameters(self) -> dict[str, Any]:
        """The fields that are set, by name."""
        return {name: getattr(self, name) for name in self.domains if getattr(self, name) is not None}

    def valid(self) -> Array:
        """Whether the traced parameters are valid (the concrete ones have been checked); True if none is traced."""
        ok: Any = True
        traced = False
        every = is_unchecked()
        for name, value in self.__dict__.items():
            if every or isinstance(value, Lifted):
                domain = self.domains.get(name)
                if domain is None or value is None:
                    continue
                traced = True
                ok = domain.contains(value) & ok
        return self.related() & ok if traced and self.relation else ok

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The common shape of the parameters, each without the axes of one value."""
        shapes = []
        for name, value in self.parameters().items():
            domain = self.domains[name]
            if domain is not None:
                shape = getattr(value, "shape", ())
                shapes.append(shape[: len(shape) - domain.event_ndim])
        return np.broadcast_shapes(*shapes)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one value."""
        return ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={_shown(v)}' for n, v in self.parameters().items())})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(_same(getattr(self, name), getattr(other, name)) for name in self.domains)

    def __hash__(self) -> int:
        # Equal distributions may hold arrays, which have no hash; shapes are what they surely share.
        return hash((type(self), self.batch_shape, self.event_shape))


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 4:
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, np.ndarray):
        return str(value.tolist())
    return repr(value.item()) if isinstance(value, np.generic) else repr(value)


def _same(a: Any, b: Any) -> bool:
    if a is None or b is None or is_lifted(a) or is_lifted(b):
        return a is b
    return a == b if isinstance(a, (Container, tuple, Support)) else np.array_equal(a, b)
