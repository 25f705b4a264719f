"""The two sides of a comparison: folders and git revisions, read as data and nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from kina import cli
from kina.diagnostics.finding import SetupError
from kina.paths import rules_path
from kina.rulebook.sides import sides
from tests.rulebook.changed import copied


def git(folder: Path, *arguments: str) -> str:
    settings = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *settings, *arguments], cwd=folder, check=True, capture_output=True, encoding="utf-8"
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with rules in its folder `rules`, and a branch with an odd name."""
    root = tmp_path / "a repository"
    copied(root)
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message=rules")
    git(root, "branch", "odd'\"$(id>x)é")
    (root / "rules" / "scatter.dl").write_text("// Changed.\n", encoding="utf-8")
    (root / "rules" / "link.dl").symlink_to("/etc/hostname")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message=changed")
    monkeypatch.chdir(root)
    return root


def test_a_revision_is_what_it_was(repository: Path) -> None:
    with sides("main~1", "main", rules_path()) as (base, head):
        assert {file.name for file in base.folder.glob("*")} == {
            file.name for file in rules_path().glob("*.dl")
        }
        assert (base.folder / "scatter.dl").read_text(encoding="utf-8") != "// Changed.\n"
        assert (head.folder / "scatter.dl").read_text(encoding="utf-8") == "// Changed.\n"
        assert not (head.folder / "link.dl").exists()
        assert base.label == f"main~1 ({git(repository, 'rev-parse', 'main~1')[:10]})"
        kept = base.folder
    assert not kept.exists()


def test_without_a_head_it_is_the_working_tree(repository: Path) -> None:
    own = repository / "rules"
    with sides("main", None, own) as (base, head):
        assert base.folder != own
        assert head.folder == own


@pytest.mark.parametrize("name", ["odd'\"$(id>x)é", "refs/heads/main", "HEAD~0"])
def test_odd_names_are_names(name: str, repository: Path) -> None:
    with sides(name, None, repository / "rules") as (base, _):
        assert (base.folder / "base.dl").is_file()
    assert not (repository / "x").exists()


@pytest.mark.parametrize(
    "name", ["nowhere", "--output=x", "-h", "", "a\0b", "main:rules", "HEAD~7", "é" * 5000]
)
def test_what_is_no_revision(name: str, repository: Path) -> None:
    with (
        pytest.raises(SetupError, match="is no folder with rules, no rule file, and no revision"),
        sides(name, None, repository),
    ):
        pass
    assert {file.name for file in repository.iterdir()} == {".git", "rules"}


def test_a_revision_without_rules(tmp_path: Path, repository: Path) -> None:
    git(repository, "rm", "-r", "--quiet", "rules")
    (repository / "a.txt").write_text("a", encoding="utf-8")
    git(repository, "add", "a.txt")
    git(repository, "commit", "--quiet", "--message=none")
    with pytest.raises(SetupError, match=r"has no `rules/base\.dl`"), sides("HEAD", None, rules_path()):
        pass


def test_folders_need_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    copied(tmp_path / "one")
    with sides("one", "one/rules", rules_path()) as (base, head):
        assert base.folder == head.folder == tmp_path / "one" / "rules"
        assert (base.label, head.label) == ("one", "one/rules")


def test_no_repository_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert cli.run(["rules", "diff", "main"]) == 2
    said = capsys.readouterr()
    assert "`main` is no folder with rules, and this is no git repository" in said.err
    assert said.out == ""


def test_no_git_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="git is not found"), sides("main", None, rules_path()):
        pass


def test_surroundings_of_git_do_not_count(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a hook, where git names another repository."""
    monkeypatch.setenv("GIT_DIR", os.devnull)
    with sides("main", None, rules_path()) as (base, _):
        assert (base.folder / "base.dl").is_file()
