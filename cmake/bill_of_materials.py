# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The wheel's bill of materials, as CycloneDX 1.6: its dependencies at run time, and third-party code in its libraries.

setup.py writes it into the wheel's .dist-info/sboms (PEP 770). The same tree and tools give the same text.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from xnnpack_sources import ARCHIVES

Component = dict[str, Any]

_LICENSES = {
    "xnnpack": "BSD-3-Clause",
    "cpuinfo": "BSD-2-Clause",
    "pthreadpool": "BSD-2-Clause",
    "fxdiv": "MIT",
    "fp16": "MIT",
}
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "executorch")


def archive_components() -> list[Component]:
    """Return XNNPACK and its dependencies as components, one for each archive that the build unpacks."""
    return [
        {
            "type": "library",
            "bom-ref": archive.package,
            "name": archive.package,
            "version": re.sub(r"^\w+_|\.orig\.tar\.xz$", "", archive.file),
            "hashes": [{"alg": "SHA-256", "content": archive.sha256}],
            "licenses": [{"license": {"id": _LICENSES[archive.package]}}],
            "purl": f"pkg:generic/{archive.package}@{re.sub(r'^.*[.]', '', archive.file.removesuffix('.orig.tar.xz'))}",
            "properties": [{"name": "executorch:archive", "value": archive.file}],
        }
        for archive in ARCHIVES
    ]


def header_component(name: str, distribution: str, license_id: str, pattern: str) -> Component:
    """Return a header-only library, which an installed distribution provides, as a component.

    Its hash is that of a text with one line `SHA-256  path` per header, sorted by path. If the distribution is not
    installed, because the build uses other headers (FLATBUFFERS_INCLUDE_DIR), version and hash are unknown.
    """
    component: Component = {
        "type": "library",
        "bom-ref": name,
        "name": name,
        "licenses": [{"license": {"id": license_id}}],
        "purl": f"pkg:pypi/{distribution}",
    }
    try:
        installed = metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return {**component, "properties": [{"name": "executorch:version", "value": "not known to the build"}]}
    lines = [
        f"{hashlib.sha256(Path(file.locate()).read_bytes()).hexdigest()}  {file.as_posix()}\n"
        for file in sorted(installed.files or [], key=str)
        if re.search(pattern, file.as_posix())
    ]
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    return {
        **component,
        "version": installed.version,
        "hashes": [{"alg": "SHA-256", "content": digest}],
        "purl": f"{component['purl']}@{installed.version}",
    }


def required_component(requirement: str) -> Component:
    """Return a required distribution as a component with the range of its versions."""
    name, versions = re.fullmatch(r"([\w.-]+)\s*(.*)", requirement).groups()  # type: ignore[union-attr]
    return {
        "type": "library",
        "bom-ref": f"requires:{name}",
        "name": name,
        "scope": "required",
        "purl": f"pkg:pypi/{name}",
        "properties": [{"name": "executorch:versions", "value": versions}],
    }


def bill_of_materials(version: str, requirements: Sequence[str], *, has_xnnpack: bool, seconds: int) -> str:
    """Return the document. `requirements`: as in pyproject.toml. `seconds`: the time stamp, in seconds since 1970."""
    built_in = [
        header_component("flatbuffers", "flatc", "Apache-2.0", r"include/flatbuffers/.*\.h$"),
        header_component("pybind11", "pybind11", "BSD-3-Clause", r"include/pybind11/.*\.h$"),
        *(archive_components() if has_xnnpack else ()),
    ]
    components = [*built_in, *map(required_component, requirements)]
    document: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(seconds, timezone.utc).isoformat().replace("+00:00", "Z"),
            "component": {
                "type": "library",
                "bom-ref": "executorch",
                "name": "executorch",
                "version": version,
                "licenses": [{"license": {"id": "BSD-3-Clause"}}],
                "purl": f"pkg:pypi/executorch@{version}",
            },
        },
        "components": components,
        "dependencies": [
            {"ref": "executorch", "dependsOn": [component["bom-ref"] for component in components]},
            *({"ref": component["bom-ref"]} for component in components),
        ],
    }
    document["serialNumber"] = uuid.uuid5(_NAMESPACE, json.dumps(document, sort_keys=True)).urn
    return json.dumps(document, indent=2, sort_keys=True) + "\n"
