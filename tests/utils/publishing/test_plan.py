import pytest

from utils.errors import UserError
from utils.publishing.plan import check_replaceable

OURS = "---\nlibrary_name: gymnasium-solver\npipeline_tag: reinforcement-learning\n---\n"


def test_a_folder_of_an_earlier_dry_run_is_replaced(tmp_path):
    check_replaceable(tmp_path / "none yet")
    check_replaceable(tmp_path)  # empty
    (tmp_path / "README.md").write_text(OURS)
    (tmp_path / "config.json").write_text("{}")
    check_replaceable(tmp_path)


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"README.md": OURS, "diary.txt": "mine"}, "diary.txt"),
        ({"README.md": "# Mine\n", "config.json": "{}"}, "README.md"),
        ({"README.md": "---\nlibrary_name: transformers\n---\n"}, "README.md"),
        ({"README.md": "\xff"}, "README.md"),
        ({"config.json": "{}"}, "config.json"),
    ],
)
def test_what_somebody_else_has_written_is_not_replaced(tmp_path, files, named):
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="latin-1")
    with pytest.raises(UserError, match=f"holds '{named}', which this program did not publish"):
        check_replaceable(tmp_path)


def test_a_link_or_a_file_is_no_folder_to_replace(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    for name in ("link", "file"):
        with pytest.raises(UserError, match=f"{name}' is no folder"):
            check_replaceable(tmp_path / name)
