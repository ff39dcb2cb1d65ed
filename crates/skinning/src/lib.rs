//! Skinning-space Galerkin multigrid. A coarse node is a control point, which moves its nodes by an affine map; the
//! paper says handle.
//!
//! | symbol | here |
//! |---|---|
//! | Ω_l, k_l | the control points of level l and their number |
//! | X_i | the homogeneous rest position of node i: (x, y, z, 1) |
//! | ω_ij | the weight of control point j at node i: by default 1 for the nearest control point, 0 for all others |
//! | U | P of the finest level: block (i, j) is ω_ij X_iᵀ ⊗ I_3, 3 x 12 |
//! | U_l | P between control points: blocks I_12 |
//! | q | the unknowns of a control point: 12 numbers, the columns of an affine map |
//! | n | a direction of a control point that does not move any of its nodes |
//!
//! | file | step |
//! |---|---|
//! | `frame` | positions about their mean, scaled to at most 1 |
//! | `control_points` | farthest points of the elastic graph, nested (§4.1) |
//! | `lengths` | the lengths of the edges of the graph |
//! | `cut` | the control points after a cut |
//! | `weights` | constant or harmonic weights of control points (§4.2) |
//! | `lib` | coordinates and transfers (§4.2) |
//! | `null_space` | directions that move no node (§4.4) |
//!
//! `coarsen_sparse::GalerkinPlan` computes the Galerkin product (§4.3) from the weights. A_ij adds (X_i X_jᵀ)
//! ⊗ A_ij to the block of the control points of i and j (eq. 7, with its factors in the order of §4.2). Smoothers
//! and the coarse solve (§4.5) come from [`Multigrid`].
//!
//! *Reference* Xian, Tong & Liu 2019, "A Scalable Galerkin Multigrid Method for Real-time Simulation of
//! Deformable Objects", ACM TOG 38(6):162.

mod control_points;
mod cut;
mod frame;
mod lengths;
mod null_space;
mod weights;

use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::{Error, Real};
use coarsen_sparse::{Bsr, Pattern, Prolongation};

/// What a program on this crate alone needs.
pub use coarsen_multigrid as multigrid;
use coarsen_multigrid::{Coarse, Coarsening, Grid, Multigrid, Smoothing, stiffen};
pub use control_points::ControlPoints;
pub use cut::Cut;
use frame::Frame;
pub use lengths::Sampling;
use lengths::{Graph, edge_lengths};
use null_space::Moments;
pub use weights::Weights;

/// Returns skinning-space multigrid. The number of control points depends on the number of nodes, and each level
/// has a fitted smoother. *Deviation*: Xian, Tong & Liu 2019, Table 1, choose the numbers of control points by hand,
/// and take several steps of Gauss-Seidel or Jacobi; [`skinning_levels`] and `PerLevel` do so.
pub fn skinning() -> Multigrid<Skinning> {
    Multigrid { smoothing: Smoothing::Fitted, ..Multigrid::of(Skinning::default()) }
}

/// Returns skinning-space multigrid with `control_points[k]` control points on the k-th coarse level, from fine to
/// coarse. The last level is solved directly.
pub fn skinning_levels(control_points: &[usize]) -> Multigrid<Skinning> {
    let coarsening = Skinning { control_points: control_points.to_vec(), ..Skinning::default() };
    Multigrid { coarsening, coarse_size: 0, ..skinning() }
}

/// Skinning-space multigrid: control points move their nodes by affine maps of the rest positions.
///
/// Control points are farthest points of the elastic graph, and each node is moved by its nearest control point. Nodes
/// without couplings, as fixed nodes, have no control point. *Use* for
/// elastic bodies and sheets with known rest positions, if values change in every step: P is computed once,
/// and an update only computes products. *Not* if positions are unknown, or if the matrix is not the
/// stiffness of a body. *Cost*: each doubling of the number of control points takes about n log n steps to sample.
/// *Memory*: P stores 4 numbers per node; rest positions take 24 bytes per node, and the distances to control points,
/// from which a cut starts, 12 bytes per node and level. Coarse blocks are 12 x 12 for blocks of 3, 6 x 6 for blocks of 2,
/// and 4 x 4 for scalars.
///
/// *Errors* of a build: no rest positions, blocks of other sizes, nodes that do not exist, `control_points` that do not
/// decrease or are fewer than the parts of the body or than `given`.
#[derive(Clone, Debug, PartialEq)]
pub struct Skinning {
    /// The number of control points of each level, from fine to coarse and decreasing, at least one for each part of
    /// the body; if empty, it is computed from the number of nodes, and each part gets a control point.
    pub control_points: Vec<usize>,
    /// The number of nodes per control point of the first coarse level, if `control_points` is empty.
    pub nodes_per_control_point: usize,
    /// The number of control points of a level per control point of the next coarser level, if `control_points` is
    /// empty.
    pub coarsening_ratio: usize,
    /// Ω of the coarsest level: the nodes that are chosen as control points before all other nodes. The coarsest level
    /// has at least as many control points. A node at the position of an earlier one is left out.
    pub given: Vec<u32>,
    /// The metric in which farthest points are chosen.
    pub sampling: Sampling,
    /// The weights of control points at nodes. Between levels of control points they are always constant.
    pub weights: Weights,
    /// The unknowns of a control point.
    pub coordinates: Coordinates,
    /// A cut through a body whose control points are known: only the region of the cut is sampled again.
    /// `control_points` and `given` are then not used. The cut belongs to the pattern of the build: an update with
    /// another pattern samples all control points again.
    pub cut: Option<Cut>,
    /// One rest position per node; if `None`, the positions of the system.
    pub rest: Option<Arc<[[f64; 3]]>>,
}

/// The kind of unknowns of a control point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Coordinates {
    /// The coefficients of an affine map: 12 unknowns for blocks of 3.
    #[default]
    Affine,
    /// A translation, with as many unknowns as a node. *Use* for comparison (§5.2, tests 3 and 4); many
    /// cycles are needed.
    Constant,
}

impl Default for Skinning {
    fn default() -> Self {
        let (nodes_per_control_point, coarsening_ratio) = (80, 8);
        let (control_points, given, sampling) = (Vec::new(), Vec::new(), Sampling::Uniform);
        let (weights, coordinates) = (Weights::Constant, Coordinates::Affine);
        Self {
            control_points,
            nodes_per_control_point,
            coarsening_ratio,
            given,
            sampling,
            weights,
            coordinates,
            cut: None,
            rest: None,
        }
    }
}

/// A level of skinning has fewer control points than parts that need one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the body has {parts} parts without couplings between them, but coarse level {level} has {control_points} control points; give at least one control point for each part, or leave the numbers to the default"
)]
pub struct TooFewControlPoints {
    /// The coarse level, counted from 1.
    pub level: usize,
    /// The number of its control points.
    pub control_points: usize,
    /// The number of parts.
    pub parts: usize,
}

/// The state of a level of [`Skinning`].
#[derive(Clone, Debug)]
pub struct Controlled {
    control_points: Arc<ControlPoints>,
    /// The rest positions of all nodes.
    rest: Arc<[[f64; 3]]>,
    /// The coarse level of this step; 0 is the level below the finest.
    level: usize,
    moments: Vec<Moments>,
    /// Pairs of the number of a control point and a direction n that does not move any of its nodes.
    still: Vec<(u32, [f64; 4])>,
}

impl Controlled {
    /// Returns the control points of all levels.
    pub fn control_points(&self) -> &Arc<ControlPoints> {
        &self.control_points
    }

    /// Returns the state with the directions that follow from `moments`.
    fn still(self, axes: usize) -> Self {
        let of = |(j, m): (usize, &Moments)| m.null_space(axes).into_iter().map(move |n| (j as u32, n));
        let still = self.moments.iter().enumerate().flat_map(of).collect();
        Self { still, ..self }
    }

    /// Returns the step with P and this state.
    fn step<T>(self, p: Prolongation<T>, positions: Option<Vec<[f64; 3]>>) -> Coarse<T, Self> {
        // Control points and rest positions are shared by all levels.
        let shared =
            if self.level == 0 { self.control_points.bytes() + size_of_val(&self.rest[..]) } else { 0 };
        let state_bytes = shared + size_of_val(&self.moments[..]) + size_of_val(&self.still[..]);
        Coarse { positions, has_term: !self.still.is_empty(), state_bytes, ..Coarse::new(p, self) }
    }
}

impl<T: Real> Coarsening<T> for Skinning {
    type State = Controlled;

    fn coarsen(
        &self,
        fine: &Grid<'_, T>,
        above: Option<&Controlled>,
    ) -> Result<Option<Coarse<T, Controlled>>, SetupError> {
        match above {
            None => self.first(fine),
            Some(above) => Ok(below(fine, above)?),
        }
    }

    /// U depends only on rest positions, so new values do not change it.
    fn refresh(
        &self,
        _: &Grid<'_, T>,
        _: Option<&Controlled>,
        _: &mut Coarse<T, Controlled>,
    ) -> Result<(), SetupError> {
        Ok(())
    }

    /// Drops the cut, which belongs to one pattern; for other contact, keeps the rest positions and the control points.
    fn changed(&self, first: Option<&Controlled>) -> Self {
        let Some(first) = first else { return Self { cut: None, ..self.clone() } };
        let cut = Some(Cut { control_points: first.control_points.clone(), touched: Vec::new() });
        Self { rest: Some(first.rest.clone()), cut, ..self.clone() }
    }

    /// Adds s n nᵀ ⊗ I to the diagonal block of its control point for every direction n, where s is the largest
    /// entry on the diagonal of the block.
    fn add_term(&self, a: &mut Bsr<T>, above: &Controlled) -> Result<(), SetupError> {
        let k = a.block().0;
        for group in above.still.chunk_by(|l, r| l.0 == r.0) {
            stiffen(a, group[0].0 as usize, group.iter().map(|(_, n)| within(n, k)), "skinning")?;
        }
        Ok(())
    }

    fn name(&self) -> &'static str {
        "skinning"
    }
}

impl Skinning {
    /// Returns the step to the first coarse level: control points, U and the moments of each control point.
    fn first<T: Real>(&self, fine: &Grid<'_, T>) -> Result<Option<Coarse<T, Controlled>>, SetupError> {
        let a = fine.a;
        let (nodes, b) = (a.pattern().rows(), a.block().0);
        let rest = self.rest.clone().or_else(|| fine.positions.map(Arc::from));
        let rest = rest.ok_or(SetupError::NoPositions { method: "skinning" })?;
        if rest.len() != nodes {
            let what = "rest positions (one per block row)";
            return Err(Error::Shape { what, expected: nodes, found: rest.len() }.into());
        }
        if !(1..=3).contains(&b) {
            let (name, range) = ("the block size of the matrix", "1, 2 or 3 for affine motions");
            return Err(Error::Parameter { name, value: b as f64, range }.into());
        }
        if let Some(found) =
            self.cut.as_ref().map(|cut| cut.control_points.nodes()).filter(|&old| old > nodes)
        {
            let what = "nodes of the control points before a cut (at most those after it)";
            return Err(Error::Shape { what, expected: nodes, found }.into());
        }
        let cut = self.cut.iter().flat_map(|cut| cut.touched.iter().chain(&cut.control_points.order));
        for (what, list) in [("Skinning::given", &self.given), ("Skinning::cut", &cut.copied().collect())] {
            if let Some(node) = list.iter().map(|&i| i as usize).find(|&i| i >= nodes) {
                return Err(SetupError::NoNode { what, node, nodes });
            }
        }
        let counts = self.counts(nodes)?;
        let cut = self.cut.as_ref();
        // After a cut the old frame, so that old and new distances have one unit.
        let frame = cut.map_or_else(|| Frame::of(&rest), |cut| Ok(cut.control_points.frame))?;
        let x = frame.positions(&rest)?;
        if nodes == 0 || counts.is_empty() {
            return Ok(None);
        }
        let elastic = fine.elastic.unwrap_or(a);
        let graph = match (cut, self.sampling) {
            (Some(_), Sampling::Uniform) => Graph::of(elastic.pattern(), &x),
            _ => edge_lengths(self.sampling, elastic, &x),
        };
        let control_points = Arc::new(match cut {
            None => {
                let sampled = ControlPoints::sample(&graph.view(), &counts, &self.given, fine.cancel)?;
                let control_points = ControlPoints { frame, ..sampled };
                self.enough(&control_points)?;
                control_points
            }
            Some(cut) => cut.control_points.after_cut(&graph.view(), &cut.touched, fine.cancel)?,
        });
        if control_points.order.is_empty() {
            return Ok(None); // every node is alone
        }
        SetupError::unless_cancelled(fine.cancel)?;
        let (pattern, weights) = weights::weights(self.weights, &graph.view(), &control_points, fine.cancel)?;
        let axes = if b == 2 { 2 } else { 3 };
        let spanned = if self.coordinates == Coordinates::Affine { axes } else { 0 };
        let mut moments = vec![Moments::default(); if spanned > 0 { control_points.count(0) } else { 0 }];
        let mut values = Vec::with_capacity((spanned + 1) * weights.len());
        for (i, x) in x.iter().enumerate() {
            for at in pattern.range(i) {
                let w = weights[at];
                values.extend(x[..spanned].iter().map(|x| T::from_f64(w * x)).chain([T::from_f64(w)]));
                if w == 0.0 {
                    continue;
                }
                if let Some(moments) = moments.get_mut(pattern.indices()[at] as usize) {
                    moments.add(*x, w);
                }
            }
        }
        let u = Bsr::new(Arc::new(pattern), (1, spanned + 1), values)?;
        let state = Controlled { control_points, rest, level: 0, moments, still: Vec::new() }.still(axes);
        // The coarse nodes are the control points at their rest positions.
        let positions = state.control_points.order[..state.control_points.count(0)]
            .iter()
            .map(|&i| x[i as usize])
            .collect();
        Ok(Some(state.step(Prolongation::weights(u, b)?, Some(positions))))
    }

    /// Checks that given numbers of control points are enough for all parts of the body.
    fn enough(&self, control_points: &ControlPoints) -> Result<(), SetupError> {
        for (level, &given) in self.control_points.iter().enumerate() {
            let parts = control_points.count(level);
            if parts > given {
                let few = TooFewControlPoints { level: level + 1, control_points: given, parts };
                return Err(SetupError::of_method(None, few));
            }
        }
        Ok(())
    }

    /// Returns the number of control points of each level, from fine to coarse.
    fn counts(&self, nodes: usize) -> Result<Vec<usize>, Error> {
        let [first, next] = [self.nodes_per_control_point, self.coarsening_ratio];
        let parameters = [
            (
                "Skinning::control_points",
                self.control_points.iter().copied().find(|&k| k == 0),
                "at least 1 on each level",
            ),
            ("Skinning::nodes_per_control_point", Some(first).filter(|&k| k == 0), "at least 1"),
            ("Skinning::coarsening_ratio", Some(next).filter(|&k| k < 2), "at least 2"),
        ];
        for (name, wrong, range) in parameters {
            if let Some(value) = wrong {
                return Err(Error::Parameter { name, value: value as f64, range });
            }
        }
        if let Some(pair) = self.control_points.windows(2).find(|pair| pair[0] <= pair[1]) {
            let range = "below the number of the finer level (give the levels from fine to coarse)";
            return Err(Error::Parameter { name: "Skinning::control_points", value: pair[1] as f64, range });
        }
        let given = self.given.len();
        if let Some(&last) = self.control_points.last() {
            if last < given {
                let range = "at least the number of given nodes on the coarsest level";
                return Err(Error::Parameter { name: "Skinning::control_points", value: last as f64, range });
            }
            return Ok(self.control_points.iter().map(|&k| k.min(nodes)).collect());
        }
        let next = |k: &usize| (*k > given.max(4)).then_some(k.div_ceil(next).max(given));
        Ok(std::iter::successors(Some(nodes.div_ceil(first).max(given)), next).collect())
    }
}

/// Returns the step from one level of control points to the next.
fn below<T: Real>(
    fine: &Grid<'_, T>,
    above: &Controlled,
) -> Result<Option<Coarse<T, Controlled>>, SetupError> {
    let level = above.level + 1;
    let control_points = above.control_points.clone();
    let Some(controls) = control_points.controls.get(level) else { return Ok(None) };
    let (count, k) = (control_points.count(level), fine.a.block().0);
    let pattern = Pattern::new(count, (0..=controls.len()).collect(), controls.clone())?;
    let mut moments = vec![Moments::default(); if above.moments.is_empty() { 0 } else { count }];
    above.moments.iter().zip(controls).for_each(|(m, &j)| moments[j as usize].join(m));
    let axes = if k == 6 { 2 } else { 3 };
    let p = Prolongation::identities(Arc::new(pattern), k)?;
    let rest = above.rest.clone();
    let state = Controlled { control_points, rest, level, moments, still: Vec::new() }.still(axes);
    let positions = fine.positions.and_then(|x| x.get(..count)).map(<[_]>::to_vec);
    Ok(Some(state.step(p, positions)))
}

/// The numbers of n for blocks of size k, and how many: (x, y, z, 1), or (x, y, 1) for the plane.
fn within(n: &[f64; 4], k: usize) -> ([f64; 4], usize) {
    if k == 6 { ([n[0], n[1], n[3], 0.0], 3) } else { (*n, 4) }
}
