"""Counts how often SQLite waits for the disk: its own file methods are asked, not its settings."""

import _sqlite3
import ctypes
from contextlib import contextmanager

POINTER = ctypes.c_void_p
# A name is handed on as the address that it is: SQLite keeps more before and behind it.
OPEN = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER, POINTER, ctypes.c_int, POINTER)
SYNC = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, ctypes.c_int)
# Functions of `sqlite3_io_methods` up to its third version, and where xSync stands among them.
FUNCTIONS, XSYNC = 18, 4


class FileSystem(ctypes.Structure):
    """The beginning of `sqlite3_vfs`."""

    _fields_ = [
        ("version", ctypes.c_int),
        ("file_size", ctypes.c_int),
        ("path_length", ctypes.c_int),
        ("next", POINTER),
        ("name", ctypes.c_char_p),
        ("data", POINTER),
        ("open", POINTER),
    ]


class FileMethods(ctypes.Structure):
    """`sqlite3_io_methods`."""

    _fields_ = [("version", ctypes.c_int), ("functions", POINTER * FUNCTIONS)]


@contextmanager
def counted_syncs(told):
    """Call ``told`` after every sync of a file that is opened meanwhile."""
    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = ctypes.POINTER(FileSystem)
    system = library.sqlite3_vfs_find(None).contents
    address = system.open
    original, kept = OPEN(address), []

    def opened(vfs, name, file, flags, out):
        status = original(vfs, name, file, flags, out)
        place = POINTER.from_address(file)
        if status == 0 and place.value:
            methods = FileMethods.from_buffer_copy(FileMethods.from_address(place.value))
            sync = SYNC(methods.functions[XSYNC])

            def counting(own, how):
                done = sync(own, how)
                told()
                return done

            replaced = SYNC(counting)
            methods.functions[XSYNC] = ctypes.cast(replaced, POINTER).value
            place.value = ctypes.addressof(methods)
            kept.extend((methods, replaced, sync))
        return status

    replacement = OPEN(opened)
    system.open = ctypes.cast(replacement, POINTER).value
    try:
        yield
    finally:
        system.open = address
        # Files may be closed later than this ends.
        ALIVE.extend((original, replacement, *kept))


ALIVE = []
