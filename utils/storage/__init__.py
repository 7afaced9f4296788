"""Files written so that a kill or a full disk leaves the old content or the new, never half."""

from utils.storage.append_file import AppendFile
from utils.storage.atomic import (
    TEMPORARY_SUFFIX,
    atomic_file,
    read_json,
    remove_temporary_files,
    remove_temporary_folders,
    storage_errors,
    sync_directory,
    temporary_folder,
    temporary_path,
    write_bytes,
    write_json,
)
from utils.storage.locks import take_lock
from utils.storage.tail_file import TailFile, parse_records

__all__ = [
    "TEMPORARY_SUFFIX",
    "AppendFile",
    "TailFile",
    "atomic_file",
    "parse_records",
    "read_json",
    "remove_temporary_files",
    "remove_temporary_folders",
    "storage_errors",
    "sync_directory",
    "take_lock",
    "temporary_folder",
    "temporary_path",
    "write_bytes",
    "write_json",
]
