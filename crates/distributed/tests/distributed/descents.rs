//! Descent methods run on distributed vectors unchanged: the same iterations as on one host.

use coarsen_core::{Dot, LinearOperator, Objective, Preconditioner, PreconditionerKind, Stop, Vector};
use coarsen_distributed::{Layout, Partition, Spmv};
use coarsen_krylov::Cg;
use coarsen_optimize::{
    AcceleratedGradient, Backtracking, Beta, Constant, Descent, Direction, Gradient, Lbfgs, Linearized,
    MoreThuente, Newton, NonlinearCg, OrElse,
};
use coarsen_sparse::Bsr;

use crate::common::{cut, distance, dominant, layouts, noise, on_ranks};

/// ½ xᵀ A x − bᵀ x + ¼ q Σ xᵢ⁴, by the operations of vectors alone.
struct Energy<'a, V, A> {
    a: &'a A,
    b: &'a V,
    q: f64,
    kept: [V; 2],
}

/// A + 3 q diag(xᵢ²).
struct Hessian<'a, V, A> {
    a: &'a A,
    q: f64,
    squares: V,
}

/// The inverse of a diagonal.
struct Weights<'a, V>(&'a V);

impl<V: Vector<Real = f64>, A: LinearOperator<V>> Objective<V> for Energy<'_, V, A> {
    fn value(&mut self, x: &V) -> Dot<V::Scalar> {
        let [ax, squares] = &mut self.kept;
        self.a.apply(x, ax);
        squares.hadamard(&x.scalar(1.0), x, x, &x.scalar(0.0));
        let sums = [&x.dot(ax), &x.dot(self.b), &squares.dot(squares)];
        let [quadratic, linear, quartic] = V::wait_for(sums);
        let value = 0.5 * quadratic - linear + 0.25 * self.q * quartic;
        Dot { value: x.scalar(value), magnitude: x.scalar(value.abs()) }
    }

    fn gradient(&mut self, x: &V, g: &mut V) {
        let [_, squares] = &mut self.kept;
        self.a.apply(x, g);
        g.axpy(&x.scalar(-1.0), self.b);
        squares.hadamard(&x.scalar(1.0), x, x, &x.scalar(0.0));
        g.hadamard(&x.scalar(self.q), squares, x, &x.scalar(1.0));
    }
}

impl<V: Vector<Real = f64>, A: LinearOperator<V>> LinearOperator<V> for Hessian<'_, V, A> {
    fn shape(&self) -> (usize, usize) {
        self.a.shape()
    }

    fn apply(&self, x: &V, y: &mut V) {
        self.a.apply(x, y);
        y.hadamard(&x.scalar(3.0 * self.q), &self.squares, x, &x.scalar(1.0));
    }
}

impl<V: Vector<Real = f64>> Preconditioner<V> for Weights<'_, V> {
    fn apply(&mut self, r: &V, z: &mut V) {
        z.hadamard(&r.scalar(1.0), self.0, r, &r.scalar(0.0));
    }

    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }

    fn size(&self) -> Option<usize> {
        Some(self.0.size())
    }
}

/// What a descent found: its name, iterations, inner iterations, and the minimiser.
type Found<V> = (&'static str, [usize; 2], V);

/// Minimises with every direction and both line searches.
fn minimisers<V: Vector<Real = f64>, A: LinearOperator<V>>(
    a: &A,
    b: &V,
    weights: &V,
    q: f64,
) -> Vec<Found<V>> {
    let mut all = Vec::new();
    let like = || b.like().unwrap();
    let m = || Weights(weights);
    let energy = Energy { a, b, q, kept: [like(), like()] };
    let hessian = Hessian { a, q, squares: like() };
    let assemble = |_: &mut Energy<'_, V, A>, x: &V, h: &mut Hessian<'_, V, A>| {
        h.squares.hadamard(&x.scalar(1.0), x, x, &x.scalar(0.0));
        Ok(())
    };
    let mut f = Linearized::new(energy, hessian, m(), assemble, |_, _, _| Ok(()));
    let mut run = |name, direction: &mut dyn Direction<V, _>| {
        for wolfe in [false, true] {
            // Where f decreases by less than its round-off, iterations may depend on the order of sums.
            let (mut x, stop) = (like(), Stop::relative(1e-5));
            let found = if wolfe {
                Descent::new(MoreThuente::default(), stop).minimize(&mut f, direction, &mut x)
            } else {
                Descent::new(Backtracking::default(), stop).minimize(&mut f, direction, &mut x)
            };
            let found = found.unwrap().converged().unwrap_or_else(|why| panic!("{name}: {why}"));
            all.push((name, [found.iterations, found.inner], x));
        }
    };
    let inner = || Cg::new(Stop::relative(1e-10));
    run("steepest descent", &mut Gradient::steepest());
    run("preconditioned gradients", &mut Gradient::scaled(m()));
    run("nonlinear CG, Polak-Ribiere", &mut NonlinearCg::new(Beta::PolakRibierePlus, m()));
    run("nonlinear CG, Dai-Kou", &mut NonlinearCg::new(Beta::DaiKou, m()));
    run("Chebyshev", &mut AcceleratedGradient::new(0.9, m()));
    run("L-BFGS", &mut Lbfgs::scaled(8));
    run("L-BFGS around a diagonal", &mut Lbfgs::new(8, m()));
    run("a constant matrix", &mut Constant::new(Hessian { a, q: 0.0, squares: like() }, m(), inner()));
    run("Newton", &mut Newton::exact());
    run("inexact Newton", &mut Newton::inexact());
    run("Newton, or gradients", &mut OrElse::new(Newton::inexact(), Gradient::scaled(m())));
    all
}

#[test]
fn descents_are_those_of_one_host() {
    let a: Bsr<f64> = dominant(true);
    let (n, rows) = (a.shape().0, a.pattern().rows());
    let b: Vec<f64> = noise(n, 5).iter().map(|v| 4.0 * v).collect();
    let weights: Vec<f64> = a.diagonal().iter().map(|d| 1.0 / d).collect();
    for q in [0.0, 1.0] {
        let expected = minimisers(&a, &b, &weights, q);
        for ranks in [1, 2, 3] {
            for layout in
                [Layout::even(rows as u64, 3, ranks).unwrap(), layouts(rows, 3, ranks).swap_remove(1)]
            {
                let found = on_ranks(ranks, |comm| {
                    let partition = Partition::new(comm, layout.clone()).unwrap();
                    let [b, weights] = [&b, &weights].map(|all| partition.part_of(all).unwrap());
                    let all = minimisers(&cut(&a, &partition, Spmv::default()), &b, &weights, q);
                    all.into_iter()
                        .map(|(name, count, x)| (name, count, x.gathered().unwrap()))
                        .collect::<Vec<_>>()
                });
                for (rank, found) in found.iter().enumerate() {
                    for ((name, count, x), (_, one, expected)) in found.iter().zip(&expected) {
                        assert_eq!(count, one, "{name}, q = {q}: rank {rank} of {ranks}");
                        assert!(distance(x, expected) < 1e-9, "{name}, q = {q}: rank {rank} of {ranks}");
                    }
                }
            }
        }
    }
}
