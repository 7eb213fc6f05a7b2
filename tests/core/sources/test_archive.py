from __future__ import annotations

import gzip
import io
import lzma
import os
import resource
import stat
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from core.errors import SourceError
from core.sources.archive import open_source
from core.sources.streams import Limits
from tests.support.personalens import pack, write_files

FILES = {"data/a.json": b"{}", "data/b/c.json": "é\n".encode() * 3000, "README.md": b"hi"}
ARCHIVES = ["x.zip", "x.tar", "x.tar.gz", "x.tgz", "x.tar.xz"]


def read_all(path: Path, limits: Limits | None = None) -> dict[str, bytes]:
    with open_source(path, limits) as source:
        return {entry.name: entry.read() for entry in source}


def refusal(path: Path, limits: Limits | None = None) -> str:
    with pytest.raises(SourceError) as caught:
        read_all(path, limits)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_yields_its_files_as_they_are(tmp_path: Path, name: str) -> None:
    assert read_all(pack(tmp_path / name, FILES)) == FILES


def test_a_folder_yields_its_files_sorted_and_without_hidden_ones(tmp_path: Path) -> None:
    write_files(tmp_path / "s", FILES | {".git/config": b"x", "data/.DS_Store": b"x"})
    assert list(read_all(tmp_path / "s")) == ["README.md", "data/a.json", "data/b/c.json"]


def test_a_single_jsonl_file_is_a_source(tmp_path: Path) -> None:
    (tmp_path / "dialogues.jsonl").write_bytes(b"1\n2\n")
    with open_source(tmp_path / "dialogues.jsonl") as source:
        assert [list(entry.lines()) for entry in source] == [[b"1\n", b"2\n"]]


@pytest.mark.parametrize("name", ARCHIVES)
def test_entries_that_are_not_read_are_passed_over(tmp_path: Path, name: str) -> None:
    with open_source(pack(tmp_path / name, FILES)) as source:
        assert [entry.name for entry in source] == list(FILES)


def test_the_fraction_grows_to_one(tmp_path: Path) -> None:
    with open_source(pack(tmp_path / "x.tar.xz", FILES)) as source:
        for entry in source:
            entry.read()
        assert source.fraction() == 1


# --- what is no archive -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nothing.zip", "nothing"])
def test_a_missing_path_is_named(tmp_path: Path, name: str) -> None:
    assert name in refusal(tmp_path / name)


@pytest.mark.parametrize("name", ["x.zip", "x.tar.xz", "x.tar", "x.pdf"])
@pytest.mark.parametrize("content", [b"", b"not an archive at all" * 100])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert refusal(tmp_path / name).startswith(name)


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.tar")
    assert "neither a folder nor a regular file" in refusal(tmp_path / "pipe.tar")


@pytest.mark.parametrize("name", ARCHIVES)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.85])
def test_a_truncated_archive_is_refused(tmp_path: Path, name: str, share: float) -> None:
    files = {f"{n}.json": os.urandom(5000) for n in range(8)}
    whole = pack(tmp_path / name, files).read_bytes()
    (tmp_path / name).write_bytes(whole[: int(len(whole) * share)])
    assert name in refusal(tmp_path / name)


def test_a_tar_cut_between_two_files_is_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.tar", {"a": b"a" * 512, "b": b"b" * 512})
    path.write_bytes(path.read_bytes()[:1024])
    assert "truncated" in refusal(path)


@pytest.mark.parametrize("name", ["x.tar", "x.tar.gz", "x.tar.xz"])
def test_a_broken_header_in_the_middle_does_not_end_the_archive(tmp_path: Path, name: str) -> None:
    plain = pack(tmp_path / "plain.tar", {"a": b"a", "b": b"b", "c": b"c"}).read_bytes()
    broken = plain[:1024] + b"\x01" * 512 + plain[1536:]
    opener = {".tar": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[Path(name).suffix]
    (tmp_path / name).write_bytes(opener(broken))
    assert "damaged" in refusal(tmp_path / name)


@pytest.mark.parametrize("name", ["x.zip", "x.tar.gz", "x.tar.xz"])
def test_a_flipped_byte_is_refused(tmp_path: Path, name: str) -> None:
    path = pack(tmp_path / name, {"a.json": os.urandom(20_000)})
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    assert name in refusal(path)


def test_data_after_the_end_of_a_tar_is_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.tar", {"a": b"a"})
    path.write_bytes(path.read_bytes() * 2)
    assert "after its end" in refusal(path)


def test_an_xz_of_two_streams_is_read_whole(tmp_path: Path) -> None:
    plain = pack(tmp_path / "plain.tar", FILES).read_bytes()
    half = len(plain) // 2
    packed = lzma.compress(plain[:half]) + b"\0" * 8 + lzma.compress(plain[half:])
    (tmp_path / "x.tar.xz").write_bytes(packed)
    assert read_all(tmp_path / "x.tar.xz") == FILES


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.zip", {"a.json": b"{}"})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    assert "encrypted" in refusal(path)


# --- what is unsafe -----------------------------------------------------------------------------

OUTSIDE = ["../up.json", "/etc/x.json", "a/../../up.json", "..\\up.json", "C:\\x.json"]


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("archive", ["x.zip", "x.tar"])
def test_a_name_that_points_outside_is_refused(tmp_path: Path, archive: str, name: str) -> None:
    assert "points outside" in refusal(pack(tmp_path / archive, {name: b"{}"}))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_in_a_tar_are_refused(tmp_path: Path, kind: bytes) -> None:
    member = tarfile.TarInfo("data/odd")
    member.type, member.linkname = kind, "/etc/passwd"
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        tar.addfile(member)
    assert "data/odd is a link or device" in refusal(tmp_path / "x.tar")


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("odd")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    assert "odd is a link or device" in refusal(tmp_path / "x.zip")


@pytest.mark.parametrize("target", ["/etc/passwd", "real.json", "nowhere"])
def test_a_link_in_a_folder_is_refused(tmp_path: Path, target: str) -> None:
    write_files(tmp_path / "s", {"data/real.json": b"{}"})
    (tmp_path / "s" / "data" / "odd.json").symlink_to(target)
    assert "data/odd.json is a link" in refusal(tmp_path / "s")


def test_a_linked_folder_in_a_folder_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path / "s", {"data/real.json": b"{}"})
    (tmp_path / "s" / "loop").symlink_to(tmp_path / "s")
    assert "loop is a link" in refusal(tmp_path / "s")


# --- what is too large --------------------------------------------------------------------------

MB = 1 << 20
SMALL = Limits(entries=5, entry_bytes=MB, total_bytes=4 * MB, ratio=20, ratio_floor=2 * MB)


@pytest.mark.parametrize("name", [*ARCHIVES, "s"])
def test_too_many_files_are_refused(tmp_path: Path, name: str) -> None:
    files = {f"{n}.json": b"{}" for n in range(6)}
    make = pack if "." in name else write_files
    assert "more than 5 files" in refusal(make(tmp_path / name, files), SMALL)


@pytest.mark.parametrize("name", [*ARCHIVES, "s"])
def test_a_file_that_is_too_large_is_refused(tmp_path: Path, name: str) -> None:
    make = pack if "." in name else write_files
    path = make(tmp_path / name, {"big.json": os.urandom(MB + 1)})
    assert "big.json is larger than 1 MB" in refusal(path, SMALL)


def test_a_jsonl_file_may_be_longer_but_none_of_its_lines(tmp_path: Path) -> None:
    lines = (b"x" * (MB // 2) + b"\n") * 3
    with open_source(pack(tmp_path / "x.tar", {"d.jsonl": lines}), SMALL) as source:
        assert [len(line) for e in source for line in e.lines()] == [MB // 2 + 1] * 3
    path = pack(tmp_path / "y.tar", {"d.jsonl": b"x" * (MB + 2)})
    with open_source(path, SMALL) as source, pytest.raises(SourceError, match="line over 1 MB"):
        [list(e.lines()) for e in source]


@pytest.mark.parametrize("name", ["x.zip", "x.tar", "x.tar.gz"])
def test_a_total_that_is_too_large_is_refused(tmp_path: Path, name: str) -> None:
    files = {f"{n}.json": os.urandom(MB - 1) for n in range(5)}
    assert "unpacks to more than 4 MB" in refusal(pack(tmp_path / name, files), SMALL)


@pytest.mark.parametrize("name", ["x.zip", "x.tar.gz", "x.tar.xz"])
def test_a_compression_ratio_that_is_too_high_is_refused(tmp_path: Path, name: str) -> None:
    files = {f"{n}.json": b"0" * (MB - 1) for n in range(3)}
    assert "20 times its size" in refusal(pack(tmp_path / name, files), SMALL)


def test_much_alike_small_files_are_no_bomb(tmp_path: Path) -> None:
    files = {f"{n}.json": b"0" * 100_000 for n in range(4)}
    assert read_all(pack(tmp_path / "x.tar.xz", files), SMALL) == files


def _bomb(path: Path, header: tarfile.TarInfo, size: int) -> Path:
    """A tar.gz that unpacks to `size` zeros after one header, written piece by piece."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(header.tobuf())
        for _ in range(size // (16 * MB)):
            file.write(bytes(16 * MB))
    return path


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small file with 400 MB of zeros behind it: the ratio gives it away."""
    header = tarfile.TarInfo("data/profile/user0/profile.json")
    header.size = 10
    return _bomb(tmp_path_factory.mktemp("bomb") / "bomb.tar.gz", header, 400 * MB)


def test_a_bomb_behind_a_small_file_is_refused_early_and_in_little_memory(bomb: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    assert "200 times its size" in refusal(bomb)
    assert time.process_time() - began < 3
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


def test_a_member_of_ten_gigabytes_is_refused_at_its_header(tmp_path: Path) -> None:
    header = tarfile.TarInfo("data/profile/user0/profile.json")
    header.size = 10 << 30
    path = _bomb(tmp_path / "bomb.tar.gz", header, 32 * MB)
    began = time.process_time()
    assert "larger than 64 MB" in refusal(path)
    assert time.process_time() - began < 1


def test_an_extended_header_of_gigabytes_is_not_read_into_memory(tmp_path: Path) -> None:
    header = tarfile.TarInfo("././@PaxHeader")
    header.type, header.size = tarfile.XHDTYPE, 4 << 30
    path = _bomb(tmp_path / "bomb.tar.gz", header, 64 * MB)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "oversized header" in refusal(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


def test_a_zip_whose_files_lie_about_their_size_is_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.zip", {"a.json": b"0" * 5000})
    content = path.read_bytes()
    real, lie = (5000).to_bytes(4, "little"), (100).to_bytes(4, "little")
    path.write_bytes(content.replace(real, lie))
    assert "x.zip" in refusal(path)


def test_an_xz_that_asks_for_gigabytes_of_memory_is_refused(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 512 << 20}]
    empty = io.BytesIO()
    with tarfile.open(fileobj=empty, mode="w"):
        pass
    packed = lzma.compress(empty.getvalue(), filters=filters, check=lzma.CHECK_CRC64)
    (tmp_path / "x.tar.xz").write_bytes(packed)
    assert "emory usage limit" in refusal(tmp_path / "x.tar.xz")
