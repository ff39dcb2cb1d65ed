//! Shared code of the tests of hierarchies: given grids and prolongations, and dense products.

use coarsen_backend::SetupError;
use coarsen_core::{LinearOperator, Preconditioner};
use coarsen_direct::Direct;
use coarsen_multigrid::{Coarse, Coarsening, Coarsest, Cycle, Grid, Keep, Multigrid, Smoothing};
use coarsen_problems::Problem;
use coarsen_relax::GaussSeidel;
use coarsen_sparse::{Bsr, assembly};

pub(crate) const SSOR: GaussSeidel = GaussSeidel { omega: 1.2, sweeps: 1, symmetric: false };

pub(crate) fn problem(spec: &str) -> Problem {
    Problem::parse(spec, &Default::default()).unwrap()
}

/// The Laplacian of a path of n unknowns.
pub(crate) fn path(n: u32) -> Bsr<f64> {
    let pairs = (1..n).flat_map(|i| [(i - 1, i, -1.0), (i, i - 1, -1.0)]);
    let entries: Vec<_> = (0..n).map(|i| (i, i, 2.0)).chain(pairs).collect();
    assembly::from_triplets(n as usize, n as usize, &entries).unwrap()
}

/// Returns a finest level with A and a radius.
pub(crate) fn grid(a: &Bsr<f64>) -> Grid<'_, f64> {
    Grid { radius: Some(2.0), ..Grid::new(a) }
}

/// A method with given prolongations on all levels. A refresh multiplies them by three.
#[derive(Clone)]
pub(crate) struct Given(pub(crate) Vec<Bsr<f64>>);

impl Coarsening<f64> for Given {
    type State = ();

    fn coarsen(&self, fine: &Grid<'_, f64>, _: Option<&()>) -> Result<Option<Coarse<f64>>, SetupError> {
        let aggregates = |p: &Bsr<f64>| Some(vec![0; p.pattern().rows()]);
        let step = |p: &Bsr<f64>| Coarse { aggregates: aggregates(p), ..Coarse::new(p.clone(), ()) };
        Ok(self.0.get(fine.depth).map(step))
    }

    fn refresh(&self, _: &Grid<'_, f64>, _: Option<&()>, coarse: &mut Coarse<f64>) -> Result<(), SetupError> {
        coarse.prolongation.values_mut().iter_mut().for_each(|v| *v *= 3.0);
        Ok(())
    }

    fn name(&self) -> &'static str {
        "given"
    }
}

pub(crate) fn given(prolongations: Vec<Bsr<f64>>, levels: usize) -> Multigrid<Given> {
    Multigrid {
        coarsening: Given(prolongations),
        cycle: Cycle::V,
        smoothing: Smoothing::GaussSeidel(SSOR),
        levels,
        coarse_size: 0,
        keep: Keep::Transfers,
        coarsest: Coarsest::Factor,
    }
}

pub(crate) fn times(a: &Bsr<f64>, x: &Vec<f64>) -> Vec<f64> {
    let mut y = vec![0.0; a.shape().0];
    a.apply(x, &mut y);
    y
}

pub(crate) fn back(p: &Bsr<f64>, x: &Vec<f64>) -> Vec<f64> {
    times(&p.transpose().unwrap(), x)
}

pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

pub(crate) fn minus(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x - y).collect()
}

pub(crate) fn near(x: &[f64], y: &[f64]) -> bool {
    assert_eq!(x.len(), y.len());
    dot(&minus(x, y), &minus(x, y)) <= 1e-20 * dot(y, y)
}

pub(crate) fn applied(m: &mut dyn Preconditioner<Vec<f64>>, r: &Vec<f64>) -> Vec<f64> {
    let mut z = vec![f64::NAN; r.len()];
    m.apply(r, &mut z);
    z
}

pub(crate) fn solved(a: &Bsr<f64>, b: &[f64]) -> Vec<f64> {
    let mut x = vec![0.0; b.len()];
    Direct::default().factor(a).unwrap().solve(b, &mut x).unwrap();
    x
}
