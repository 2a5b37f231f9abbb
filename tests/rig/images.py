#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Builds the rig's images, without a base image and without an engine, as one OCI image layout.

    images.py CONTENT LAYOUT

CONTENT holds one folder per unpacked Debian package, LAYOUT is written anew. Entries of its index.json carry
`repository:tag` as org.opencontainers.image.ref.name. The same packages and sources give the same digests: tar entries
are sorted, owned by root and dated 0, and so are the gzip headers.
"""

import dataclasses
import functools
import gzip
import hashlib
import io
import json
import pathlib
import platform
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STAND_INS = HERE / "stand-ins"

NATIVE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
FOREIGN = {"amd64": "arm64", "arm64": "amd64"}[NATIVE]

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_CONFIG = "application/vnd.docker.container.image.v1+json"
DOCKER_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
IN_TOTO = "application/vnd.in-toto+json"

MERGED = ("bin", "lib", "lib64", "sbin")

# Documentation, character sets, and the parts of the standard library that are not for running programs.
UNWANTED = re.compile(
    r"usr/share/|etc/python|usr/lib/[^/]+/(gconv|audit)/"
    r"|usr/lib/python3[^/]*/(config-[^/]*|ensurepip|idlelib|lib2to3|pydoc_data|test|tkinter|turtledemo)/"
)


# Trees: path -> what lies there. Paths have no leading slash; parents are added when a layer is made.


@dataclasses.dataclass(frozen=True)
class File:
    data: bytes
    mode: int = 0o644


@dataclasses.dataclass(frozen=True)
class Link:
    target: str


@dataclasses.dataclass(frozen=True)
class Folder:
    mode: int = 0o755


def text(content: str, mode: int = 0o644) -> File:
    return File(content.encode(), mode)


def script(path: pathlib.Path) -> File:
    return File(path.read_bytes(), 0o755)


def merged(path: str) -> str:
    """Packages of a release with a merged /usr may still ship /lib/x; in the image /lib is a link to usr/lib."""
    return "usr/" + path if path.split("/")[0] in MERGED else path


def package(content: pathlib.Path, name: str, only: str = "") -> dict:
    """The files of a package; `only` is a pattern that paths must match, when not empty."""
    folder = content / name
    tree = {}
    for source in folder.rglob("*"):
        path = merged(source.relative_to(folder).as_posix())
        if UNWANTED.match(path) or not re.match(only, path):
            continue
        if source.is_symlink():
            tree[path] = Link(str(source.readlink()))
        elif source.is_file():
            tree[path] = File(source.read_bytes(), 0o755 if source.stat().st_mode & 0o100 else 0o644)
    return tree


def busybox_tree(content: pathlib.Path) -> dict:
    """A system with nothing but busybox under all its names."""
    tree = package(content, "busybox-static")
    busybox = next(path for path in (content / "busybox-static").glob("**/bin/busybox"))
    applets = subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True).stdout.split()
    tree |= {f"usr/bin/{applet}": Link("busybox") for applet in applets if applet != "busybox"}
    tree |= {name: Link(f"usr/{name}") for name in MERGED}
    tree |= {f"usr/{name}": Folder() for name in MERGED}
    tree |= {name: Folder() for name in ("dev", "etc", "home", "mnt", "opt", "proc", "run", "sys", "var")}
    tree |= {"root": Folder(0o700), "tmp": Folder(0o1777)}
    tree["etc/passwd"] = text("root:x:0:0:root:/root:/bin/sh\nubuntu:x:1000:1000:ubuntu:/home/ubuntu:/bin/sh\n")
    tree["etc/group"] = text("root:x:0:\nubuntu:x:1000:\n")
    tree["home/ubuntu"] = Folder()
    return tree


def python_tree(content: pathlib.Path) -> dict:
    """bash, python3 with its standard library, and the C library's tools that the checks call."""
    tree = {}
    for name in sorted(path.name for path in content.iterdir() if path.name not in ("busybox-static", "libc-bin")):
        tree |= package(content, name)
    tree |= package(content, "libc-bin", r"usr/sbin/ldconfig|usr/bin/(getent|ldd)$|usr/lib/locale/|etc/ld\.so\.conf$")
    tree["etc/ld.so.conf"] = text("include /etc/ld.so.conf.d/*.conf\n")
    version = python_version(content)
    tree |= {"usr/bin/python3": Link(version), "usr/bin/python": Link(version)}
    return tree


@functools.cache
def python_version(content: pathlib.Path) -> str:
    """`python3.11` on Debian 12."""
    return next(p.name.removesuffix("-minimal") for p in sorted(content.glob("python3.*-minimal")))


def cudart(version: str) -> bytes:
    """The stand-in for libcudart.so.MAJOR, compiled so that the same compiler gives the same bytes."""
    major, minor = version.split(".")
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder) / "libcudart.so"
        subprocess.run(
            ["/usr/bin/cc", "-shared", "-nostdlib", "-fPIC", "-Os", "-s", "-fno-ident", "-Wl,--build-id=none"]
            + [f"-Wl,-soname,libcudart.so.{major}", f"-DCUDART_VERSION={major}0{minor}0"]
            + ["-o", library, STAND_INS / "cudart.c"],
            check=True,
        )
        return library.read_bytes()


def cuda_tree(system: dict, versions: list[str]) -> dict:
    """CUDA runtimes as the toolkit lays them out, the last one as /usr/local/cuda, and the linker's cache over all."""
    target = {"amd64": "x86_64-linux", "arm64": "sbsa-linux"}[NATIVE]
    tree = {}
    for version in versions:
        major = version.split(".")[0]
        folder = f"usr/local/cuda-{version}/targets/{target}/lib"
        tree[f"{folder}/libcudart.so.{version}.96"] = File(cudart(version), 0o755)
        tree[f"{folder}/libcudart.so.{major}"] = Link(f"libcudart.so.{version}.96")
        tree[f"etc/ld.so.conf.d/{1000 - int(major)}_cuda-{major}.conf"] = text(f"/{folder}\n")
        tree[f"usr/local/cuda-{version}/lib64"] = Link(f"targets/{target}/lib")
    tree["usr/local/cuda"] = Link(f"cuda-{versions[-1]}")
    tree["etc/ld.so.cache"] = File(linker_cache(system | tree))
    return tree


def linker_cache(tree: dict) -> bytes:
    """What ldconfig makes of the libraries in a tree."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, entry in with_parents(tree):
            if isinstance(entry, Folder):
                (root / path).mkdir(exist_ok=True)
            elif isinstance(entry, Link):
                (root / path).symlink_to(entry.target)
            elif ".so" in path:
                (root / path).write_bytes(entry.data)
        subprocess.run(["/sbin/ldconfig", "-X", "-r", root], check=True)
        return (root / "etc/ld.so.cache").read_bytes()


def distribution(version_of: dict[str, str], site: str) -> dict:
    """What importlib.metadata reads of installed Python packages."""
    return {
        f"{site}/{name}-{version}.dist-info/METADATA": text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        for name, version in version_of.items()
    }


def release_tree(content: pathlib.Path, torch: str, cuda: str) -> dict:
    """What differs between NGC releases: PyTorch, its companions, the entrypoint."""
    site = f"usr/local/lib/{python_version(content)}/dist-packages"
    tree = {
        f"{site}/{path.relative_to(STAND_INS).as_posix()}": File(path.read_bytes())
        for name in ("torch", "flash_attn")
        for path in (STAND_INS / name).rglob("*.py")
    }
    tree[f"{site}/torch/version.py"] = text(
        f'"""Stand-in for torch.version."""\n\n__version__ = "{torch}"\ncuda = "{cuda}"\nhip = None\n'
    )
    tree |= distribution(
        {
            "torch": torch,
            "flash_attn": "2.7.4.post1",
            "transformers": "5.13.1",
            "peft": "0.19.1",
            "bitsandbytes": "0.49.2",
        },
        site,
    )
    tree["opt/nvidia/nvidia_entrypoint.sh"] = script(STAND_INS / "nvidia_entrypoint.sh")
    tree["usr/bin/nvidia-smi"] = script(STAND_INS / "nvidia-smi")
    tree["workspace/README.md"] = text("The workspace of an image of the sparkrun test rig.\n")
    return tree


def unsloth_tree(content: pathlib.Path, version: str) -> dict:
    """What the Unsloth image puts on top of NGC's."""
    site = f"usr/local/lib/{python_version(content)}/dist-packages"
    tree = distribution({"unsloth": version, "unsloth_zoo": version, "trl": "0.24.0"}, site)
    tree[f"{site}/unsloth/__init__.py"] = text(f'"""Stand-in for Unsloth."""\n\n__version__ = "{version}"\n')
    tree["workspace/unsloth-notebooks/README.md"] = text(f"Stand-in for the notebooks of Unsloth {version}.\n")
    return tree


# Layers and images.


def with_parents(tree: dict) -> list[tuple[str, object]]:
    """Sorted, so that a folder comes before what it holds."""
    parents = {
        parent.as_posix(): Folder() for path in tree for parent in pathlib.PurePosixPath(path).parents if parent.name
    }
    return sorted((parents | tree).items())


@dataclasses.dataclass(frozen=True)
class Layer:
    data: bytes
    diff_id: str
    created_by: str


def layer(tree: dict, created_by: str) -> Layer:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, entry in with_parents(tree):
            info = tarfile.TarInfo(path)
            if isinstance(entry, Folder):
                info.type, info.mode = tarfile.DIRTYPE, entry.mode
            elif isinstance(entry, Link):
                info.type, info.mode, info.linkname = tarfile.SYMTYPE, 0o777, entry.target
            else:
                info.mode, info.size = entry.mode, len(entry.data)
            tar.addfile(info, io.BytesIO(entry.data) if isinstance(entry, File) else None)
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=packed, mtime=0) as stream:
        stream.write(archive.getvalue())
    return Layer(packed.getvalue(), digest_of(archive.getvalue()), created_by)


def digest_of(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def encode(document: dict) -> bytes:
    return json.dumps(document, indent=2).encode()


def elf_header(architecture: str) -> bytes:
    """A program for an architecture, with no code in it."""
    machine = {"amd64": 62, "arm64": 183}[architecture]
    return struct.pack("<4s12B2HI3QI6H", b"\x7fELF", 2, 1, 1, *[0] * 9, 2, machine, 1, 0, 0, 0, 0, 64, 56, 0, 64, 0, 0)


@dataclasses.dataclass(frozen=True)
class Image:
    """One image for the native architecture: its layers, and the `config` part and date of its configuration."""

    layers: list[Layer]
    config: dict
    created: str

    def foreign(self) -> "Image":
        """The same for the other architecture; whatever is started in it is an `exec format error`."""
        programs = ("bin/sh", "bin/true", "opt/nvidia/nvidia_entrypoint.sh")
        alien = layer({path: File(elf_header(FOREIGN), 0o755) for path in programs}, f"COPY {FOREIGN}")
        return dataclasses.replace(self, layers=[alien])


class Layout:
    """An OCI image layout that is being filled."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.tags = []
        (folder / "blobs/sha256").mkdir(parents=True)

    def blob(self, data: bytes, media_type: str, **more) -> dict:
        """Stores a blob, gives its descriptor."""
        digest = digest_of(data)
        (self.folder / "blobs" / digest.replace(":", "/")).write_bytes(data)
        return {"mediaType": media_type, "digest": digest, "size": len(data)} | more

    def manifest(self, image: Image, architecture: str, docker: bool = False) -> dict:
        config = {
            "architecture": architecture,
            "os": "linux",
            "created": image.created,
            "config": image.config,
            "rootfs": {"type": "layers", "diff_ids": [one.diff_id for one in image.layers]},
            "history": [{"created": image.created, "created_by": one.created_by} for one in image.layers],
        }
        document = {
            "schemaVersion": 2,
            "mediaType": DOCKER_MANIFEST if docker else OCI_MANIFEST,
            "config": self.blob(encode(config), DOCKER_CONFIG if docker else OCI_CONFIG),
            "layers": [self.blob(one.data, DOCKER_LAYER if docker else OCI_LAYER) for one in image.layers],
        }
        return self.blob(
            encode(document), document["mediaType"], platform={"architecture": architecture, "os": "linux"}
        )

    def attestation(self, subject: dict, builder: str) -> dict:
        """A provenance statement in the shape that BuildKit stores beside an image."""
        statement = encode(
            {
                "_type": "https://in-toto.io/Statement/v0.1",
                "predicateType": "https://slsa.dev/provenance/v0.2",
                "subject": [{"name": "image", "digest": {"sha256": subject["digest"].removeprefix("sha256:")}}],
                "predicate": {"builder": {"id": builder}, "buildType": "https://mobyproject.org/buildkit@v1"},
            }
        )
        config = {
            "architecture": "unknown",
            "os": "unknown",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": [digest_of(statement)]},
        }
        document = {
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST,
            "config": self.blob(encode(config), OCI_CONFIG),
            "layers": [
                self.blob(
                    statement, IN_TOTO, annotations={"in-toto.io/predicate-type": "https://slsa.dev/provenance/v0.2"}
                )
            ],
        }
        return self.blob(
            encode(document),
            OCI_MANIFEST,
            annotations={
                "vnd.docker.reference.digest": subject["digest"],
                "vnd.docker.reference.type": "attestation-manifest",
            },
            platform={"architecture": "unknown", "os": "unknown"},
        )

    def index(self, children: list[dict], media_type: str = OCI_INDEX) -> dict:
        return self.blob(
            encode({"schemaVersion": 2, "mediaType": media_type, "manifests": children}), media_type
        )

    def usual(self, image: Image, builder: str = "https://build.example/1") -> dict:
        """An index as buildx pushes it: both architectures, and an attestation of the arm64 one."""
        child = {NATIVE: self.manifest(image, NATIVE), FOREIGN: self.manifest(image.foreign(), FOREIGN)}
        return self.index([child["amd64"], child["arm64"], self.attestation(child["arm64"], builder)])

    def tag(self, name: str, descriptor: dict) -> None:
        untold = {key: value for key, value in descriptor.items() if key in ("mediaType", "digest", "size")}
        self.tags.append(untold | {"annotations": {"org.opencontainers.image.ref.name": name}})

    def finish(self) -> None:
        (self.folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
        (self.folder / "index.json").write_bytes(encode({"schemaVersion": 2, "manifests": self.tags}))


def ngc_config(release: str, torch: str, cuda: str, more: tuple[str, ...] = ()) -> dict:
    """The configuration of an NGC PyTorch image, as far as a launcher looks at it."""
    return {
        "Env": [
            "PATH=/usr/local/nvidia/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            f"CUDA_VERSION={cuda}",
            "CUDA_DRIVER_VERSION=580.82.07",
            "NVIDIA_VISIBLE_DEVICES=all",
            "NVIDIA_DRIVER_CAPABILITIES=compute,utility,video",
            "NVIDIA_REQUIRE_CUDA=cuda>=9.0",
            "NVIDIA_PRODUCT_NAME=PyTorch",
            f"NVIDIA_BUILD_ID={release.replace('.', '')}001",
            "LD_LIBRARY_PATH=/usr/local/cuda/compat/lib:/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
            f"PYTORCH_VERSION={torch}",
            f"NVIDIA_PYTORCH_VERSION={release}",
            *more,
        ],
        "Entrypoint": ["/opt/nvidia/nvidia_entrypoint.sh"],
        "WorkingDir": "/workspace",
        "Labels": {
            "com.nvidia.build.id": f"{release.replace('.', '')}001",
            "com.nvidia.pytorch.version": torch,
            "com.nvidia.volumes.needed": "nvidia_driver",
            "org.opencontainers.image.version": release,
        },
    }


TORCH_2509 = "2.9.0a0+50eac811a6.nv25.09"
TORCH_2510 = "2.9.0a0+145a3a7bda.nv25.10"


def ngc_images(layout: Layout, content: pathlib.Path, system: list[Layer], system_tree: dict) -> Image:
    """Everything under nvidia/pytorch; gives the 25.09 image, on which others are built."""
    cuda_13 = layer(cuda_tree(system_tree, ["13.0"]), "COPY cuda 13.0")
    cuda_12 = layer(cuda_tree(system_tree, ["12.8"]), "COPY cuda 12.8")
    cuda_both = layer(cuda_tree(system_tree, ["12.8", "13.0"]), "COPY cuda 12.8 13.0")
    pytorch_2509 = layer(release_tree(content, TORCH_2509, "13.0"), "COPY pytorch 25.09")
    pytorch_2510 = layer(release_tree(content, TORCH_2510, "13.0"), "COPY pytorch 25.10")
    pytorch_cuda12 = layer(release_tree(content, "2.9.0+cu128", "12.8"), "COPY pytorch cu128")

    created = "2025-09-12T08:30:00Z"
    config = ngc_config("25.09", TORCH_2509, "13.0.1.012")
    image = Image([*system, cuda_13, pytorch_2509], config, created)
    layout.tag("nvidia/pytorch:25.09-py3", layout.usual(image))
    layout.tag("nvidia/pytorch:25.09-py3-resigned", layout.usual(image, builder="https://build.example/2"))
    layout.tag("nvidia/pytorch:foreign-only", layout.index([layout.manifest(image.foreign(), FOREIGN)]))

    both = Image([*system, cuda_both, pytorch_2509], config, created)
    layout.tag("nvidia/pytorch:25.09-both", layout.usual(both))

    config_cuda12 = ngc_config("25.09", "2.9.0+cu128", "12.8.1.012")
    layout.tag("nvidia/pytorch:25.09-cuda12", layout.usual(Image([*system, cuda_12, pytorch_cuda12], config_cuda12, created)))

    config_2510 = ngc_config("25.10", TORCH_2510, "13.0.2.006")
    next_image = Image([*system, cuda_13, pytorch_2510], config_2510, "2025-10-14T08:30:00Z")
    layout.tag("nvidia/pytorch:25.10-py3", layout.usual(next_image))
    return image


def unsloth_images(layout: Layout, content: pathlib.Path, base: Image) -> None:
    """Two builds on top of NGC's 25.09, for a tag that moves from one to the other."""
    for tag, version, created in (
        ("dgxspark-latest", "2026.1.4", "2026-01-20T10:00:00Z"),
        ("dgxspark-next", "2026.2.1", "2026-02-17T10:00:00Z"),
    ):
        config = ngc_config("25.09", TORCH_2509, "13.0.1.012", (f"UNSLOTH_VERSION={version}",))
        added = layer(unsloth_tree(content, version), f"COPY unsloth {version}")
        layout.tag(f"unsloth/unsloth:{tag}", layout.usual(Image([*base.layers, added], config, created)))


def small_images(layout: Layout, busybox: Layer) -> None:
    """Images that start at once, in every form that a registry serves."""
    config = {
        "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        "Cmd": ["sh"],
        "Labels": {"org.opencontainers.image.title": "small"},
    }
    for number in ("1", "2"):
        named = layer({"etc/small": text(f"{number}\n")}, f"COPY small {number}")
        image = Image([busybox, named], config, f"2025-0{number}-01T00:00:00Z")
        layout.tag(f"small:{number}", layout.usual(image))
        if number == "1":
            native = layout.manifest(image, NATIVE, docker=True)
            foreign = layout.manifest(image.foreign(), FOREIGN, docker=True)
            layout.tag("small:single", native)
            layout.tag("small:list", layout.index([native, foreign], DOCKER_LIST))


def build(content: pathlib.Path, folder: pathlib.Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    layout = Layout(folder)
    busybox = busybox_tree(content)
    python = python_tree(content)
    system = [layer(busybox, "COPY busybox"), layer(python, "COPY python")]
    small_images(layout, system[0])
    unsloth_images(layout, content, ngc_images(layout, content, system, busybox | python))
    layout.finish()


if __name__ == "__main__":
    build(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
