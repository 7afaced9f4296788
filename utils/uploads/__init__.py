"""Arrays of the host on their way to a device, for which the host does not wait."""

from utils.uploads.upload import upload, upload_into

__all__ = ["upload", "upload_into"]
