"""What the rest of the code needs to know of Gymnasium spaces: widths, encodings, JSON form."""

from utils.spaces.action_adapter import ActionAdapter
from utils.spaces.describe import space_to_dict, spaces_differ
from utils.spaces.encoding import check_picture_size, encoded_width, is_picture, torch_dtype
from utils.spaces.unread import unread_faults, unread_settings

__all__ = [
    "ActionAdapter",
    "check_picture_size",
    "encoded_width",
    "is_picture",
    "space_to_dict",
    "spaces_differ",
    "torch_dtype",
    "unread_faults",
    "unread_settings",
]
