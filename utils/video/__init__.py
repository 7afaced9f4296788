"""Writes pictures to video files that every browser plays."""

from utils.video.writer import EncoderMissingError, VideoWriter, write_video

__all__ = ["EncoderMissingError", "VideoWriter", "write_video"]
