"""Checks that the relative links of all pages of an archive lead to files of it: links.py DIRECTORY

Links to sources need a checkout, as the archive's README says.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]).resolve()
SOURCES = ("compat/", "core/", "examples/", "planes/", "router/", "test/", "tools/")
FENCE = re.compile(r"(?ms)^ *```.*?^ *```")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")

checked, dead = 0, []
for page in sorted(root.rglob("*.md")):
    for link in LINK.findall(FENCE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        target = (page.parent / link).resolve()
        inside = target.is_relative_to(root)
        checked += 1
        if inside and str(target.relative_to(root)).startswith(SOURCES) and page.parent != root:
            continue
        if not inside or not target.exists():
            dead.append(f"{page.relative_to(root)}: {link}")
if dead or not checked:
    sys.exit("\n".join(["dead links (expected: files of the archive):", *dead]) if dead else "no links")
print(f"archive: {checked} links of its pages lead to its files")
