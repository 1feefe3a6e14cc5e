"""Protobuf schemas: ``.proto`` text is compiled to descriptors, and a message is found in them."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from stream.formats.input.encodings.extras import needs_extra
from stream.formats.input.encodings.protobuf_documents import Descriptor

__all__ = ["ProtobufSchema", "ProtobufSchemaError", "compiled", "from_descriptor_set", "from_proto_file"]

_MAIN = "main.proto"
_IN_MEMORY = Path("/dev/shm")  # noqa: S108 - only if no folder for temporary files can be written
_LINE = re.compile(r"^(?:[^:\n]*/)?([^/:\n]+\.proto:.*)$", re.MULTILINE)

_BUILT_IN = {
    "confluent/meta.proto": """\
syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
""",
    "confluent/type/decimal.proto": """\
syntax = "proto3";
package confluent.type;
message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
""",
    "google/type/latlng.proto": """\
syntax = "proto3";
package google.type;
message LatLng { double latitude = 1; double longitude = 2; }
""",
}
"""Files that schemas import although no registry names them as references."""


class ProtobufSchemaError(Exception):
    """A schema cannot be used; the message says why."""


class ProtobufSchema:
    """The messages of one ``.proto`` file.

    Args:
        files: Descriptors of the file and of all that it imports, a ``FileDescriptorSet``.
        main: Name of the file in it.

    Raises:
        ProtobufSchemaError: The descriptors do not fit together.
    """

    def __init__(self, files: Any, main: str) -> None:
        from google.protobuf.descriptor_pool import DescriptorPool  # noqa: PLC0415 - an optional extra

        pool = DescriptorPool()
        waiting = {file.name: file for file in files.file}
        try:
            while waiting:
                ready = [name for name, file in waiting.items() if not any(need in waiting for need in file.dependency)]
                for name in ready:
                    pool.Add(waiting.pop(name))
                if not ready:
                    raise ProtobufSchemaError("its files import one another in a circle")
            self._file = pool.FindFileByName(main)
        except (KeyError, TypeError, ValueError) as fault:
            raise ProtobufSchemaError(
                f"its descriptors do not fit together ({type(fault).__name__}): write them with --include_imports"
            ) from None
        self._pool, self._main = pool, next(file for file in files.file if file.name == main)

    def at(self, indexes: Sequence[int]) -> Descriptor | None:
        """Return the message at indexes, from the outermost to the innermost; None if there is none."""
        found, name = self._main.message_type, self._main.package
        for index in indexes:
            if index >= len(found):
                return None
            name = f"{name}.{found[index].name}".lstrip(".")
            found = found[index].nested_type
        return self._named(name)

    def named(self, name: str | None) -> Descriptor:
        """Return the message of a name, with or without its package; the first one if no name is given.

        Raises:
            ProtobufSchemaError: There is no such message.
        """
        package = self._main.package
        if name is None:
            if (first := self.at([0])) is None:
                raise ProtobufSchemaError("it has no message")
            return first
        for full in dict.fromkeys((name, f"{package}.{name}".lstrip("."))):
            if (found := self._named(full)) is not None:
                return found
        messages = ", ".join(sorted(self._file.message_types_by_name)) or "none"
        raise ProtobufSchemaError(f"it has no message {name}; its messages are: {messages}")

    def _named(self, name: str) -> Descriptor | None:
        try:
            return self._pool.FindMessageTypeByName(name)
        except KeyError:
            return None


def compiled(
    text: str, references: Mapping[str, str], *, name: str = _MAIN, folder: Path | None = None
) -> ProtobufSchema:
    """Compile a ``.proto`` file. Some serializers register descriptors in base64 instead, which are taken as they are.

    Args:
        text: The file.
        references: Further files by the names under which they are imported.
        name: Its name in messages of the compiler.
        folder: Where else to look for imported files.

    Raises:
        ProtobufSchemaError: It cannot be compiled.
        MissingExtraError: The compiler is not installed.
    """
    with needs_extra("protobuf", "protobuf and grpcio-tools"):
        import grpc_tools  # noqa: F401, PLC0415 - an optional extra
        from google.protobuf.descriptor_pb2 import FileDescriptorProto  # noqa: PLC0415

    ready: dict[str, FileDescriptorProto] = {}
    sources: dict[str, str] = {}
    for path, source in {**references, _MAIN: text}.items():
        if (descriptor := _from_base64(source)) is None:
            sources[path] = source
        else:
            descriptor.name = path
            ready[path] = descriptor
    if _MAIN in ready:  # compile only what the descriptors need besides one another
        needed = {path for one in ready.values() for path in one.dependency} - set(ready)
        sources[_MAIN] = "\n".join(['syntax = "proto3";', *(f'import "{path}";' for path in sorted(needed))])
    files = _run_compiler(sources, name=name, folder=folder)
    kept = [file for file in files.file if file.name not in ready]
    del files.file[:]
    files.file.extend([*kept, *ready.values()])
    return ProtobufSchema(files, _MAIN)


def _from_base64(text: str) -> Any:
    """Return the descriptor of a file, or None if a text is no descriptor in base64."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto  # noqa: PLC0415
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    try:
        return FileDescriptorProto.FromString(base64.b64decode(text.strip(), validate=True)) if text.strip() else None
    except (ValueError, DecodeError):
        return None


def _run_compiler(files: Mapping[str, str], *, name: str, folder: Path | None) -> Any:
    """Compile the main file among files, and return its descriptors and those of all that it imports."""
    import grpc_tools  # noqa: PLC0415
    from google.protobuf.descriptor_pb2 import FileDescriptorSet  # noqa: PLC0415

    own_types = Path(grpc_tools.__file__).parent / "_proto"
    with _temporary() as temporary:
        for path, source in {**_BUILT_IN, **files}.items():
            if not (own_types / path).is_file():  # another copy of the library's own files would clash with them
                _write(Path(temporary), path, source)
        output = Path(temporary) / "descriptors.desc"
        folders = [f"--proto_path={one}" for one in (temporary, folder, own_types) if one is not None]
        # In a process of its own, because the compiler writes what is wrong to the standard error.
        done = subprocess.run(  # noqa: S603 - our own interpreter
            [
                *(sys.executable, "-m", "grpc_tools.protoc", *folders),
                *("--include_imports", f"--descriptor_set_out={output}", _MAIN),
            ],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode != 0 or not output.is_file():
            said = _LINE.search(done.stderr)
            reason = said[1].replace(_MAIN, name) if said is not None else "the compiler refuses it"
            raise ProtobufSchemaError(f"it cannot be compiled: {reason}")
        return FileDescriptorSet.FromString(output.read_bytes())


def from_proto_file(path: Path) -> ProtobufSchema:
    """Compile a ``.proto`` file; files that it imports are looked for beside it.

    Raises:
        ProtobufSchemaError: It cannot be read or compiled.
        MissingExtraError: The compiler is not installed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise ProtobufSchemaError(f"it cannot be read ({type(fault).__name__})") from None
    return compiled(text, {}, name=path.name, folder=path.resolve().parent)


def from_descriptor_set(path: Path) -> ProtobufSchema:
    """Read a ``FileDescriptorSet``, as ``protoc --include_imports --descriptor_set_out`` writes it.

    Raises:
        ProtobufSchemaError: It cannot be read.
        MissingExtraError: The library is not installed.
    """
    with needs_extra("protobuf", "protobuf"):
        from google.protobuf.descriptor_pb2 import FileDescriptorSet  # noqa: PLC0415 - an optional extra
        from google.protobuf.message import DecodeError  # noqa: PLC0415
    try:
        found = FileDescriptorSet.FromString(path.read_bytes())
    except (OSError, DecodeError) as fault:
        raise ProtobufSchemaError(f"it cannot be read ({type(fault).__name__})") from None
    if not found.file:
        raise ProtobufSchemaError("it has no descriptors: `protoc --include_imports --descriptor_set_out` writes them")
    return ProtobufSchema(found, found.file[-1].name)  # the compiler writes imported files first


def _temporary() -> tempfile.TemporaryDirectory[str]:
    """Return a new folder for temporary files; in a container without a writable folder it is in memory."""
    try:
        return tempfile.TemporaryDirectory(prefix="shoal-proto-")
    except OSError:
        pass
    try:
        return tempfile.TemporaryDirectory(prefix="shoal-proto-", dir=_IN_MEMORY)
    except OSError:
        raise ProtobufSchemaError("no folder for temporary files can be written: set TMPDIR to one") from None


def _write(folder: Path, name: str, text: str) -> None:
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts or not parts.name:
        raise ProtobufSchemaError("a reference has the name of a file outside of its folder")
    path = folder / parts
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as fault:
        raise ProtobufSchemaError(f"a file of it cannot be written ({type(fault).__name__})") from None
