#!/usr/bin/env python3
"""Registers, local memory and spills of every kernel on an H100 or H200 (sm_90), without a driver or a GPU, and the seconds that an
OpenCL platform takes to build each module.

    benches/gpu/resources.py [--write]

NVRTC (`pip install nvidia-cuda-nvrtc-cu12`) compiles the kernels as `benches/gpu/cuda` does. The largest numbers of all variants are
compared with `resources.txt`, or written there. A kernel that spills registers is an error, and so is a module that a platform for
processors takes more than SECONDS to build; without such a platform that is not tested.
"""

import ctypes
import difflib
import glob
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
KERNELS = HERE.parents[1] / "kernels"
SOURCES = {
    str(file.relative_to(root).with_suffix("")): file
    for root in (HERE.parents[1] / f"crates/{crate}/src" for crate in ("elastic", "contact"))
    for file in root.glob("**/*.cl")
}
TABLE = HERE / "resources.txt"
SECONDS = 2.0

# The sources of one element of each energy, and what `DeviceElements::new` defines for them, in one or more variants.
TETRAHEDRA = "vector mat3 rest tetrahedra"
ENERGIES = {
    "springs": "CORNERS=2 DATA=2 COMMON=0",
    "attachments": "CORNERS=1 DATA=4 COMMON=0",
    f"{TETRAHEDRA} arap": "CORNERS=4 DATA=16 COMMON=0",
    f"{TETRAHEDRA} corotational": "CORNERS=4 DATA=16 COMMON=0",
    f"{TETRAHEDRA} polar fixed_corotated": "CORNERS=4 DATA=16 COMMON=0",
    f"{TETRAHEDRA} st_venant_kirchhoff": "CORNERS=4 DATA=16 COMMON=0",
    f"{TETRAHEDRA} neo_hookean": "CORNERS=4 DATA=16 COMMON=0",
    f"{TETRAHEDRA} neo_hookean_log max_step": "CORNERS=4 DATA=16 COMMON=0 BOUNDED",
    "vector rest baraff_witkin": "CORNERS=4 DATA=15 COMMON=0",
    "vector triangle membrane": "CORNERS=3 DATA=7 COMMON=3",
    "vector triangle corotational_membrane": "CORNERS=3 DATA=7 COMMON=2",
    "vector mat3 triangle anisotropic_membrane": "CORNERS=3 DATA=7 COMMON=37",
    "vector bending": "CORNERS=4 DATA=5 COMMON=0",
    "vector shell": "CORNERS=4 DATA=2 COMMON=0",
}
for shape, own in {"plane": 4, "sphere": 4, "capsule": 8, "cuboid": 7}.items():
    contact, friction = f"COMMON={3 + own} BOUNDED", f"COMMON={15 + own} RENEWED"
    elements = [f"CORNERS=1 DATA=0 {contact}", f"CORNERS=2 DATA=1 {contact}", f"CORNERS=1 DATA=7 {friction}", f"CORNERS=2 DATA=9 {friction}"]
    ENERGIES[f"solid {shape} potential obstacle friction_terms friction"] = "; ".join(elements)
PAIR = "cloth/distance potential cloth/narrow_phase"
ENERGIES[f"{PAIR} cloth/energy"] = "CORNERS=4 DATA=3 COMMON=5"
ENERGIES[f"{PAIR} friction_terms cloth/friction"] = "CORNERS=4 DATA=14 COMMON=7 RENEWED"
# The detection of a pair, the last source of the module of contact.
DETECTION = "cloth/distance cloth/advance"
# Precisions: of vectors, of values.
PRECISIONS = {"f64": [("double", "double"), ("double", "float")], "f32": [("float", "float")]}


def variants(module, stored, gpu):
    """The build options of a module; see the functions `module` of crates/device."""
    slices, wide = ((32, 0) if gpu else (1, 1))
    values = f"STORED={stored}"
    contacts = ["", " CONTACT"]
    if module == "MATRIX":
        usual = f"{values} DSLICE={slices}"
        for b in (1, 3, 6):
            yield f"{usual} ROWS={b} COLS={b} SLICE={slices} ITEMS_PER_ROW=1"
        for more in ["CONTACT", "HALF", "RANGES"]:
            yield f"{usual} ROWS=3 COLS=3 SLICE={slices} ITEMS_PER_ROW=1 {more}"
        yield f"{usual} ROWS=6 COLS=3 SLICE={slices} ITEMS_PER_ROW=1"
        if gpu:
            yield f"{usual} ROWS=3 COLS=3 SLICE=1 ITEMS_PER_ROW=32"
            yield f"{usual} ROWS=6 COLS=6 SLICE=1 ITEMS_PER_ROW=32 CONTACT"
    elif module == "DIAGONAL":
        yield from (f"{values} SIZE={more} SLICE={slices} DSLICE={slices} TINY=1e-7" for more in ("1", "3 CONTACT", "6"))
    elif module == "GALERKIN":
        yield from (f"{values} B={b} K={k} ASLICE={slices} PSLICE={slices} CSLICE={slices}" for b, k in [(1, 1), (3, 3), (3, 6), (6, 6)])
    elif module == "FILTER":
        yield from (f"{values} SIZE={b} SLICE={slices}" for b in (3, 6))
    elif module == "ASSEMBLY":
        yield from (f"{values} BLOCK={b} SLICE={slices}" for b in (1, 3))
    elif module == "BLOCKS":
        yield from (f"{values} SIZE={b} DSLICE={slices}" for b in (1, 3, 6))
    elif module == "BORDER":
        yield "SIZE=3 ROWS=6"
    elif module == "SCHWARZ_NUMBERS":
        numbers = f"{values} VALUES={stored} WORK={stored} EPSILON=1e-7 TILES=12 SLICE={slices} WIDE={wide}"
        yield from (f"{numbers} BLOCK={more}" for more in ("1", "3", "3 CONTACT"))
    elif module == "SCHWARZ_STRUCTURE":
        structure = f"STORED=float VALUES={stored} TILES=1 SLICE={slices} NODES=32"
        yield from (f"{structure} BLOCK=3{c}" for c in contacts)
    elif module.startswith("ELEMENTS"):
        yield from (f"{own} EPSILON=1e-7 TINY=1e-37" for own in ENERGIES[module.removeprefix("ELEMENTS ")].split("; "))
    elif module == "CONTACT":
        yield "EPSILON=1e-7"
    elif module == "SORT":
        yield "CHUNK=32"
    elif module == "SCHWARZ":
        yield from (f"{values} BLOCK=3 TILES={tiles} WIDE={wide}" for tiles in (6, 12))
    else:
        yield values if module == "DENSE" else ""


def modules():
    """The sources of each module, as crates `kernels` lists them; those of elements with each energy."""
    listed = (KERNELS / "src/lib.rs").read_text().split("#[cfg(test)]")[0]
    single = dict(re.findall(r'const (\w+): &str = include_str!\("\.\./(.*?)"\)', listed))
    for name, parts in re.findall(r"pub const (\w+): \[&str; \d+\] =\s*\[(.*?)\];", listed, re.S):
        files = re.findall(r'include_str!\("\.\./(.*?)"\)|(\w+)', parts)
        sources = [(KERNELS / (file or single[const])).read_text() for file, const in files]
        if name == "ELEMENTS":
            yield from ((f"{name} {energy}", [*sources, *(SOURCES[file].read_text() for file in energy.split())]) for energy in ENERGIES)
        else:
            more = DETECTION.split() if name == "CONTACT" else []
            yield name, [*sources, *(SOURCES[file].read_text() for file in more)]


def programs(gpu):
    """Each module in each variant: its name, its precision, its sources and its definitions."""
    shape = "WIDTH=256 LANES=1" if gpu else "WIDTH=1 LANES=8"
    for name, sources in modules():
        for precision, types in PRECISIONS.items():
            options = [f"REAL={real} SUM=double DOUBLE {shape} {more}" for real, stored in types for more in variants(name, stored, gpu)]
            for option in dict.fromkeys(options):
                yield name, precision, sources, option.split()


@cache
def nvrtc():
    found = [file for path in sys.path for file in glob.glob(f"{path}/nvidia/cuda_nvrtc/lib/libnvrtc.so.1?")]
    return ctypes.CDLL(found[0] if found else "libnvrtc.so.12")


def log(program):
    """What NVRTC says of a program."""
    name, precision, sources, defined = program
    header = (HERE / "cuda/opencl.cuh").read_text()
    # As `spelled` of cuda/program.rs: CUDA has no `__local` pointers.
    text = header + "".join(re.sub(r"__local (?=\S+ \*)", "", source) + "\n" for source in sources)
    fused = str("FP_CONTRACT ON" in text).lower()
    options = ["--gpu-architecture=sm_90", "--std=c++17", "--device-as-default-execution-space", "--disable-warnings"]
    options += [f"--fmad={fused}", "--ptxas-options=-v", *(f"-D{d}" for d in defined)]
    handle, size = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc().nvrtcCreateProgram(ctypes.byref(handle), text.encode(), None, 0, None, None)
    status = nvrtc().nvrtcCompileProgram(handle, len(options), (ctypes.c_char_p * len(options))(*map(str.encode, options)))
    nvrtc().nvrtcGetProgramLogSize(handle, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    nvrtc().nvrtcGetProgramLog(handle, text)
    nvrtc().nvrtcDestroyProgram(ctypes.byref(handle))
    if status:
        raise SystemExit(f"{name} {precision} {' '.join(defined)}:\n{text.value.decode()}")
    return text.value.decode()


def resources():
    """For each kernel and precision: the most registers, local memory and spilled bytes."""
    found, everything = {}, list(programs(gpu=True))
    said = r"entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers"
    with ProcessPoolExecutor() as pool:
        for (_, precision, _, defined), text in zip(everything, pool.map(log, everything)):
            for kernel, *numbers in re.findall(said, text, re.S):
                local, stores, loads, registers = map(int, numbers)
                own = [registers, local, stores + loads]
                if own[2]:
                    print(f"{kernel} spills {own[2]} bytes with {' '.join(defined)}")
                found[kernel, precision] = list(map(max, found.get((kernel, precision), own), own))
    return found, len(everything)


def table(found):
    names = sorted({kernel for kernel, _ in found})
    declared = {name for file in KERNELS.rglob("*.cl") for name in re.findall(r"__kernel[^;{]*?void (\w+)\(", file.read_text())}
    if declared != set(names):
        sys.exit(f"in no program, or in no file of kernels/: {sorted(declared ^ set(names))}")
    lines = [f"{'':38}{'f64':>24}{'f32':>24}", f"{'':38}" + 2 * f"{'registers':>10}{'local':>7}{'spill':>7}"]
    for name in names:
        cells = (found.get((name, precision), [0, 0, 0]) for precision in PRECISIONS)
        lines.append(f"{name:38}" + "".join(f"{r:10}{local:7}{spill:7}" for r, local, spill in cells))
    return "\n".join(lines) + "\n"


def platform_times():
    """The most seconds that the first platform with a processor takes to build a variant, for each module."""
    try:
        cl = ctypes.CDLL("libOpenCL.so.1")
    except OSError:
        return {}
    for call in ("clCreateContext", "clCreateProgramWithSource"):
        getattr(cl, call).restype = ctypes.c_void_p
    platforms, device, count = (ctypes.c_void_p * 8)(), ctypes.c_void_p(), ctypes.c_uint()
    cl.clGetPlatformIDs(8, platforms, ctypes.byref(count))
    if not any(cl.clGetDeviceIDs(ctypes.c_void_p(p), ctypes.c_ulong(2), 1, ctypes.byref(device), None) == 0 for p in platforms[: count.value]):
        return {}
    context = ctypes.c_void_p(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, None))
    most = {}
    for name, _, sources, defined in programs(gpu=False):
        texts = (ctypes.c_char_p * len(sources))(*(source.encode() for source in sources))
        program = ctypes.c_void_p(cl.clCreateProgramWithSource(context, len(sources), texts, None, None))
        options = "-w -cl-std=CL1.2 -cl-kernel-arg-info " + " ".join(f"-D {d}" for d in defined)
        start = time.process_time()
        status = cl.clBuildProgram(program, 1, ctypes.byref(device), options.encode(), None, None)
        if status:
            sys.exit(f"{name} {options}: clBuildProgram returned {status}")
        most[name] = max(most.get(name, 0.0), time.process_time() - start)
        cl.clReleaseProgram(program)
    return most


def main():
    start = time.monotonic()
    found, count = resources()
    print(f"{count} programs for sm_90: {time.monotonic() - start:.1f} s")
    new, old = table(found), TABLE.read_text() if TABLE.exists() else ""
    failed = any(spill for _, _, spill in found.values())
    if "--write" in sys.argv[1:]:
        TABLE.write_text(new)
    elif new != old:
        sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "resources.txt", "now", n=0))
        print("other resources than in benches/gpu/resources.txt; if they are meant, run benches/gpu/resources.py --write")
        failed = True
    times = platform_times()
    for name, seconds in sorted(times.items(), key=lambda item: -item[1])[:3]:
        print(f"{name}: built on a processor in {seconds:.2f} s")
    if not times:
        print("no OpenCL platform for processors: times of builds are not tested")
    slow = [name for name, seconds in times.items() if seconds > SECONDS]
    if slow:
        print(f"more than {SECONDS} s to build: {slow}")
    sys.exit(failed or bool(slow))


main()
