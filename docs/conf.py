# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Sphinx's configuration of the documentation site; `bash docs/build.sh` runs it."""

import os
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS / "_ext"))

project = "executorch"
author = "the project's authors"
copyright = "the project's authors, BSD-3-Clause"
release = "1.4.1"

extensions = [
    "myst_nb",
    "breathe",
    "sphinx.ext.autodoc",
    "break_names",
    "plain_docstrings",
    "reference_pages",
    "pictures",
    "repository_links",
]
exclude_patterns = ["_build", "README.md", "_ext", "**/.ipynb_checkpoints"]
smartquotes = False  # they would turn "--option" into a dash

# The notebook lives with the examples, and Sphinx reads files below this folder. A copy with the same time stamp is not
# executed again by the next build.
NOTEBOOKS = DOCS / "notebooks"
NOTEBOOKS.mkdir(exist_ok=True)
for notebook in (DOCS.parent / "examples").glob("*.ipynb"):
    shutil.copy2(notebook, NOTEBOOKS / notebook.name)

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
# docs/build.sh executes the notebook; a quick build (EXECUTORCH_DOCS_QUICK=1) shows its code without results.
IS_QUICK = bool(os.environ.get("EXECUTORCH_DOCS_QUICK"))
nb_execution_mode = "off" if IS_QUICK else "force"
nb_execution_timeout = 600
nb_execution_raise_on_error = True

autodoc_typehints = "signature"
autodoc_preserve_defaults = True  # names of constants, not values of the machine that builds the site
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
breathe_projects = {"executorch": str(DOCS / "_build" / "doxygen" / "xml")}
breathe_default_project = "executorch"
breathe_domain_by_extension = {"h": "cpp"}
cpp_id_attributes = ["ET_UNUSED"]

html_theme = "furo"
pygments_dark_style = "github-dark"  # the default underlines names, which then look like links
html_title = "executorch"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
