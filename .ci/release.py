"""Build the wheels and source archives of all packages, and try them in a clean environment.

``make release SOURCE=https://…`` builds packages to publish: their metadata and pages then lead to
that address. ``make release`` alone builds packages for trial. Both put them into dist/, but only
if every trial succeeds. The checkout is never edited: all work is done in a copy.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
LEFT_OUT = (
    ".venv",
    ".git",
    "build",
    "dist",
    "site",
    "runs",
    "*.egg-info",
    "__pycache__",
    ".*_cache",
)
TORCH = "torch==2.13.0"  # by its exact version: a range could draw in a far larger build
SHORT = ("-n", "1000", "--no-skyline", "-o", "training.epochs=2", "-o", "production.epochs=2")
TRIALS = (
    ("cltr", "--version"),
    ("cltr", "--help"),
    ("cltr", "plugins"),
    ("cltr", "train", *SHORT, "--out", "run"),
    ("cltr", "evaluate", "run"),
)
"""What a new user types first."""
TRIALS_OF_EXAMPLE = (
    ("cltr", "plugins", "cltr-example-clicks"),
    ("cltr", "train", *SHORT, "--users", "device-bias", "--reward", "smoothed", "--out", "own"),
)
"""What a user types who has installed the example plugin beside cltr."""

NO_ADDRESS = "for trial, without a source address (to publish: make release SOURCE=https://…)"


class Failed(Exception):
    """A step that did not succeed, with what it printed."""


def project_urls(source: str, version: str) -> dict[str, str]:
    """Addresses of a public repository, by the names that package indexes show."""
    at = f"{checked(source)}/blob/v{version}"
    return {
        "Source": checked(source),
        "Documentation": f"{at}/docs/index.md",
        "Issues": f"{checked(source)}/issues",
        "Changelog": f"{at}/CHANGELOG.md",
    }


def checked(source: str) -> str:
    """The address without a slash at its end; refused if it is none."""
    parts = urlsplit(source)
    if parts.scheme != "https" or not parts.netloc or not parts.path.strip("/"):
        raise Failed(f"SOURCE is '{source}'; it must be an address such as https://host/owner/cltr")
    return source.rstrip("/")


def with_urls(pyproject: str, urls: dict[str, str]) -> str:
    """A pyproject.toml with more addresses in its table of project addresses."""
    head = "[project.urls]\n"
    if pyproject.count(head) != 1:
        raise Failed("a pyproject.toml has no table [project.urls]")
    return pyproject.replace(head, head + "".join(f'{k} = "{v}"\n' for k, v in urls.items()))


def with_absolute_links(page: str, source: str, version: str) -> str:
    """A README whose links and pictures work away from the repository."""

    def absolute(match: re.Match[str]) -> str:
        kind = "raw" if match["mark"] else "blob"
        at = f"{checked(source)}/{kind}/v{version}"
        return f"{match['mark']}[{match['text']}]({at}/{match['to']})"

    return re.sub(r"(?P<mark>!?)\[(?P<text>[^]]*)\]\((?!https?:|#)(?P<to>[^)]+)\)", absolute, page)


def run(*words: object, cwd: Path) -> str:
    """What a command prints; its whole output if it does not succeed."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "CLTR_PLUGINS")}
    line = [str(word) for word in words]
    done = subprocess.run(line, cwd=cwd, env=kept, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(line)}\n{done.stdout}{done.stderr}")
    return done.stdout


def copy_sources(to: Path, source: str | None, version: str) -> list[Path]:
    """Copy the checkout, give it its public address, and name the folders of the packages."""
    shutil.copytree(ROOT, to, ignore=shutil.ignore_patterns(*LEFT_OUT))
    packages = [to, *sorted(path.parent for path in to.glob("plugins/*/pyproject.toml"))]
    if source:
        urls = project_urls(source, version)
        for package in packages:
            path = package / "pyproject.toml"
            path.write_text(with_urls(path.read_text(encoding="utf-8"), urls), encoding="utf-8")
        page = to / "README.md"
        text = with_absolute_links(page.read_text(encoding="utf-8"), source, version)
        page.write_text(text, encoding="utf-8")
    return packages


def build(packages: list[Path], into: Path, here: Path) -> None:
    """Source archives and, from these, wheels."""
    for package in packages:
        tell(f"building {package.name if package.parent.name == 'plugins' else 'cltr'}")
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", into, package, cwd=here)


def try_out(built: Path, example: Path, here: Path) -> int:
    """Install the wheels where nothing else is, and type what a new user would; count it."""
    tell("installing the wheels in a clean environment")
    venv.create(here / "clean", with_pip=True)
    programs = here / "clean" / "bin"
    pip = (programs / "pip", "install", "-qq", "--no-compile")
    install = (*pip, "--constraint", ROOT / "constraints.txt")
    run(*install, TORCH, cwd=here)
    run(*install, *sorted(built.glob("*.whl")), cwd=here)
    type_all(TRIALS, programs, here)
    tell("installing the example plugin beside them")
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", example, cwd=here)
    run(*install, "--no-deps", *(example / "dist").glob("*.whl"), cwd=here)
    type_all(TRIALS_OF_EXAMPLE, programs, here)
    return len(TRIALS) + len(TRIALS_OF_EXAMPLE)


def type_all(commands: tuple[tuple[str, ...], ...], programs: Path, here: Path) -> None:
    """Each command must succeed and say something."""
    for program, *words in commands:
        tell(f"trying {program} {' '.join(words)}")
        if not run(programs / program, *words, cwd=here).strip():
            raise Failed(f"{program} {' '.join(words)}: it printed nothing")


def release(source: str | None) -> str:
    """Build, try, and put the packages into dist/; one line on what was done."""
    started = time.monotonic()
    version = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="cltr-release-") as folder:
        here = Path(folder)
        packages = copy_sources(here / "source", source and checked(source), version)
        built = here / "built"
        build(packages, built, here)
        tried = try_out(built, here / "source/examples/cltr-example-clicks", here)
        wheels = len(list(built.glob("*.whl")))
        keep(built)
    seconds = time.monotonic() - started
    return (
        f"cltr {version}: {wheels} wheels and {wheels} source archives in dist/, installed in a "
        f"clean environment, tried with {tried} commands, {seconds:.0f} s; "
        + (f"to publish, source {source}" if source else NO_ADDRESS)
    )


def keep(built: Path) -> None:
    """Put what was built into dist/, all of it or nothing."""
    try:
        shutil.copytree(built, DIST)
    except BaseException:
        shutil.rmtree(DIST, ignore_errors=True)
        raise


def tell(line: str) -> None:
    """Progress, on standard error."""
    sys.stderr.write(f"release: {line}\n")


def main() -> int:
    """Exit status: 0 if the packages are in dist/, 1 if nothing is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", default="", help="Public address of the repository.")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that folders are removed
    try:
        sys.stdout.write(release(parser.parse_args().source or None) + "\n")
    except Failed as error:
        tell(f"failed, nothing is left in dist/: {error}")
        return 1
    except KeyboardInterrupt:
        tell("interrupted, nothing is left in dist/")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
