//! The gallery is compared with the Python generator of the matrices on which other libraries were measured.
//!
//! NumPy 2.4, SciPy and PyAMG 5.4 print each fingerprint from the matrix A of the generator, for
//! example `A, X, B = elast3d(6)`:
//!
//! ```text
//! c = A.tocoo(); i = A.shape[0] // 2
//! print(A.shape[0], A.nnz, A.diagonal().sum(), np.sqrt((A.data**2).sum()))
//! print((c.data * np.sin(c.row + 2.0 * c.col)).sum())           # notices any permutation
//! print([(i, j, A[i, j]) for j in (i, the two largest beside it)], X[i // 3], B[i // 3 * 3])
//! ```
//!
//! Cloth agrees less closely than the other problems: the generator subtracts positions of order 1 after
//! scaling them by 1 / h.

use coarsen_problems::{Options, Problem};

/// No options.
const NONE: Options = Options { dt: None, jump: None, share: None };

struct Fingerprint {
    spec: &'static str,
    options: Options,
    size: usize,
    nnz: usize,
    trace: f64,
    norm: f64,
    sines: f64,
    entries: [(usize, usize, f64); 3],
    /// A node with its position and the first row of its near-kernel.
    node: Option<(usize, [f64; 3], [f64; 6])>,
}

#[test]
fn problems_equal_those_of_the_peers() {
    for f in FINGERPRINTS {
        let p = Problem::parse(f.spec, &f.options).unwrap();
        let a = &p.matrix;
        let name = &p.name;
        assert_eq!((a.shape(), a.nnz()), ((f.size, f.size), f.nnz), "{name}");

        let norm = a.values().iter().map(|v| v * v).sum::<f64>().sqrt();
        let trace: f64 = a.diagonal().iter().sum();
        let (b, mut sines) = (a.block().0, 0.0);
        for (i, (j, block)) in (0..a.pattern().rows()).flat_map(|i| a.row(i).map(move |r| (i, r))) {
            for (e, v) in block.iter().enumerate() {
                sines += v * ((i * b + e / b) as f64 + 2.0 * (j * b + e % b) as f64).sin();
            }
        }
        let close = |what: &str, x: f64, y: f64, scale: f64| {
            assert!((x - y).abs() <= 1e-12 * scale, "{name}: {what} {x:e}, in Python {y:e}");
        };
        close("trace", trace, f.trace, f.trace);
        close("norm", norm, f.norm, f.norm);
        close("sines", sines, f.sines, f.trace);
        for (i, j, v) in f.entries {
            close("entry", a.get(i, j), v, (a.get(i, i) * a.get(j, j)).sqrt());
        }
        if let Some((node, position, modes)) = f.node {
            (0..3).for_each(|c| close("position", p.positions[node][c], position[c], 1.0));
            (0..6).for_each(|m| close("mode", p.near_kernel.row(3 * node)[m], modes[m], 1.0));
        }
    }
}

const FINGERPRINTS: [Fingerprint; 8] = [
    Fingerprint {
        spec: "poisson2d:12",
        options: NONE,
        size: 144,
        nnz: 672,
        trace: 576.0,
        norm: 53.21653878260028,
        sines: 1.365206370383686,
        entries: [(72, 60, -1.0), (72, 72, 4.0), (72, 73, -1.0)],
        node: None,
    },
    Fingerprint {
        spec: "poisson3d:10",
        options: NONE,
        size: 1000,
        nnz: 6400,
        trace: 6000.0,
        norm: 203.46989949375805,
        sines: -0.09482644429663445,
        entries: [(500, 400, -1.0), (500, 500, 6.0), (500, 501, -1.0)],
        node: None,
    },
    Fingerprint {
        spec: "anisotropic2d:16",
        options: NONE,
        size: 256,
        nnz: 2116,
        trace: 341.6746666666667,
        norm: 24.693624021164066,
        sines: -0.6008934981163777,
        entries: [
            (128, 128, 1.3346666666666664),
            (128, 129, -0.4165833333333333),
            (128, 145, -0.38312317792849687),
        ],
        node: None,
    },
    Fingerprint {
        spec: "jump3d:16",
        options: NONE,
        size: 4096,
        nnz: 27136,
        trace: 1737221639.8117185,
        norm: 46873750.97346559,
        sines: 485135.17747369985,
        entries: [
            (2048, 1792, -125.07694307449336),
            (2048, 2048, 567.762904241153),
            (2048, 2049, -63.24085159523709),
        ],
        node: None,
    },
    Fingerprint {
        spec: "elasticity3d:6",
        options: NONE,
        size: 882,
        nnz: 51984,
        trace: 18615384.615384612,
        norm: 784947.4046551483,
        sines: 34299.62397488924,
        entries: [
            (441, 294, -1780.6267806267804),
            (441, 441, 7834.757834757834),
            (441, 588, -1780.6267806267804),
        ],
        node: Some((147, [0.6666666666666666, 0.0, 0.0], [1.0, 0.0, 0.0, 0.5, 0.0, -0.5])),
    },
    Fingerprint {
        spec: "elasticity3d:10",
        options: Options { jump: Some(1e4), ..NONE },
        size: 3630,
        nnz: 242172,
        trace: 401936474358.97437,
        norm: 9110453078.287436,
        sines: -33970894.9052248,
        entries: [
            (1815, 1452, -10683760.683760686),
            (1815, 1815, 47008547.00854701),
            (1815, 2178, -10683760.683760686),
        ],
        node: Some((
            605,
            [0.6000000000000001, 0.0, 0.0],
            [1.0, 0.0, 0.0, 0.4999999999999997, 0.0, -0.4999999999999999],
        )),
    },
    Fingerprint {
        spec: "cloth:21",
        options: Options { dt: Some(0.002), ..NONE },
        size: 1323,
        nnz: 37017,
        trace: 163.72094883524414,
        norm: 11.33100367981145,
        sines: -0.10563806484147044,
        entries: [
            (661, 658, -0.019874534020986302),
            (661, 661, 0.0484896336271782),
            (661, 664, -0.019858208112072378),
        ],
        node: Some((
            220,
            [0.4996587552195196, 0.49910224489832733, -0.05770504405042127],
            [1.0, 0.0, 0.0, 0.0008456227358472623, 0.0, -0.02148620051648368],
        )),
    },
    Fingerprint {
        spec: "cloth:21",
        options: Options { dt: Some(0.01), ..NONE },
        size: 1323,
        nnz: 37017,
        trace: 1055.3437208811038,
        norm: 39.98551026134822,
        sines: -0.25172819049383055,
        entries: [
            (661, 658, -0.4968633505246576),
            (661, 661, 1.1962408406794551),
            (661, 664, -0.49645520280180944),
        ],
        node: Some((
            220,
            [0.4996587552195196, 0.49910224489832733, -0.05770504405042127],
            [1.0, 0.0, 0.0, 0.0008456227358472623, 0.0, -0.02148620051648368],
        )),
    },
];
