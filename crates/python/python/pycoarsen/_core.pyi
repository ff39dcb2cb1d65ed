"""The extension module, written in Rust. Use `pycoarsen` itself."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

__version__: str

class SolveError(RuntimeError):
    """A solve that does not reach its tolerance. The message gives the cause and a remedy."""

    x: Vector
    report: Any

class SetupError(ValueError):
    """A matrix of which a preconditioner or a factor cannot be built. The message gives the row or node and a remedy."""

class Structure: ...

class Matrix:
    def __new__(
        cls,
        shape: tuple[int, int],
        block: tuple[int, int],
        indptr: NDArray[Any],
        indices: NDArray[Any],
        data: Vector,
        like: Structure | None = None,
        threads: int | None = None,
    ) -> Matrix: ...
    @property
    def structure(self) -> Structure: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def block(self) -> tuple[int, int]: ...
    @property
    def nnz(self) -> int: ...
    def detect_block_size(self, threads: int | None = None) -> int: ...
    def reblock(self, size: int, threads: int | None = None) -> Matrix: ...
    def apply(self, x: Vector, threads: int | None = None) -> Vector: ...
    def arrays(self) -> tuple[NDArray[Any], NDArray[Any], Vector]: ...

class Preconditioner:
    @property
    def size(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def levels(self) -> tuple[int, float, str] | None: ...
    def apply(self, r: Vector, threads: int | None = None) -> Vector: ...
    def update(self, matrix: Matrix, threads: int | None = None) -> str: ...

class Constraints:
    def __new__(cls, nodes: int, block: int) -> Constraints: ...
    @property
    def nodes(self) -> int: ...
    @property
    def block(self) -> int: ...
    def __len__(self) -> int: ...
    def clear(self) -> None: ...
    def point(self, node: int, value: Vector) -> None: ...
    def line(self, node: int, direction: Vector, value: Vector) -> None: ...
    def plane(self, node: int, normal: Vector, offset: float) -> None: ...
    def fix(self, unknowns: Sequence[int], values: Vector) -> None: ...
    def equation(self, terms: Sequence[tuple[int, Sequence[float]]], value: float) -> None: ...
    def rows_of(self, c: Matrix, values: Vector) -> None: ...
    def vertex_face(
        self,
        vertex: int,
        face: tuple[int, int, int],
        weights: tuple[float, float, float],
        normal: Vector,
        gap: float,
    ) -> None: ...
    def edge_edge(
        self,
        first: tuple[int, int],
        second: tuple[int, int],
        at: tuple[float, float],
        normal: Vector,
        gap: float,
    ) -> None: ...

class Solver:
    def __new__(
        cls,
        matrix: Matrix,
        method: str = "auto",
        rtol: float = 1e-8,
        maxiter: int = 5000,
        memory: int | None = None,
        single: bool = True,
        coordinates: Vector | None = None,
        near_kernel: Vector | None = None,
        constraints: Constraints | None = None,
        threads: int | None = None,
    ) -> Solver: ...
    def update(self, matrix: Matrix, constraints: Constraints | None = None) -> None: ...
    def solve(self, b: Vector, x: Vector | None = None) -> tuple[Vector, dict[str, Any]]: ...
    def solve_many(self, b: list[Vector], x: list[Vector]) -> list[tuple[Vector, dict[str, Any]]]: ...
    def kept(self) -> tuple[str, str] | None: ...

def precondition(
    name: str,
    matrix: Matrix,
    options: dict[str, Any],
    coordinates: Vector | None = None,
    near_kernel: Vector | None = None,
    threads: int | None = None,
) -> Preconditioner: ...
def solve_krylov(
    call: dict[str, Any],
    a: Matrix | Callable[[Vector], Vector],
    m: Preconditioner | Callable[[Vector], Vector] | None,
    b: Vector,
    x: Vector | None,
    null_space: list[Vector] | None = None,
    callback: Callable[..., object] | None = None,
    threads: int | None = None,
) -> tuple[Vector, dict[str, Any]]: ...
def minimize(
    call: dict[str, Any],
    functions: dict[str, Any],
    x: Vector,
    m: Preconditioner | Callable[[Vector], Vector] | None = None,
    preconditioner: tuple[str, dict[str, Any]] | None = None,
    coordinates: Vector | None = None,
    near_kernel: Vector | None = None,
    threads: int | None = None,
) -> tuple[Vector, dict[str, Any]]: ...
def read(path: str, threads: int | None = None) -> Matrix: ...
def diagnose(matrix: Matrix, threads: int | None = None) -> dict[str, Any]: ...

# The parts of `pycoarsen.pyamg`.

class Relaxation:
    @staticmethod
    def nothing(a: Matrix) -> Relaxation: ...
    @staticmethod
    def sweeps(a: Matrix, size: int, omega: float, sweep: str, iterations: int) -> Relaxation: ...
    @staticmethod
    def jacobi(a: Matrix, size: int, omega: float, iterations: int) -> Relaxation: ...
    @staticmethod
    def polynomial(a: Matrix, coefficients: Sequence[float], iterations: int) -> Relaxation: ...
    @staticmethod
    def normal(a: Matrix, of: str, omega: float, sweep: str, iterations: int) -> Relaxation: ...
    @staticmethod
    def schwarz(a: Matrix, domains: Matrix | None, sweep: str, iterations: int) -> Relaxation: ...
    @staticmethod
    def krylov(a: Matrix, name: str, tolerance: float, most: int, restart: int) -> Relaxation: ...
    @staticmethod
    def factor(a: Matrix, name: str) -> Relaxation: ...
    @staticmethod
    def pseudo_inverse(a: Matrix, absolute: float, relative: float | None) -> Relaxation: ...
    @staticmethod
    def called(a: Matrix, f: Callable[[Vector], Vector]) -> Relaxation: ...
    def run(self, b: Vector, x: Vector) -> Vector: ...

class Levels:
    def __new__(
        cls,
        levels: Sequence[tuple[Matrix, Matrix, Matrix, Relaxation, Relaxation]],
        last: Matrix,
        coarsest: Relaxation,
    ) -> Levels: ...
    def apply(self, cycle: str, after: int, b: Vector) -> Vector: ...
    def solve(
        self,
        cycle: str,
        after: int,
        b: Vector,
        x: Vector,
        tolerance: float,
        most: int,
        callback: Callable[[Vector], object] | None = None,
    ) -> tuple[Vector, list[float], str]: ...
    def accelerate(
        self,
        method: str,
        cycle: str,
        after: int,
        b: Vector,
        x: Vector,
        tolerance: float,
        most: int,
        restart: int,
        callback: Callable[[Vector], object] | None = None,
    ) -> tuple[Vector, list[float], str]: ...

def strength_symmetric(a: Matrix, theta: float, blocks: bool) -> Matrix: ...
def strength_classical(a: Matrix, theta: float, norm: str) -> Matrix: ...
def strength_evolution(
    a: Matrix,
    b: Vector,
    vectors: int,
    radius: float,
    epsilon: float,
    steps: int,
    weighted: bool,
    symmetrised: bool,
) -> Matrix: ...
def without_dominant(a: Matrix, c: Matrix, theta: float) -> Matrix: ...
def aggregate(c: Matrix, naive: bool) -> tuple[NDArray[Any], NDArray[Any]]: ...
def cluster(
    g: Matrix, centres: NDArray[Any], rounds: int, rebalances: int | None
) -> tuple[NDArray[Any], NDArray[Any]]: ...
def tentative(aggregates: NDArray[Any], count: int, b: Vector, vectors: int, spanned: float) -> tuple[Matrix, Vector]: ...
def spectral_radius(a: Matrix, by: str) -> float: ...
def smooth(a: Matrix, t: Matrix, omega: float, by: str, degree: int) -> Matrix: ...
def filtered(a: Matrix, c: Matrix) -> Matrix: ...
def smooth_with_constraints(
    a: Matrix, t: Matrix, omega: float, by: str, degree: int, b: Vector, vectors: int
) -> Matrix: ...
def smooth_by_energy(
    a: Matrix,
    t: Matrix,
    c: Matrix,
    b: Vector,
    vectors: int,
    krylov: str,
    steps: int,
    tolerance: float,
    degree: int,
    by: str,
) -> Matrix: ...
def transpose(a: Matrix) -> Matrix: ...
def galerkin(a: Matrix, p: Matrix) -> Matrix: ...
def triple(r: Matrix, a: Matrix, p: Matrix) -> Matrix: ...
def split(c: Matrix, second_pass: bool) -> NDArray[Any]: ...
def interpolate(a: Matrix, c: Matrix, coarse: NDArray[Any], by: str) -> Matrix: ...
def iterate(
    method: str,
    a: Matrix | Callable[[Vector], Vector],
    m: Callable[[Vector], Vector] | None,
    b: Vector,
    x: Vector,
    tolerance: float,
    most: int,
    restart: int,
    callback: Callable[[Vector], object] | None = None,
) -> tuple[Vector, list[float], str]: ...
