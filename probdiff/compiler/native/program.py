"""Placeholder for whole-program compilation."""

import functools


def native_program(program):
    from probdiff.compiler.compiled import _interpreted
    return functools.partial(_interpreted, program)
