import os

from utils.storage import TailFile, write_bytes


def test_lines_come_once_and_whole(tmp_path):
    path = tmp_path / "rows"
    tail = TailFile(path)
    assert tail.read() == []
    path.write_bytes(b"one\ntwo\nthr")
    assert tail.read() == [b"one", b"two"]
    assert tail.read() == []
    with path.open("ab") as file:
        file.write(b"ee\n\nfive\n")
    assert tail.read() == [b"three", b"", b"five"]
    assert tail.n_begun == 1


def test_a_replaced_or_shortened_file_is_read_again(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(b"one\ntwo\n")
    tail = TailFile(path)
    tail.read()
    write_bytes(path, b"one\nnew\nlast\n")
    assert tail.read() == [b"one", b"new", b"last"]
    os.truncate(path, 4)
    assert tail.read() == [b"one"]
    assert tail.n_begun == 3
    path.unlink()
    assert tail.read() == []


def test_a_large_file_comes_in_pieces_of_whole_lines(tmp_path):
    path = tmp_path / "rows"
    lines = [b"%04d" % i for i in range(100)]
    path.write_bytes(b"\n".join(lines) + b"\ncut")
    tail = TailFile(path)
    pieces = []
    while piece := tail.read(max_bytes=33):
        assert len(piece) <= 8
        pieces.append(piece)
    assert [line for piece in pieces for line in piece] == lines
