"""Blocks of a large loop over threads.

The number of blocks is fixed and their sums are added in order, so a result does not depend on the number of threads.
Threads are started for one loop and joined at its end: for loops of a millisecond and more that costs little, and
nothing waits in between. A counter of busy threads, shared by all callers, keeps loops that run at the same time (of
several chains, say) from using more threads than there are processors.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable

from probdiff.compiler.native import jit
from probdiff.errors import ParameterError

BLOCKS = 64
SYMBOL = "probdiff.parallel"

# parallel(code, context, blocks): code(context, first, last) over all blocks, shared out evenly.
_text = """
@limit = internal global i64 1
@busy = internal global i64 0

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)

define void @set_limit(i64 %n) {
  store i64 %n, ptr @limit
  ret void
}

define internal ptr @work(ptr %job) {
  %code = load ptr, ptr %job
  %context.at = getelementptr i64, ptr %job, i64 1
  %context = load ptr, ptr %context.at
  %first.at = getelementptr i64, ptr %job, i64 2
  %first = load i64, ptr %first.at
  %last.at = getelementptr i64, ptr %job, i64 3
  %last = load i64, ptr %last.at
  call void %code(ptr %context, i64 %first, i64 %last)
  ret ptr null
}

define void @parallel(ptr %code, ptr %context, i64 %blocks) {
entry:
  %limit = load i64, ptr @limit
  %wanted = call i64 @llvm.smin.i64(i64 %limit, i64 %blocks)
  %before = atomicrmw add ptr @busy, i64 %wanted seq_cst
  %free = sub i64 %limit, %before
  %fewer = call i64 @llvm.smin.i64(i64 %wanted, i64 %free)
  %some = call i64 @llvm.smax.i64(i64 %fewer, i64 1)
  %few = icmp eq i64 %some, 1
  br i1 %few, label %alone, label %together
alone:
  call void %code(ptr %context, i64 0, i64 %blocks)
  br label %end
together:
  %room = mul i64 %some, 5
  %jobs = alloca i64, i64 %room
  br label %start
start:
  %k = phi i64 [1, %together], [%k.next, %started]
  %more = icmp slt i64 %k, %some
  br i1 %more, label %launch, label %own
launch:
  %at = mul i64 %k, 5
  %job = getelementptr i64, ptr %jobs, i64 %at
  store ptr %code, ptr %job
  %job.1 = getelementptr i64, ptr %job, i64 1
  store ptr %context, ptr %job.1
  %lo.0 = mul i64 %k, %blocks
  %lo = sdiv i64 %lo.0, %some
  %k.up = add i64 %k, 1
  %hi.0 = mul i64 %k.up, %blocks
  %hi = sdiv i64 %hi.0, %some
  %job.2 = getelementptr i64, ptr %job, i64 2
  store i64 %lo, ptr %job.2
  %job.3 = getelementptr i64, ptr %job, i64 3
  store i64 %hi, ptr %job.3
  %handle = getelementptr i64, ptr %job, i64 4
  %failed = call i32 @pthread_create(ptr %handle, ptr null, ptr @work, ptr %job)
  %good = icmp eq i32 %failed, 0
  br i1 %good, label %started, label %here
here:
  %ignored = call ptr @work(ptr %job)
  store i64 0, ptr %handle
  br label %started
started:
  %k.next = add i64 %k, 1
  br label %start
own:
  %mine = sdiv i64 %blocks, %some
  call void %code(ptr %context, i64 0, i64 %mine)
  br label %join
join:
  %j = phi i64 [1, %own], [%j.next, %joined]
  %j.more = icmp slt i64 %j, %some
  br i1 %j.more, label %wait, label %end
wait:
  %j.at = mul i64 %j, 5
  %j.slot = add i64 %j.at, 4
  %j.handle = getelementptr i64, ptr %jobs, i64 %j.slot
  %thread = load i64, ptr %j.handle
  %ran.here = icmp eq i64 %thread, 0
  br i1 %ran.here, label %joined, label %do.join
do.join:
  %r = call i32 @pthread_join(i64 %thread, ptr null)
  br label %joined
joined:
  %j.next = add i64 %j, 1
  br label %join
end:
  %after = atomicrmw sub ptr @busy, i64 %wanted seq_cst
  ret void
}

declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
"""

_serial = """
define void @set_limit(i64 %n) {
  ret void
}
define void @parallel(ptr %code, ptr %context, i64 %blocks) {
  call void %code(ptr %context, i64 0, i64 %blocks)
  ret void
}
"""


@functools.cache
def _runtime() -> Callable[[int], None]:
    """The function that sets the number of threads, after `parallel` has been made known to compiled modules."""
    threads = jit.has_symbol("pthread_create") and jit.has_symbol("pthread_join")
    parallel, set_limit = jit.load(_text if threads else _serial, ["parallel", "set_limit"], speed=1)
    jit.symbol(SYMBOL, parallel)
    setter: Callable[[int], None] = ctypes.CFUNCTYPE(None, ctypes.c_int64)(set_limit)
    setter(default_threads())
    return setter


def symbol() -> str:
    """The name under which compiled modules call `parallel`."""
    _runtime()
    return SYMBOL


def default_threads() -> int:
    """PROBDIFF_NUM_THREADS, or the processors that this process may use."""
    given = os.environ.get("PROBDIFF_NUM_THREADS")
    if given:
        if not given.isdigit() or int(given) < 1:
            raise ParameterError(f"PROBDIFF_NUM_THREADS must be a positive integer, got {given!r}")
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_num_threads(n: int) -> None:
    """How many threads the loops of compiled programs may use together; results do not depend on it."""
    if not isinstance(n, int) or n < 1:
        raise ParameterError(f"set_num_threads needs a positive integer, got {n!r}")
    _runtime()(n)
