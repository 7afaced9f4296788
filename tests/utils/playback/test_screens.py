import av
import numpy as np

from utils.playback.canvas import compose
from utils.playback.screens import NoScreen, VideoScreen
from utils.playback.view import Tile, View

WHITE = np.full((40, 60, 3), 255, np.uint8)


def frames_of(path):
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        return stream.average_rate, [f.to_ndarray(format="rgb24") for f in container.decode(stream)]


def test_a_video_of_one_episode_holds_its_pictures_as_they_are(tmp_path):
    screen = VideoScreen(tmp_path / "new" / "a.mp4", fps=12)
    for _ in range(7):
        screen.show(View(tiles=(Tile(WHITE),), caption="not in the file"))
    screen.linger()
    screen.close()
    screen.close()
    assert screen.n_frames == 7
    rate, frames = frames_of(screen.path)
    assert rate == 12
    assert [frame.shape for frame in frames] == [(40, 60, 3)] * 7
    assert min(frame.min() for frame in frames) > 250


def test_a_video_of_several_episodes_holds_captions(tmp_path):
    view = View(tiles=(Tile(WHITE, "seed 1"), Tile(WHITE, "seed 2", is_dimmed=True)), caption="x")
    screen = VideoScreen(tmp_path / "a.mp4", fps=12)
    screen.show(view)
    screen.close()
    _, (frame,) = frames_of(screen.path)
    expected = compose(view)
    height, width = expected.shape[:2]
    assert frame.shape == (height + height % 2, width + width % 2, 3)
    assert np.abs(frame[:height, :width].astype(int) - expected).mean() < 3


def test_no_screen_takes_everything():
    screen = NoScreen()
    screen.show(View(tiles=(Tile(WHITE),), caption=""))
    screen.linger()
    screen.close()
