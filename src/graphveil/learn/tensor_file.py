"""Files of tensors that somebody else may have written: the one reader of what `torch.save` writes.

Nothing that a file holds is run. It takes no more memory than it has bytes, and every checksum in it must be right.
"""

from __future__ import annotations

import os
import pickletools
import warnings
import zipfile
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor

from graphveil.errors import InputError
from graphveil.files import MAX_TEXT, regular, unreadable

# Where the names come from that torch writes for tensors and dictionaries.
MODULES = ("collections", "torch", "torch._utils")


def read_tensors(file: Path, what: str, instead: str, device: str | None = None) -> Any:
    """Return dictionaries and lists of tensors, numbers and text, as they were saved; tensors on their own device, or on this one.

    ``what`` says in errors what the file should hold, ``instead`` what to do where it does not.
    """
    try:
        with warnings.catch_warnings(), open(regular(file), "rb") as stream:
            warnings.simplefilter("ignore")
            _check_archive(stream)
            content = torch.load(stream, map_location=device, weights_only=True)
        _check_plain(content)
    except OSError as error:
        raise unreadable(file, error, instead) from None
    except Exception as error:
        # torch raises almost anything at a damaged file.
        raise InputError(
            f"{file} holds no {what}, or is damaged ({type(error).__name__}): {instead}"
        ) from error
    return content


def _check_archive(stream: IO[bytes]) -> None:
    """Refuse an archive that is packed, states more bytes than it has, has a wrong checksum, or names anything but tensors.

    torch looks at none of the first three, and takes minutes over the message about a long name.
    """
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        stated = sum(member.file_size for member in members)
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("packed")
        if stated > os.fstat(stream.fileno()).st_size or archive.testzip() is not None:
            raise ValueError("damaged")
        (pickled,) = [member for member in members if member.filename.lower().endswith("/data.pkl")]
        if pickled.file_size > MAX_TEXT:
            raise ValueError("too long")
        for operation, argument, _ in pickletools.genops(archive.read(pickled)):
            if operation.name == "GLOBAL" and str(argument).partition(" ")[0] not in MODULES:
                raise ValueError("neither numbers nor text")
    stream.seek(0)


def _check_plain(content: Any) -> None:
    """Refuse anything but plain values and dense tensors, and tensors that are larger than what is stored of them."""
    seen: set[int] = set()
    waiting = [content]
    while waiting:
        each = waiting.pop()
        if isinstance(each, (dict, list, tuple)):
            if id(each) in seen:
                continue
            seen.add(id(each))
            waiting += [*each, *each.values()] if isinstance(each, dict) else each
        elif isinstance(each, Tensor):
            if each.layout != torch.strided or each.is_quantized or each.is_meta:
                raise ValueError("not dense")
            if each.numel() * each.element_size() > each.untyped_storage().nbytes():
                raise ValueError("larger than what is stored")
        elif not isinstance(each, (str, int, float, type(None))):
            raise TypeError(type(each).__name__)
