//! Properties of every problem of the gallery.

use coarsen_core::parallel;
use coarsen_problems::{Options, Problem};
use coarsen_sparse::Bsr;

/// Every problem with every option, in a size that is small enough for dense checks.
fn small() -> Vec<Problem> {
    let usual = Options::default();
    let jump = Options { jump: Some(1e4), ..usual };
    let long = Options { dt: Some(0.01), ..usual };
    [
        ("poisson2d:1", usual),
        ("poisson2d:13", usual),
        ("poisson3d:6", usual),
        ("anisotropic2d:13", usual),
        ("jump3d:8", usual),
        ("elasticity3d:1", usual),
        ("elasticity3d:4", usual),
        ("elasticity3d:5", jump),
        ("cloth:3", usual),
        ("cloth:11", usual),
        ("cloth:11", long),
        ("graph:1", usual),
        ("graph:400", usual),
    ]
    .map(|(spec, options)| Problem::parse(spec, &options).unwrap())
    .into()
}

/// Problems on meshes, which sum their elements in no fixed order. `which` selects the file, since parallel
/// tests must use different files.
fn on_meshes(which: usize) -> Vec<Problem> {
    let long = Options { dt: Some(0.1), ..Options::default() };
    let folded = folded(which);
    [("softbody:3", long), (&folded, long), (&format!("{folded}@1@1.5"), long)]
        .map(|(spec, options)| Problem::parse(spec, &options).unwrap())
        .into()
}

#[test]
fn matrices_on_meshes_are_symmetric_to_round_off() {
    for p in on_meshes(0) {
        assert_eq!(p.matrix.asymmetric_pair(1e-12), None, "{}", p.name);
    }
}

/// The name `garment:FILE` of a strip of cloth that is folded into two close layers.
pub(crate) fn folded(which: usize) -> String {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("folded_{}_{which}.obj", std::process::id()));
    let mut text = String::new();
    for i in 0..6 {
        let (x, z) = if i < 3 { (i, 0.0) } else { (5 - i, 0.3) };
        (0..3).for_each(|y| text += &format!("v {x} {y} {z}\n"));
    }
    for (i, y) in (0..5).flat_map(|i| (1..3).map(move |y| (i, y))) {
        let at = 3 * i + y;
        text += &format!("f {at} {} {}\nf {} {} {}\n", at + 3, at + 1, at + 1, at + 3, at + 4);
    }
    std::fs::write(&file, text).unwrap();
    format!("garment:{}", file.display())
}

/// Contact springs couple close layers along their normal.
#[test]
fn contact_joins_what_is_near() {
    let usual = Options::default();
    let [free, joined] =
        [folded(2), format!("{}@0@0.5", folded(3))].map(|s| Problem::parse(&s, &usual).unwrap());
    assert!(joined.matrix.pattern().len() > free.matrix.pattern().len());
    // Vertices 0 and 15 are 0.3 apart and share no edge.
    let (low, high) = (0, 15);
    assert!(free.matrix.pattern().find(low, high).is_none());
    let at = joined.matrix.pattern().find(low, high).unwrap();
    let block = joined.matrix.value(at);
    assert!(block[8] < 0.0 && block[0] == 0.0 && block[4] == 0.0, "{block:?}");
    for reach in ["-1", "1e-300", "1000", "nan", "inf"] {
        assert!(Problem::parse(&format!("{}@0@{reach}", folded(3)), &usual).is_err(), "{reach}");
    }
}

#[test]
fn matrices_are_symmetric_to_the_bit() {
    for p in small() {
        let (a, b) = (&p.matrix, p.matrix.block().0);
        assert!(a.pattern().is_symmetric(), "{}", p.name);
        for (i, j) in
            (0..a.pattern().rows()).flat_map(|i| a.pattern().row(i).iter().map(move |&j| (i, j as usize)))
        {
            for (r, c) in (0..b * b).map(|e| (i * b + e / b, j * b + e % b)) {
                assert_eq!(a.get(r, c).to_bits(), a.get(c, r).to_bits(), "{}: ({r}, {c})", p.name);
            }
        }
    }
}

/// A = L Lᵀ exists if and only if A is positive definite (Golub & Van Loan 2013, §4.2).
#[test]
fn matrices_are_positive_definite() {
    for p in small().into_iter().chain(on_meshes(1)) {
        let a = &p.matrix;
        a.check_finite().unwrap();
        let n = a.shape().0;
        let mut l = dense(a);
        for j in 0..n {
            let pivot = l[j * n + j] - (0..j).map(|k| l[j * n + k] * l[j * n + k]).sum::<f64>();
            assert!(pivot > 1e-12 * a.get(j, j), "{}: pivot {pivot:e} in row {j}", p.name);
            l[j * n + j] = pivot.sqrt();
            for i in j + 1..n {
                let sum: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
                l[i * n + j] = (l[i * n + j] - sum) / l[j * n + j];
            }
        }
    }
}

fn dense(a: &Bsr<f64>) -> Vec<f64> {
    let n = a.shape().0;
    (0..n * n).map(|k| a.get(k / n, k % n)).collect()
}

#[test]
fn parts_belong_together() {
    for p in small() {
        p.system().check().unwrap();
        assert_eq!(p.right_hand_side(1).len(), p.matrix.shape().0);
        assert!(p.positions.as_flattened().iter().all(|x| (-0.1..=1.1).contains(x)), "{}", p.name);
        assert!(p.near_kernel.values().iter().all(|v| v.is_finite()), "{}", p.name);
    }
}

/// Near-kernel vectors cause no force at nodes that have neither a constraint nor inertia.
#[test]
fn near_kernels_are_right() {
    for p in small() {
        let free = p.near_kernel.quality(&p.matrix).unwrap().into_iter().filter_map(|q| q.free);
        for quality in free {
            assert!(quality < 1e-6, "{}: {quality:e}", p.name);
        }
    }
    for (spec, options) in [
        ("poisson3d:6", Options::default()),
        ("jump3d:8", Options::default()),
        ("elasticity3d:5", Options { jump: Some(1e4), ..Options::default() }),
    ] {
        let p = Problem::parse(spec, &options).unwrap();
        assert!(p.near_kernel.quality(&p.matrix).unwrap().iter().all(|q| q.free.is_some()), "{spec}");
    }
}

#[test]
fn threads_do_not_change_bits() {
    for spec in
        ["poisson3d:30", "jump3d:24", "elasticity3d:15", "cloth:60", "anisotropic2d:120", "graph:10000"]
    {
        let make = || Problem::parse(spec, &Options::default()).unwrap();
        let one = parallel::threads(1, make).unwrap();
        for n in [2, 7] {
            let many = parallel::threads(n, make).unwrap();
            assert!(one.matrix == many.matrix && one.positions == many.positions, "{spec}");
        }
    }
}
