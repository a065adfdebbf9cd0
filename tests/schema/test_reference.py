"""The reference of the API names everything that the schemas have, and its links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.schema import OURS, read_schemas

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages of the reference, by name."""
    folder = tmp_path_factory.mktemp("reference")
    command = [sys.executable, "scripts/write_reference.py", "--output", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return {path.name: path.read_text() for path in folder.iterdir()}


def ours():
    return [file for file in read_schemas() if file.name.startswith(OURS)]


def headings(text):
    return re.findall(r"(?m)^#+ (.+)$", text)


def section(text, name):
    """What is below a heading, up to the next one."""
    return re.split(rf"(?m)^#+ {re.escape(name)}$", text)[1].partition("\n#")[0]


def messages(found, outer=""):
    for message in found:
        yield f"{outer}{message.name}", message
        yield from messages(message.nested_type, f"{outer}{message.name}.")


def test_there_is_a_page_for_each_schema(pages):
    assert pages.keys() == {"index.md", *(f"{Path(file.name).stem}.md" for file in ours())}


def test_every_field_has_its_comment(pages):
    count = 0
    for file in ours():
        page = pages[f"{Path(file.name).stem}.md"]
        for name, message in messages(file.message_type):
            text = section(page, name)
            for field in message.field:
                (row,) = re.findall(rf"(?m)^\| `{field.name}` = {field.number} \|.*$", text)
                assert re.search(r"\w{2,}", row.rsplit(" | ", 1)[1]), (name, field.name)
                count += 1
    assert count > 300


def test_every_method_and_value_is_there(pages):
    for file in ours():
        page = pages[f"{Path(file.name).stem}.md"]
        for service in file.service:
            for method in service.method:
                text = section(page, f"{service.name}.{method.name}")
                for name in (method.input_type, method.output_type):
                    assert f"[{name.removeprefix('.croupier.v1.')}](" in text
        nested = [("", file.enum_type)]
        nested += [(f"{name}.", each.enum_type) for name, each in messages(file.message_type)]
        for outer, enums in nested:
            for enum in enums:
                text = section(page, f"{outer}{enum.name}")
                for value in enum.value:
                    assert f"| `{value.name}` = {value.number} |" in text


def test_headings_are_distinct(pages):
    for name, text in pages.items():
        found = headings(text)
        assert len(found) == len(set(found)), name


def test_links_lead_to_headings(pages):
    anchors = {
        name: {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings(text)}
        for name, text in pages.items()
    }
    count = 0
    for name, text in pages.items():
        for target in re.findall(r"\]\(([^)]+)\)", text):
            if target.startswith("https:"):
                continue
            page, _, anchor = target.partition("#")
            assert not anchor or anchor in anchors[page or name], (name, target)
            assert (page or name) in pages
            count += 1
    assert count > 300


def test_the_index_leads_to_everything_at_the_top(pages):
    for file in ours():
        for each in (*file.message_type, *file.enum_type, *file.service):
            page = f"{Path(file.name).stem}.md"
            assert f"[{each.name}]({page}#{each.name.lower()})" in pages["index.md"]
