# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Build XNNPACK and its dependencies as static libraries from the pinned sources; print their folder.

A machine builds them once.

    python build_xnnpack.py [--cmake CMAKE] [--generator NAME] [--make-program PROGRAM] [--launcher CCACHE] [--jobs N]
                            [--sanitize LIST]

The printed folder has include/ and lib/. It is in the cache of xnnpack_sources.py, and its name depends on the sources,
the compiler and the options, so that another clone or a second build reuses it. CC and CXX choose the compilers.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from xnnpack_sources import (
    ARCHIVES,
    SourceUnavailable,
    cache_folder,
    check_private,
    fetch_missing,
    how_by_hand,
    make_private,
    unpack,
    unusable,
)

OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
    "-DCMAKE_C_VISIBILITY_PRESET=hidden",
    "-DCMAKE_CXX_VISIBILITY_PRESET=hidden",
    "-DXNNPACK_LIBRARY_TYPE=static",
    "-DXNNPACK_BUILD_TESTS=OFF",
    "-DXNNPACK_BUILD_BENCHMARKS=OFF",
    "-DXNNPACK_ENABLE_KLEIDIAI=OFF",
)
# By default GCC moves all loads of a step of a matrix kernel to its start. This needs more than AVX2's 16 registers, so
# a sum is spilled to the stack in each step, and products take twice the time.
FLAGS_OF_GCC = "-fschedule-insns -fsched-pressure"
SCRATCH = "building-"
LOCK = "xnnpack.lock"
HEADERS = ("xnnpack/include/xnnpack.h", "pthreadpool/include/pthreadpool.h", "cpuinfo/include/cpuinfo.h")


def compilers() -> tuple[str, str]:
    return os.environ.get("CC", "cc"), os.environ.get("CXX", "c++")


def version_of(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout


def options(sanitize: str) -> list[str]:
    """Return the compile options of the library. `sanitize`: sanitizers in the syntax of -fsanitize=."""
    # Only ASan: UBSan would report arithmetic that XNNPACK does on purpose.
    sanitized = "-fsanitize=address -fno-omit-frame-pointer -g1 -O1" if "address" in sanitize.split(",") else ""
    is_gcc = "Free Software Foundation" in version_of(compilers()[0])
    for_c = " ".join(flags for flags in (FLAGS_OF_GCC if is_gcc else "", sanitized) if flags)
    chosen = list(OPTIONS)
    if for_c:
        chosen.append(f"-DCMAKE_C_FLAGS={for_c}")
    if sanitized:
        chosen += [
            f"-DCMAKE_CXX_FLAGS={sanitized}",
            "-DCMAKE_C_FLAGS_RELEASE=-DNDEBUG",
            "-DCMAKE_CXX_FLAGS_RELEASE=-DNDEBUG",
        ]
    return chosen


def build_key(sanitize: str) -> str:
    """Return a digest of the sources, options and compilers."""
    parts = [*(archive.sha256 for archive in ARCHIVES), *options(sanitize), *map(version_of, compilers())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def compile_library(tools: argparse.Namespace, scratch: Path, prefix: Path) -> None:
    """Compile below `scratch` and leave headers and libraries in `prefix`."""
    sources = scratch / "src"
    sources.mkdir()
    for archive in ARCHIVES:
        unpack(archive, cache_folder(), sources)
    build = scratch / "build"
    c, cxx = compilers()
    chosen = [*options(tools.sanitize), f"-DCMAKE_C_COMPILER={c}", f"-DCMAKE_CXX_COMPILER={cxx}"]
    if tools.make_program:
        chosen.append(f"-DCMAKE_MAKE_PROGRAM={tools.make_program}")
    if tools.launcher:
        chosen += [f"-DCMAKE_C_COMPILER_LAUNCHER={tools.launcher}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={tools.launcher}"]
    for package in ("cpuinfo", "pthreadpool", "fxdiv", "fp16"):
        chosen.append(f"-D{package.upper()}_SOURCE_DIR={sources / package}")
    # The folder differs in every build: without this a compiler cache would not find any object.
    environment = {**os.environ, "CCACHE_BASEDIR": str(scratch), "CCACHE_NOHASHDIR": "1"}
    configure = [tools.cmake, "-S", str(sources / "xnnpack"), "-B", str(build), "-G", tools.generator, *chosen]
    subprocess.run(configure, check=True, stdout=sys.stderr, env=environment)
    command = [tools.cmake, "--build", str(build), "--parallel", str(tools.jobs), "--target", "XNNPACK"]
    subprocess.run(command, check=True, stdout=sys.stderr, env=environment)
    (prefix / "include").mkdir(parents=True)
    (prefix / "lib").mkdir()
    for header in HEADERS:
        shutil.copy2(sources / header, prefix / "include")
    for library in build.rglob("*.a"):
        shutil.copy2(library, prefix / "lib")


def remove_interrupted_builds(cache: Path) -> None:
    """Remove the scratch folders of builds that were killed; only the holder of the lock may call this."""
    for folder in cache.glob(f"{SCRATCH}*"):
        shutil.rmtree(folder, ignore_errors=True)


def build_into(prefix: Path, tools: argparse.Namespace) -> None:
    """Build beside `prefix`, and rename the whole to it at last."""
    with tempfile.TemporaryDirectory(dir=prefix.parent, prefix=SCRATCH) as folder:
        scratch = Path(folder)
        compile_library(tools, scratch, scratch / "installed")
        (scratch / "installed").chmod(0o755)
        for path in (scratch / "installed").rglob("*"):
            path.chmod(path.stat().st_mode & ~0o022)  # check_private() requires it, whatever the umask is
        (scratch / "installed").rename(prefix)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--generator", default="Ninja")
    parser.add_argument("--make-program", default="")
    parser.add_argument("--launcher", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sanitize", default="")
    arguments = parser.parse_args()
    cache = cache_folder()
    prefix = cache / f"xnnpack-{build_key(arguments.sanitize)}"
    try:
        make_private(cache)
        if prefix.exists():
            check_private(prefix, contents=True)
    except SourceUnavailable as error:
        print(error, file=sys.stderr)
        return 1
    # Checking needs no lock, which another variant's build may hold for minutes: libraries appear by one rename.
    if not prefix.exists():
        try:
            lock = (cache / LOCK).open("w")
        except OSError as error:
            print(unusable(cache / LOCK, error), file=sys.stderr)
            return 1
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not prefix.exists():
                try:
                    fetch_missing(cache)
                except (SourceUnavailable, OSError) as error:
                    print(f"{error}\n{how_by_hand(cache)}", file=sys.stderr)
                    return 1
                remove_interrupted_builds(cache)
                build_into(prefix, arguments)
    print(prefix)
    return 0


if __name__ == "__main__":
    sys.exit(main())
