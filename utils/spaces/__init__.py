"""What the rest of the code needs to know of Gymnasium spaces: widths, encodings, JSON form."""

from utils.spaces.action_adapter import ActionAdapter
from utils.spaces.action_mask import ACTION_MASK, find_blocked, flatten_mask, mask_width
from utils.spaces.describe import space_to_dict, spaces_differ
from utils.spaces.encoding import check_picture_size, encoded_width, is_picture, torch_dtype

__all__ = [
    "ACTION_MASK",
    "ActionAdapter",
    "check_picture_size",
    "encoded_width",
    "find_blocked",
    "flatten_mask",
    "is_picture",
    "mask_width",
    "space_to_dict",
    "spaces_differ",
    "torch_dtype",
]
