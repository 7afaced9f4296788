from pathlib import Path

import pytest

from utils.publishing.privacy import PrivateContentError, check_content, without_home

ANN = "/home/" + "ann"
BOB = "/Users/" + "bob"


@pytest.fixture(autouse=True)
def _own_home(monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/data/people/eve"))
    for variable in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        (f"{ANN}/maps/a.wad", "~/maps/a.wad"),
        (f"see {BOB}/x and {ANN}", "see ~/x and ~"),
        ("C:\\Users\\" + "ann\\maps", "~\\maps"),
        ("/data/people/eve/rom.bin", "~/rom.bin"),
        ("/data/people/eve", "~"),
        ("/data/people/evening/rom.bin", "/data/people/evening/rom.bin"),
        ("/srv/data/people/eve/x", "/srv/data/people/eve/x"),
        ("https://x.org/home/page", "https://x.org/home/page"),
        ("maps/a.wad", "maps/a.wad"),
    ],
)
def test_home_folders_become_a_tilde(text, cleaned):
    settings, changed = without_home({"env_kwargs": {"files": ["x", text]}, "seed": 3})
    assert settings == {"env_kwargs": {"files": ["x", cleaned]}, "seed": 3}
    assert changed == ([] if cleaned == text else ["env_kwargs.files.1"])


def test_a_home_that_is_the_root_hides_nothing(monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/"))
    assert without_home({"a": "/etc/x"}) == ({"a": "/etc/x"}, [])


@pytest.mark.parametrize(
    "content",
    [b"key: s3cretkey", b"hf_" + 30 * b"a", b"the token of today", f"see {ANN}/x".encode()],
)
def test_private_content_is_refused_and_not_repeated(monkeypatch, content):
    monkeypatch.setenv("WANDB_API_KEY", "s3cretkey")
    with pytest.raises(PrivateContentError, match=r"README\.md would hold") as caught:
        check_content("README.md", b"before " + content, token="token of today")
    assert content.decode() not in str(caught.value)


def test_ordinary_content_passes():
    check_content("README.md", b"a hf_token of no length, ~/maps, /etc/x", token=None)
