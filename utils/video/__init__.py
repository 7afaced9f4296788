"""Writes pictures to video files that every browser plays."""

from utils.video.writer import VideoWriter, write_video

__all__ = ["VideoWriter", "write_video"]
