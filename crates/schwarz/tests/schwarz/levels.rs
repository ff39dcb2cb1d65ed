//! Levels that the caller builds: nodes in no domain are solved by their diagonal blocks, and bad input is refused.

use coarsen_backend::{Cpu, Reference, SetupError};
use coarsen_core::{Error, Preconditioner};
use coarsen_schwarz::{Coarse, Level, Schwarz, Storage, Subdomains};
use coarsen_sparse::{Bsr, assembly};

/// A path of 7 nodes, then a node without couplings.
fn matrix() -> Bsr<f64> {
    let mut entries: Vec<(u32, u32, f64)> = (0..8).map(|i| (i, i, 2.0 + f64::from(i))).collect();
    entries.extend((1..7).flat_map(|i| [(i, i - 1, -1.0), (i - 1, i, -1.0)]));
    assembly::from_triplets(8, 8, &entries).unwrap()
}

const COUPLED: [bool; 8] = [true, true, true, true, true, true, true, false];

fn parameters() -> Schwarz {
    Schwarz { domain: 4, storage: Storage::Double, ..Schwarz::multilevel() }
}

fn level<'a>(matrix: &'a Bsr<f64>, sizes: &'a [f64]) -> Level<'a, f64> {
    Level { matrix, coupled: &COUPLED, sizes }
}

fn update(m: &mut Subdomains<f64, Cpu<f64>>, level: &Level<'_, f64>) -> Result<(), SetupError> {
    m.check_level(level)?;
    m.renew_level(level)
}

/// On the finest level and on a coarse one, before and after an update.
#[test]
fn nodes_in_no_domain_are_solved_by_their_diagonal() {
    let a = matrix();
    let mut doubled = a.clone();
    doubled.values_mut().iter_mut().for_each(|v| *v *= 2.0);
    for sizes in [vec![], vec![20.0; 8]] {
        let mut m = parameters().build_level(&level(&a, &sizes), &Cpu::new()).unwrap();
        for (matrix, scale) in [(&a, 1.0), (&doubled, 2.0), (&a, 1.0)] {
            update(&mut m, &level(matrix, &sizes)).unwrap();
            let mut z = vec![f64::NAN; 8];
            m.apply(&vec![1.0; 8], &mut z);
            assert!((z[7] - 1.0 / (9.0 * scale)).abs() < 1e-15, "{z:?}");
            assert!(z.iter().all(|z| z.is_finite() && *z > 0.0), "{z:?}");
        }
        let at = a.pattern().find(7, 7).unwrap();
        for (value, error) in [
            (0.0, SetupError::ZeroDiagonal { row: 7, method: "multilevel additive schwarz" }),
            (-1.0, SetupError::NotPositive { row: 7, method: "multilevel additive schwarz", diagonal: -1.0 }),
        ] {
            let mut broken = a.clone();
            broken.values_mut()[at] = value;
            assert_eq!(
                parameters().build_level(&level(&broken, &sizes), &Cpu::new()).map(drop),
                Err(error.clone())
            );
            assert_eq!(update(&mut m, &level(&broken, &sizes)), Err(error));
        }
    }
}

/// Sums over domains and their transpose, on both backends of the host; nodes in no domain are left out.
#[test]
fn sums_over_domains_go_to_levels_of_the_caller() {
    let a = matrix();
    let r: Vec<f64> = (0..8).map(|i| f64::from(1 << i)).collect();
    let of = |carry: &mut dyn FnMut(&Vec<f64>, &mut [f64], &mut Vec<f64>)| {
        let (mut sums, mut z) = (vec![f64::NAN; 2], vec![0.5; 8]);
        carry(&r, &mut sums, &mut z);
        (sums, z)
    };
    let (mut cpu, mut loops) = (
        parameters().build_level(&level(&a, &[]), &Cpu::new()).unwrap(),
        parameters().build_level(&level(&a, &[]), &Reference::default()).unwrap(),
    );
    let plan = cpu.plan().clone();
    assert_eq!(plan.domains(0), 2);
    let found = of(&mut |r, sums, z| {
        cpu.restrict(r, sums);
        cpu.prolong(&[10.0, 20.0], z);
    });
    let by_loops = of(&mut |r, sums, z| {
        loops.restrict(r, sums);
        loops.prolong(&[10.0, 20.0], z);
    });
    assert_eq!(found, by_loops);
    for d in 0..2 {
        let members = plan.members(0, d);
        assert_eq!(found.0[d], members.iter().map(|&i| r[i as usize]).sum::<f64>());
        assert!(members.iter().all(|&i| found.1[i as usize] == 0.5 + 10.0 * (d as f64 + 1.0)));
    }
    assert_eq!(found.1[7], 0.5);
}

#[test]
fn slices_of_other_lengths_are_refused() {
    let (a, backend, sizes) = (matrix(), Cpu::<f64, f64>::new(), [20.0; 9]);
    let shape = |what, expected, found| SetupError::from(Error::Shape { what, expected, found });
    let (nodes, unknowns) = ("coupled (one per block row)", "sizes (one per unknown, or none)");
    for (coupled, sizes, error) in [
        (&COUPLED[..7], &sizes[..0], shape(nodes, 8, 7)),
        (&COUPLED[..0], &sizes[..8], shape(nodes, 8, 0)),
        (&COUPLED[..], &sizes[..], shape(unknowns, 8, 9)),
        (&COUPLED[..], &sizes[..3], shape(unknowns, 8, 3)),
    ] {
        let level = Level { matrix: &a, coupled, sizes };
        assert_eq!(parameters().build_level(&level, &backend).map(drop), Err(error.clone()));
        assert_eq!(parameters().build_coarse(&level, 0, &backend).map(drop), Err(error));
    }
    let mut m = parameters().build_level(&level(&a, &sizes[..8]), &backend).unwrap();
    assert_eq!(update(&mut m, &level(&a, &[])), Err(shape("sizes (those of the build)", 8, 0)));
}

/// A factor of a finest level, which has no sizes, is A⁻¹; an update refuses another pattern.
#[test]
fn a_factor_needs_no_sizes() {
    let (a, backend) = (matrix(), Cpu::<f64, f64>::new());
    let exact = Schwarz { coarse: Coarse::Exact { unknowns: 8 }, ..parameters() };
    let mut m =
        exact.build_coarse(&Level { matrix: &a, coupled: &COUPLED, sizes: &[] }, 0, &backend).unwrap();
    assert_eq!(m.levels(), 0);
    let (mut r, mut z) = (vec![0.0; 8], vec![0.0; 8]);
    (0..8).for_each(|i| r[i] = a.pattern().range(i).map(|k| a.value(k)[0]).sum());
    m.apply(&r, &mut z);
    assert!(z.iter().all(|z| (z - 1.0).abs() < 1e-14), "{z:?}");
    let diagonal = assembly::from_triplets(8, 8, &(0..8).map(|i| (i, i, 1.0)).collect::<Vec<_>>()).unwrap();
    let other = Level { matrix: &diagonal, coupled: &COUPLED, sizes: &[] };
    assert_eq!(m.update(&other), Err(Error::Pattern { what: "the level" }.into()));
}

/// Domains of new values never stay beside the factor of old ones: if the coarsest level can no longer be factored, an
/// update is a build.
#[test]
fn levels_without_a_factor_are_built_again() {
    let n = 200;
    let chain = |inside: f64, across: f64| {
        let coupling = |i: u32| if i % 16 == 15 { across } else { inside };
        let diagonal = (0..n).map(|i| (i, i, 2.5));
        let coupled = (1..n).flat_map(|i| [(i, i - 1, coupling(i - 1)), (i - 1, i, coupling(i - 1))]);
        assembly::from_triplets(n as usize, n as usize, &diagonal.chain(coupled).collect::<Vec<_>>()).unwrap()
    };
    let (sound, indefinite) = (chain(-1.0, -1.0), chain(-0.5, -100.0));
    let coupled = vec![true; n as usize];
    let level = |matrix| Level { matrix, coupled: &coupled, sizes: &[] };
    let parameters = Schwarz { domain: 16, coarse: Coarse::Exact { unknowns: 100 }, ..parameters() };
    let r: Vec<f64> = (0..n).map(|i| f64::from(i % 7) - 3.0).collect();
    let applied = |m: &mut coarsen_schwarz::LevelSolver<f64, f64, f64>| {
        let mut z = vec![f64::NAN; r.len()];
        m.apply(&r, &mut z);
        z
    };
    let mut m = parameters.build_coarse(&level(&sound), 0, &Cpu::new()).unwrap();
    let mut rebuilt = parameters.build_coarse(&level(&indefinite), 0, &Cpu::new()).unwrap();
    m.update(&level(&indefinite)).unwrap();
    assert_eq!(applied(&mut m), applied(&mut rebuilt));
}
