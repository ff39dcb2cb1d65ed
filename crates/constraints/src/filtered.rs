//! The prefiltered system: matrix, right-hand side, starting guess, near-kernel and recovery in one object.

use std::sync::Arc;

use coarsen_core::{Error, LinearOperator, Real};
use coarsen_sparse::{Bsr, Contacts, NearKernel, Pattern, SparseError, Sum, System};

use super::contact::FilteredContact;
use super::density::Density;
use super::groups::ConstraintGroups;
use super::numeric::Numeric;
use super::project::Projector;
use super::symbolic::Symbolic;
use super::touched::Touched;
use super::{ConstraintError, Constraints};

/// Options of prefiltering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefilter {
    /// The maximum number of nodes in a group. S A S is dense between the nodes of a group, and the cost of S
    /// grows with the square of their number.
    pub largest_group: usize,
}

impl Default for Prefilter {
    fn default() -> Self {
        Self { largest_group: 64 }
    }
}

/// The filtered system of A and the constraints C x = d: [`Prefilter::build`] with default options.
///
/// # Errors
/// As [`Prefilter::build`].
pub fn prefilter<'a, T: Real>(
    system: impl Into<System<'a, T>>,
    constraints: &Constraints,
) -> Result<Filtered<T>, ConstraintError> {
    Prefilter::default().build(system, constraints)
}

impl Prefilter {
    /// Computes S A S + σ (I − S) for A and constraints C x = d, with everything that a solve needs. The contact
    /// part of a system stays apart from its matrix.
    ///
    /// *Cost* one pass over A. Groups of several nodes add fill-in, which [`Filtered::density`] reports.
    ///
    /// # Errors
    /// [`ConstraintError`] gives the nodes of contradictory constraints, of groups that are too large, and of
    /// constrained nodes without a stored diagonal block; [`Error::Shape`] if the sizes of the parts differ.
    pub fn build<'a, T: Real>(
        &self,
        system: impl Into<System<'a, T>>,
        constraints: &Constraints,
    ) -> Result<Filtered<T>, ConstraintError> {
        let system = system.into();
        system.check()?;
        let (pattern, b) = (system.matrix.pattern(), system.matrix.block().0);
        let none = Constraints::new(pattern.rows(), b)?;
        let empty_pattern = Arc::new(Pattern::diagonal(0)?);
        let mut filtered = Filtered {
            projector: Projector::new(&none, self.largest_group)?,
            matrix: Bsr::zeros(empty_pattern.clone(), (b, b))?,
            empty_pattern,
            source: pattern.clone(),
            kernel: NearKernel::constants(0, b)?,
            origin: Origin::Default,
            near_kernel: NearKernel::constants(0, b)?,
            contact: FilteredContact::new(pattern.rows(), b)?,
            touched: Touched::default(),
            az: Vec::new(),
            c: Vec::new(),
            scratch: Vec::new(),
            symbolic: Symbolic::default(),
            numeric: Numeric::default(),
        };
        filtered.update(system, constraints)?;
        filtered.touched.all(filtered.source.rows());
        Ok(filtered)
    }
}

/// Resizes a list and fills new entries with zeros. If memory is insufficient, nothing changes.
fn resize<T: Real>(values: &mut Vec<T>, length: usize) -> Result<(), SparseError> {
    let memory =
        |_| SparseError::Memory { what: "the filtered matrix", bytes: length.saturating_mul(size_of::<T>()) };
    values.try_reserve(length.saturating_sub(values.len())).map_err(memory)?;
    values.resize(length, T::zero());
    Ok(())
}

/// Computes the pattern of the filtered matrix and resizes its values. If `known`, the pattern is kept for
/// groups of several nodes. On error, nothing changes.
fn structure<T: Real>(
    symbolic: &mut Symbolic,
    a: &Bsr<T>,
    groups: &ConstraintGroups,
    known: impl Fn() -> bool,
    (place, values): (&mut Arc<Pattern>, &mut Vec<T>),
) -> Result<(), SparseError> {
    let size = a.block().0 * a.block().1;
    // The values are resized before the pattern is replaced. So insufficient memory leaves both unchanged.
    if !(0..groups.count()).any(|g| groups.has_several_nodes(g)) {
        if !Arc::ptr_eq(place, a.pattern()) {
            resize(values, a.pattern().len() * size)?;
            symbolic.retire(std::mem::replace(place, a.pattern().clone()));
        }
    } else if !known() {
        let pattern = symbolic.find(a.pattern(), groups)?;
        resize(values, pattern.len() * size)?;
        symbolic.replace(place, pattern);
    }
    Ok(())
}

/// A system A x = b with constraints C x = d, filtered for any method, preconditioner and backend. Created by
/// [`prefilter`].
///
/// If A is the sum of a matrix E and contact, both are filtered and stay apart: [`matrix`](Self::matrix) is
/// S E S + σ (I − S), [`contact`](Self::contact) is the filtered contact, and [`sum`](Self::sum) is both.
/// [`touched`](Self::touched) names the rows that changed with constraints and contact pairs, for
/// preconditioners that are patched.
///
/// x = y + z, where z is the shortest vector with C z = d, and y solves (S A S + σ (I − S)) y = S (b − A z).
/// This system has the same size and block size as A. It is symmetric positive definite if A is. Without
/// contact, its condition number is never larger than that of A, because σ lies in the field of values of A. With
/// contact, σ lies in that of E, and may be below all eigenvalues of A. [`solve`](Self::solve) performs all steps. [`right_hand_side`](Self::right_hand_side),
/// [`start`](Self::start) and [`recover`](Self::recover) are the single steps, for example for vectors on a
/// device.
///
/// *Use* with every preconditioner that is not diagonal. A preconditioner built from A alone violates the
/// constraints, and the projection then cancels most of the step. Build the preconditioner from
/// [`system`](Self::system), which contains the near-kernel S K that multigrid requires.
/// *Cost* of an update: a pass over A, and a product with A if d ≠ 0; for each contact block between tied
/// nodes, a block for every pair of nodes of their groups. *Memory* as much as A, and twice the near-kernel.
/// *Reference* Tamstorf, Jones, McCormick 2015, §8, eq. (3) to (7).
///
/// ```
/// use coarsen_core::LinearOperator;
/// use coarsen_constraints::{Constraints, prefilter};
/// use coarsen_sparse::assembly;
/// let a = assembly::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 2.0)])?;
/// let mut together = Constraints::new(2, 1)?;
/// together.equation(&[(0, &[1.0]), (1, &[-1.0])], 0.0)?; // x₀ = x₁
/// let mut filtered = prefilter(&a, &together)?;
/// let mut x = vec![0.0_f64; 2];
/// // Applies the inverse of S A S + σ (I − S), whose eigenvalues are 1 for (1, 1) and σ = 2 for (1, −1).
/// filtered.solve(&[3.0, 1.0], &mut x, |_, c, y| y.clone_from(c))?;
/// assert!(x.iter().all(|v| (v - 2.0).abs() < 1e-15)); // (1, 1)ᵀ (b − A x) = 0
/// # Ok::<(), coarsen_constraints::ConstraintError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Filtered<T> {
    projector: Projector,
    /// S E S + σ (I − S).
    matrix: Bsr<T>,
    /// The empty pattern of the placeholder for `matrix` while an update moves out the parts of `matrix`.
    empty_pattern: Arc<Pattern>,
    /// The pattern of E.
    source: Arc<Pattern>,
    /// The near-kernel K without constraints.
    kernel: NearKernel,
    origin: Origin,
    /// The near-kernel S K.
    near_kernel: NearKernel,
    contact: FilteredContact<T>,
    touched: Touched,
    /// The product A z; empty if z = 0.
    az: Vec<f64>,
    /// The right-hand side S (b − A z) of the last solve.
    c: Vec<T>,
    scratch: Vec<f64>,
    symbolic: Symbolic,
    numeric: Numeric,
}

/// Where the near-kernel K comes from.
#[derive(Clone, Copy, Debug)]
enum Origin {
    /// From a system.
    Given,
    /// Rigid-body modes about the positions of a system.
    Positions,
    /// Constants.
    Default,
}

impl<T: Real> Filtered<T> {
    /// Replaces the system, the constraints, or both. Memory is allocated only in two cases: the system, its
    /// contact or the constraints are larger than in all earlier updates, or a replaced pattern is still in
    /// use elsewhere.
    ///
    /// A system without a near-kernel has that of an earlier one of as many nodes; without positions, their rigid-body
    /// modes too are those of an earlier one.
    ///
    /// If the pattern of E and the groups of nodes do not change, the pattern remains the same object.
    /// Preconditioners can then be updated, or patched in the rows [`touched`](Self::touched).
    ///
    /// # Errors
    /// As [`Prefilter::build`]. On error, nothing changes.
    pub fn update<'a>(
        &mut self,
        system: impl Into<System<'a, T>>,
        constraints: &Constraints,
    ) -> Result<(), ConstraintError> {
        let system = system.into();
        system.check()?;
        let b = system.matrix.block().0;
        for (what, expected, found) in [
            ("nodes of the constraints", system.matrix.pattern().rows(), constraints.nodes()),
            ("unknowns of a node of the constraints", b, constraints.block()),
            ("unknowns of a node, as before", self.matrix.block().0, b),
        ] {
            if expected != found {
                return Err(Error::Shape { what, expected, found }.into());
            }
        }
        system.check_positions()?;
        self.projector.prepare(constraints)?;
        let a = system.matrix;
        let groups = &self.projector.next.groups;
        let stored = |i: u32| a.pattern().find(i as usize, i as usize).is_some();
        if let Some(&node) = groups.nodes.iter().find(|&&i| !stored(i)) {
            return Err(ConstraintError::NoDiagonal { node: node as usize });
        }
        self.contact.prepare(system.contact, &self.projector.next)?;
        // The structure is recomputed unless it is known. A placeholder replaces the matrix while its parts
        // are moved out. Even after an error the parts form a valid matrix.
        let empty = Bsr::new(self.empty_pattern.clone(), (b, b), Vec::new())?;
        let (mut place, block, mut values) = std::mem::replace(&mut self.matrix, empty).into_parts();
        let known =
            || groups.same_nodes(&self.projector.factors.groups) && Pattern::same(&self.source, a.pattern());
        let found = structure(&mut self.symbolic, a, groups, known, (&mut place, &mut values));
        self.matrix = Bsr::new(place, block, values)?;
        found?;
        self.projector.commit(constraints);
        self.contact.commit(system.contact);
        if Pattern::same(&self.source, a.pattern()) {
            let factors = [&self.projector.next, &self.projector.factors]; // before and now
            let [now, before] = &self.contact.pairs;
            self.touched.find(a.pattern(), factors, [before, now]);
        } else {
            self.touched.all(a.pattern().rows());
        }
        if !Arc::ptr_eq(&self.source, a.pattern()) {
            self.source = a.pattern().clone();
        }
        let pattern = self.matrix.pattern().clone();
        self.numeric.fill(a, &self.projector.factors, &pattern, self.matrix.values_mut()); // (7)
        self.az.clear();
        if !self.projector.is_homogeneous() {
            self.scratch.clear();
            self.scratch.resize(self.projector.size(), 0.0);
            self.projector.complete(&mut self.scratch); // z
            self.az.resize(self.projector.size(), 0.0);
            match system.contact {
                Some(contact) => Sum { elastic: a, contact }.apply(&self.scratch, &mut self.az),
                None => a.apply(&self.scratch, &mut self.az),
            }
        }
        self.filter_near_kernel(&system)
    }

    /// Computes S K. K is the near-kernel of the system, or that of an earlier system of as many nodes, or the default of
    /// multigrid.
    fn filter_near_kernel(&mut self, system: &System<'_, T>) -> Result<(), ConstraintError> {
        let (n, b) = (system.matrix.shape().0, system.matrix.block().0);
        let Self { kernel, origin, .. } = self;
        if kernel.size() != n {
            *origin = Origin::Default;
        }
        match (system.near_kernel, system.positions, *origin) {
            (Some(given), ..) => {
                kernel.set(given);
                *origin = Origin::Given;
            }
            (None, Some(x), Origin::Positions | Origin::Default) if b == 2 || b == 3 => {
                kernel.set_rigid_body_modes(x, b)?;
                *origin = Origin::Positions;
            }
            (None, _, Origin::Default) => kernel.set_constants(n, b)?,
            (None, ..) => (),
        }
        self.near_kernel.set(kernel);
        let (projector, from, k) = (&self.projector, kernel.values(), kernel.vectors());
        projector.each_node(k, self.near_kernel.values_mut(), |node, rows| {
            projector.node_columns(node, k, from, rows);
        });
        Ok(())
    }

    /// The matrix S E S + σ (I − S), where E is the matrix of the system; without contact, the whole filtered
    /// matrix.
    pub fn matrix(&self) -> &Bsr<T> {
        &self.matrix
    }

    /// S C S, where C is the contact of the system. Nodes whose constraints determine all unknowns have no
    /// blocks.
    pub fn contact(&self) -> &Contacts<T> {
        &self.contact.set
    }

    /// The filtered matrix and the filtered contact as one operator.
    pub fn sum(&self) -> Sum<'_, T> {
        Sum { elastic: &self.matrix, contact: &self.contact.set }
    }

    /// The block rows that the last update changed by other constraints, or by contact pairs that came or went,
    /// in increasing order. After the build, and after an update with another pattern of E, all rows.
    ///
    /// Changed values of E and of lasting contact pairs are not compared. Pass the rows to
    /// `Update::patch` of a preconditioner.
    pub fn touched(&self) -> &[u32] {
        &self.touched.rows
    }

    /// The near-kernel S K of the filtered matrix.
    pub fn near_kernel(&self) -> &NearKernel {
        &self.near_kernel
    }

    /// The projector S.
    pub fn projector(&self) -> &Projector {
        &self.projector
    }

    /// The filtered matrix and contact with their near-kernel and the links of E, for building a preconditioner.
    /// `positions` are the positions of the nodes, as without constraints.
    pub fn system<'s>(&'s self, positions: Option<&'s [[f64; 3]]>) -> System<'s, T> {
        // Deviation: aggregates are built only from the couplings of E. Constrained nodes can slide past each
        // other, which a common coarse node would prevent. In a fold this gave 15 iterations instead of 44.
        let links = (self.matrix.pattern().len() != self.source.len()).then_some(&*self.source);
        let contact = Some(self.contact()).filter(|contact| !contact.is_empty());
        System {
            contact,
            positions,
            near_kernel: Some(&self.near_kernel),
            links,
            ..System::from(&self.matrix)
        }
    }

    /// Solves A x = b under the constraints. `method` receives [`sum`](Self::sum), its right-hand side and a
    /// starting guess, which it improves. On entry, x is the starting guess. On return, x satisfies C x = d,
    /// even if the method did not converge.
    ///
    /// The residual of the method is S (b − A x), without the constraint forces. *Cost* two passes over
    /// vectors in addition to the method.
    ///
    /// # Errors
    /// [`Error::Shape`] if a vector has the wrong length.
    pub fn solve<R>(
        &mut self,
        b: &[T],
        x: &mut Vec<T>,
        method: impl FnOnce(&Sum<'_, T>, &Vec<T>, &mut Vec<T>) -> R,
    ) -> Result<R, ConstraintError> {
        let mut c = std::mem::take(&mut self.c);
        c.resize(self.projector.size(), T::zero());
        let prepared = self.right_hand_side(b, &mut c).and_then(|()| self.start(x));
        let result = prepared.map(|()| method(&self.sum(), &c, x));
        self.c = c;
        let result = result?;
        self.recover(x)?;
        Ok(result)
    }

    /// c = S (b − A z), the right-hand side of the filtered system.
    ///
    /// # Errors
    /// [`Error::Shape`] if a vector has the wrong length.
    pub fn right_hand_side<V: Real>(&self, b: &[V], c: &mut [V]) -> Result<(), Error> {
        self.check("right-hand side", b.len())?;
        self.check("filtered right-hand side", c.len())?;
        let (s, az) = (&self.projector, &self.az);
        match az.is_empty() {
            true => s.each_node(1, c, |i, c| s.node(i, |k| b[k].as_f64(), c)),
            false => s.each_node(1, c, |i, c| s.node(i, |k| b[k].as_f64() - az[k], c)),
        }
        Ok(())
    }

    /// x ← S (x − z) = S x. Converts a starting guess of the full system to a starting guess of the method.
    ///
    /// # Errors
    /// [`Error::Shape`] if the vector has the wrong length.
    pub fn start<V: Real>(&mut self, x: &mut [V]) -> Result<(), Error> {
        self.check("starting guess", x.len())?;
        self.scratch.clear();
        self.scratch.extend(x.iter().map(|v| v.as_f64()));
        let (s, from) = (&self.projector, &self.scratch);
        s.each_node(1, x, |i, x| s.node(i, |k| from[k], x));
        Ok(())
    }

    /// y ← S y + z. Converts the solution of the filtered system to the solution of the full system. Here S
    /// removes only round-off.
    ///
    /// # Errors
    /// [`Error::Shape`] if the vector has the wrong length.
    pub fn recover<V: Real>(&mut self, y: &mut [V]) -> Result<(), Error> {
        self.start(y)?;
        self.projector.complete(y);
        Ok(())
    }

    /// Statistics of constraints and fill-in.
    pub fn density(&self) -> Density {
        let s = &self.projector;
        Density {
            constraints: s.constraints,
            dependent: s.dependent().len(),
            dependent_nodes: s.dependent_nodes().to_vec(),
            rank: s.rank(),
            nodes: self.source.rows(),
            filtered: s.filtered(),
            groups: s.groups(),
            largest: s.largest(),
            blocks: self.source.len(),
            filled: self.matrix.pattern().len(),
        }
    }

    fn check(&self, what: &'static str, found: usize) -> Result<(), Error> {
        let expected = self.projector.size();
        if expected == found { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_without_room_stay_as_they_are() {
        let mut values = vec![1.0_f64, 2.0];
        let refused = resize(&mut values, usize::MAX / 16);
        assert!(matches!(refused, Err(SparseError::Memory { what: "the filtered matrix", .. })));
        assert_eq!(values, [1.0, 2.0]);
        resize(&mut values, 3).unwrap();
        assert_eq!(values, [1.0, 2.0, 0.0]);
    }
}
