//! Setups that are cancelled between their steps, and the state that they leave.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use coarsen::Cancel;
use coarsen::backend::{SetupError, Smoother};
use coarsen::multigrid::{Grid, SmootherParameters, Smoothing};
use coarsen::prelude::*;
use coarsen::schwarz::{AdditiveSchwarz, DampedDomains, Inner};

use crate::common::{
    applied, noise, problem, small_embedding, small_mas, small_overlapping, small_sa, small_skinning,
};

fn stops<R: Setup<f64, Cpu<f64, f64>>>(parameters: &R) {
    stops_on(parameters, "elasticity3d:5");
}

/// A build and an update are cancelled. Afterwards the earlier preconditioner gives the same bits as before.
fn stops_on<R: Setup<f64, Cpu<f64, f64>>>(parameters: &R, name: &str) {
    let p = problem(name);
    let (cancel, backend) = (Cancel::new(), Cpu::new());
    let system = System { cancel: Some(&cancel), ..p.system() };
    cancel.cancel();
    assert_eq!(parameters.build(system, &backend).err(), Some(SetupError::Cancelled));
    cancel.reset();
    let mut m = parameters.build(system, &backend).unwrap_or_else(|e| panic!("{e}"));
    let r = noise(p.matrix.shape().0, 1);
    let before = applied(&mut m, &r);
    let mut changed = p.matrix.clone();
    changed.values_mut().iter_mut().for_each(|v| *v *= 1.5);
    let next = System { matrix: &changed, ..system };
    cancel.cancel();
    assert_eq!(m.update(next).err(), Some(SetupError::Cancelled));
    let all: Vec<u32> = (0..changed.pattern().rows() as u32).collect();
    assert_eq!(m.patch(next, &all).err(), Some(SetupError::Cancelled));
    assert_eq!(applied(&mut m, &r), before);
    cancel.reset();
    m.update(next).unwrap();
    let after = applied(&mut m, &r);
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
    let off = norm(&mut before.iter().zip(&after).map(|(before, after)| before / 1.5 - after));
    assert!(off <= 1e-3 * norm(&mut after.iter().copied()), "{off:e}");
}

#[test]
fn cancelled_setups_leave_what_was_there() {
    stops(&small_sa(Cycle::V));
    stops(&Multigrid { keep: Keep::Nothing, ..small_sa(Cycle::V) });
    stops(&Multigrid { keep: Keep::Aggregates, ..small_sa(Cycle::V) });
    stops(&small_skinning(&problem("elasticity3d:5").matrix));
    stops(&small_embedding(&problem("elasticity3d:5").matrix));
    stops(&small_mas());
    stops(&AdditiveSchwarz::overlapping());
    for inner in [Inner::Inverses, Inner::Sweeps { pairs: 2 }, Inner::Factors] {
        stops(&small_overlapping(inner));
    }
    stops(&DampedDomains { schwarz: small_mas(), ..DampedDomains::default() });
    stops(&Ic0::default());
    stops(&Ilu0);
    stops(&Chebyshev::default());
    stops_on(&Multigrid { keep: Keep::Aggregates, ..ruge_stueben() }, "poisson2d:40");
}

static RAISED: Cancel = Cancel::new();
static DEEPEST: AtomicUsize = AtomicUsize::new(0);

/// A coarsening that raises the flag on the second level.
#[derive(Clone)]
struct Raising;

impl SmootherParameters for Raising {
    fn smoother(
        &self,
        grid: &Grid<'_, f64>,
        backend: &Cpu<f64, f64>,
    ) -> Result<Box<dyn Smoother>, SetupError> {
        DEEPEST.fetch_max(grid.depth, Relaxed);
        if grid.depth == 1 {
            RAISED.cancel();
        }
        Smoothing::Chebyshev(Chebyshev::default()).smoother(grid, backend)
    }
}

#[test]
fn a_build_that_has_begun_ends_at_its_next_step() {
    let p = problem("poisson2d:60");
    let Multigrid { coarsening, cycle, levels, keep, coarsest, .. } = small_sa(Cycle::V);
    let parameters =
        Multigrid { coarsening, smoothing: Raising, cycle, levels, keep, coarsest, coarse_size: 10 };
    let system = System { cancel: Some(&RAISED), ..p.system() };
    assert!(parameters.build(p.system(), &Cpu::new()).unwrap().levels() > 3); // this smoother does not check the flag
    RAISED.reset();
    DEEPEST.store(0, Relaxed);
    assert_eq!(parameters.build(system, &Cpu::new()).err(), Some(SetupError::Cancelled));
    assert_eq!(DEEPEST.load(Relaxed), 1);
}
