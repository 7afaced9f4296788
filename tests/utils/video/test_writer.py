from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest

from utils.errors import StorageError, UserError
from utils.video import VideoWriter, write_video


def make_frames(n: int, height: int = 36, width: int = 48) -> list[np.ndarray]:
    return [np.full((height, width, 3), 20 * (t % 10), np.uint8) for t in range(n)]


def read_video(path: Path) -> tuple[list[np.ndarray], av.video.stream.VideoStream]:
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)]
        return frames, stream


def test_video_holds_every_frame_in_order_at_its_rate(tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    assert write_video(path, make_frames(7), fps=12) == 7
    frames, stream = read_video(path)
    assert len(frames) == 7
    assert stream.average_rate == 12
    # Gray levels 0, 20, ..., 120; the encoder may be off by a few.
    assert [round(float(f.mean()) / 20) for f in frames] == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("height", "width"), [(35, 47), (36, 47), (35, 48)])
def test_odd_sizes_become_even_and_keep_the_picture(
    tmp_path: Path, height: int, width: int
) -> None:
    frame = np.zeros((height, width, 3), np.uint8)
    frame[-8:, -8:] = 255  # a white corner: a shift or a crop would show there
    path = tmp_path / "odd.mp4"
    write_video(path, [frame] * 3, fps=30)
    frames, stream = read_video(path)
    assert (stream.height, stream.width) == (height + height % 2, width + width % 2)
    assert stream.codec_context.pix_fmt == "yuv420p"
    np.testing.assert_allclose(frames[0][:height, :width][-4:, -4:], 255, atol=25)
    np.testing.assert_allclose(frames[0][: height - 20, : width - 20], 0, atol=25)


def test_index_comes_before_the_pictures(tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    write_video(path, make_frames(30), fps=30)
    content = path.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")


def test_a_keyframe_comes_at_least_every_12_frames(tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    write_video(path, [frame for frame in make_frames(2) for _ in range(20)], fps=30)
    with av.open(str(path)) as container:
        keys = [i for i, p in enumerate(container.demux(video=0)) if p.size and p.is_keyframe]
    assert keys[0] == 0
    assert max(np.diff([*keys, 40])) <= 12


def test_pictures_are_encoded_by_one_thread(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    write_video(path, [np.zeros((64, 64, 3), np.uint8)] * 3, fps=30)
    # The encoder notes its settings in the file.
    assert b" threads=1 " in path.read_bytes()


def test_no_file_has_the_name_before_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "videos" / "clip.mp4"
    writer = VideoWriter(path, fps=30)
    for frame in make_frames(3):
        writer.write(frame)
    assert not path.exists()
    writer.close()
    assert [p.name for p in path.parent.iterdir()] == ["clip.mp4"]


def test_two_that_write_the_same_film_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    first, second = VideoWriter(path, fps=30), VideoWriter(path, fps=30)
    for frame in make_frames(5):
        first.write(frame)
        second.write(frame)
    first.close()
    of_first = read_video(path)[0]
    second.close()
    assert list(tmp_path.iterdir()) == [path]
    # The encoder makes other bytes of the same frames now and then: the pictures are compared.
    for frames in (of_first, read_video(path)[0]):
        assert [round(float(frame.mean()) / 20) for frame in frames] == [0, 1, 2, 3, 4]


def test_an_exception_leaves_the_older_video_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    write_video(path, make_frames(4), fps=30)
    older = path.read_bytes()

    def frames():
        yield make_frames(1)[0]
        raise ValueError("renderer gone")

    with pytest.raises(ValueError, match="renderer gone"):
        write_video(path, frames(), fps=30)
    assert path.read_bytes() == older
    assert list(tmp_path.iterdir()) == [path]


def test_no_frames_give_no_file(tmp_path: Path) -> None:
    assert write_video(tmp_path / "clip.mp4", [], fps=30) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_frame_of_another_shape_is_refused(tmp_path: Path) -> None:
    with VideoWriter(tmp_path / "clip.mp4", fps=30) as writer:
        writer.write(np.zeros((36, 48, 3), np.uint8))
        with pytest.raises(AssertionError, match="40"):
            writer.write(np.zeros((40, 48, 3), np.uint8))


def test_a_folder_in_the_way_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "videos").write_text("a file, not a folder")
    with pytest.raises(StorageError, match=r"clip\.mp4"):
        write_video(tmp_path / "videos" / "clip.mp4", make_frames(1), fps=30)


def test_a_missing_encoder_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(av, "codecs_available", {"mpeg4"})
    with pytest.raises(UserError, match="libx264"):
        VideoWriter(tmp_path / "clip.mp4", fps=30)


def test_writer_prints_nothing(tmp_path: Path) -> None:
    code = (
        "import numpy as np; from utils.video import write_video; "
        f"write_video({str(tmp_path / 'a.mp4')!r}, [np.zeros((35, 47, 3), np.uint8)] * 3, fps=30)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_disk_that_stays_full_to_the_end_is_one_storage_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    writer = VideoWriter(tmp_path / "clip.mp4", fps=30)
    writer.write(make_frames(1)[0])
    container = writer._container

    class Full:
        """The rest of a container on a disk without room: even its end cannot be written."""

        def mux(self, packets: object) -> None:
            raise OSError(28, "No space left on device")

        def close(self) -> None:
            container.close()
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(writer, "_container", Full())
    with pytest.raises(StorageError, match="No space left"):
        writer.close()
    assert list(tmp_path.iterdir()) == []
