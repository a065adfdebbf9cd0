"""The reference of the API on the site has everything that the schemas define, as it is there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCHEMAS = list((ROOT / "proto/croupier/v1").glob("*.proto"))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages of the reference, by name."""
    folder = tmp_path_factory.mktemp("site") / "reference"
    code = "import pathlib, sys, build_docs; build_docs.write_reference(pathlib.Path(sys.argv[1]))"
    variables = {"PYTHONPATH": f"{ROOT}:{ROOT / 'scripts'}"}
    subprocess.run([sys.executable, "-c", code, folder], env=variables, check=True)
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_there_is_a_page_for_each_schema(pages):
    assert pages.keys() == {"index.md", *(f"{path.stem}.md" for path in SCHEMAS)}


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda path: path.stem)
def test_everything_defined_is_there_with_its_comments(pages, schema):
    page = pages[f"{schema.stem}.md"]
    # After the imports and options, a schema has nothing but comments and definitions.
    _, _, body = schema.read_text().partition("option ruby_package")
    blocks = re.findall(r"(?ms)^```proto\n(.*?)\n```$", page)
    assert "\n\n".join(blocks) == body.partition("\n\n")[2].rstrip("\n")
    for name in re.findall(r"(?m)^(?:service|message|enum) (\w+)", body):
        assert f"\n## {name}\n" in page
        assert f"[{name}]({schema.stem}.md#{name.lower()})" in pages["index.md"]
