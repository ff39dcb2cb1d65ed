//! The matrix of cloth as a sum over elements, on a rank.
//!
//! > A = M / Δt² + K,  A x = Σ_e P_eᵀ K_e P_e x + M x / Δt²    (1)
//!
//! with the stiffness K_e of a triangle or a hinge. A rank has the elements that touch its rows, as in assembly by
//! owners, and receives the entries of x at their other nodes.

use std::sync::{Arc, Mutex};

use coarsen_core::{LinearOperator, Preconditioner, PreconditionerKind, Vector};
use coarsen_distributed::{Communicator, DistVector, Partition, Stage, pack, unpack};
use coarsen_elastic::{Curved, Hinge, Triangle};

use crate::Outcome;
use crate::matrix_free::{BENDING, DENSITY, DT, FABRIC, Sheet};

const GHOSTS: Stage = Stage::new(1, "the nodes of elements at the border");

/// K_e of a triangle: its blocks (0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2).
type Blocks = [[f64; 9]; 6];

fn blocks(curved: &Curved) -> Blocks {
    [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]].map(|[a, b]| curved.stiffness(a, b))
}

/// w with K_e = w wᵀ.
fn weights(hinge: &Hinge) -> [f64; 4] {
    let of = |k: usize| hinge.stiffness(k, k);
    let k = if of(2) > of(0) { 2 } else { 0 }; // one of both is not 0
    std::array::from_fn(|a| hinge.stiffness(a, k) / of(k).sqrt())
}

/// A on a rank, as a sum over elements. Nodes are local: own ones first, then ghosts.
pub(crate) struct Elements<C: Communicator> {
    pub(crate) partition: Arc<Partition<C>>,
    triangles: Vec<([u32; 3], Triangle)>,
    /// K_e of all triangles, unless each product evaluates them.
    stored: Option<Vec<Blocks>>,
    /// w with K_e = w wᵀ, which is constant.
    hinges: Vec<([u32; 4], [f64; 4])>,
    /// M / Δt² of own nodes.
    pub(crate) inertia: Vec<f64>,
    /// The positions of local nodes.
    at: Vec<[f64; 3]>,
    /// For each other rank, the own nodes that it needs, and the ghosts that it sends.
    borders: Vec<(usize, Vec<u32>, std::ops::Range<usize>)>,
    /// x and y at all local nodes.
    local: Mutex<[Vec<[f64; 3]>; 2]>,
}

impl<C: Communicator> Elements<C> {
    pub(crate) fn new(sheet: &Sheet, partition: &Arc<Partition<C>>, stored: bool) -> Self {
        let n = sheet.rest.len();
        let all = Hinge::all(&sheet.triangles, |v| sheet.rest[v as usize], BENDING);
        // The nodes that a rank needs: those of all elements that touch its rows, own ones first.
        let nodes = |rank: usize| -> Vec<u32> {
            let own = partition.layout().range(rank);
            let is_own = |v: &u32| own.contains(&u64::from(*v));
            let mut others: Vec<u32> =
                sheet.triangles.iter().filter(|t| t.iter().any(is_own)).flatten().copied().collect();
            others.extend(all.iter().filter(|h| h.corners.iter().any(is_own)).flat_map(|h| h.corners));
            others.retain(|v| !is_own(v));
            others.sort_unstable();
            others.dedup();
            (own.start as u32..own.end as u32).chain(others).collect()
        };
        let (rank, own) = (partition.rank(), partition.layout().range(partition.rank()));
        let mine = nodes(rank);
        let mut place = vec![u32::MAX; n];
        mine.iter().enumerate().for_each(|(k, &v)| place[v as usize] = k as u32);
        let touches = |corners: &[u32]| corners.iter().any(|&v| own.contains(&u64::from(v)));
        let borders = (0..partition.layout().ranks()).filter(|&other| other != rank).map(|other| {
            let theirs = partition.layout().range(other);
            let sent = nodes(other).into_iter().filter(|&v| own.contains(&u64::from(v)));
            let count = theirs.end - theirs.start;
            let sent = sent.map(|v| v - own.start as u32).collect();
            let at = |bound: u64| {
                partition.count() + mine[partition.count()..].partition_point(|&v| u64::from(v) < bound)
            };
            (other, sent, at(theirs.start)..at(theirs.start + count))
        });
        let triangles: Vec<_> = sheet
            .triangles
            .iter()
            .filter(|t| touches(&t[..]))
            .map(|t| {
                let rest = t.map(|v| sheet.rest[v as usize]).map(|[u, w, _]| [u, w]);
                (t.map(|v| place[v as usize]), Triangle::new(rest))
            })
            .collect();
        let hinges = all.iter().filter(|h| touches(&h.corners));
        let hinges = hinges.map(|h| (h.corners.map(|v| place[v as usize]), weights(h))).collect();
        let mut inertia = vec![0.0; partition.count()];
        for (corners, triangle) in &triangles {
            for &v in corners.iter().filter(|v| (**v as usize) < partition.count()) {
                inertia[v as usize] += DENSITY * triangle.area / 3.0 / (DT * DT);
            }
        }
        let at: Vec<_> = mine.iter().map(|&v| sheet.x[v as usize]).collect();
        let local = Mutex::new([vec![[0.0; 3]; at.len()], vec![[0.0; 3]; at.len()]]);
        let borders = borders.collect();
        let stored = stored.then(Vec::new);
        Self { partition: partition.clone(), triangles, stored, hinges, inertia, at, borders, local }
    }

    fn blocks(&self, t: usize) -> Blocks {
        let (corners, triangle) = &self.triangles[t];
        blocks(&triangle.at(FABRIC, &corners.map(|v| self.at[v as usize])).curvature(false))
    }

    /// Evaluates K_e of all triangles, if they are stored.
    pub(crate) fn evaluate(&mut self) {
        if let Some(mut stored) = self.stored.take() {
            stored.clear();
            stored.extend((0..self.triangles.len()).map(|t| self.blocks(t)));
            self.stored = Some(stored);
        }
    }

    /// The inverse of the diagonal of A.
    pub(crate) fn jacobi(&self) -> Outcome<DistVector<C>> {
        let mut diagonal: Vec<[f64; 3]> = self.inertia.iter().map(|&m| [m; 3]).collect();
        for (t, (corners, _)) in self.triangles.iter().enumerate() {
            let k = self.stored.as_ref().map_or_else(|| self.blocks(t), |stored| stored[t]);
            for (&v, block) in corners.iter().zip([k[0], k[3], k[5]]) {
                if let Some(d) = diagonal.get_mut(v as usize) {
                    (0..3).for_each(|p| d[p] += block[4 * p]);
                }
            }
        }
        for (corners, weights) in &self.hinges {
            for (&v, w) in corners.iter().zip(weights) {
                if let Some(d) = diagonal.get_mut(v as usize) {
                    d.iter_mut().for_each(|d| *d += w * w);
                }
            }
        }
        Ok(self.partition.vector(diagonal.as_flattened().iter().map(|d| 1.0 / d).collect())?)
    }

    /// Sends own entries to the ranks that need them, and receives ghosts.
    fn exchange(&self, x: &mut [[f64; 3]]) -> Outcome<()> {
        let comm = self.partition.comm();
        for (to, sent, _) in self.borders.iter().filter(|(_, sent, _)| !sent.is_empty()) {
            let mut message = comm.buffer(24 * sent.len());
            pack(sent.iter().flat_map(|&v| x[v as usize]), &mut message);
            comm.send(*to, GHOSTS, message)?;
        }
        for (from, _, ghosts) in self.borders.iter().filter(|(_, _, ghosts)| !ghosts.is_empty()) {
            let message = comm.wait(comm.receive(*from, GHOSTS, 24 * ghosts.len())?)?;
            let to = x[ghosts.clone()].as_flattened_mut().iter_mut();
            to.zip(unpack(&message)).for_each(|(to, v)| *to = v);
            comm.recycle(message);
        }
        Ok(())
    }

    /// (1)
    fn multiply(&self, x: &[[f64; 3]], y: &mut [[f64; 3]]) {
        y.fill([0.0; 3]);
        for (t, (corners, _)) in self.triangles.iter().enumerate() {
            let evaluated;
            let k = match &self.stored {
                Some(stored) => &stored[t],
                None => {
                    evaluated = self.blocks(t);
                    &evaluated
                }
            };
            let [a, b, c] = corners.map(|v| x[v as usize]);
            let mut sums = [[0.0; 3]; 3];
            for p in 0..3 {
                for q in 0..3 {
                    let (to, across) = (3 * p + q, 3 * q + p);
                    sums[0][p] += k[0][to] * a[q] + k[1][to] * b[q] + k[2][to] * c[q];
                    sums[1][p] += k[1][across] * a[q] + k[3][to] * b[q] + k[4][to] * c[q];
                    sums[2][p] += k[2][across] * a[q] + k[4][across] * b[q] + k[5][to] * c[q];
                }
            }
            for (&v, sum) in corners.iter().zip(sums) {
                (0..3).for_each(|p| y[v as usize][p] += sum[p]);
            }
        }
        for (corners, w) in &self.hinges {
            let at = corners.map(|v| x[v as usize]);
            let bend: [f64; 3] = std::array::from_fn(|p| (0..4).map(|b| w[b] * at[b][p]).sum::<f64>());
            for (&v, w) in corners.iter().zip(w) {
                (0..3).for_each(|p| y[v as usize][p] += w * bend[p]);
            }
        }
        for ((y, x), mass) in y.iter_mut().zip(x).zip(&self.inertia) {
            (0..3).for_each(|p| y[p] += mass * x[p]);
        }
    }
}

impl<C: Communicator> LinearOperator<DistVector<C>> for Elements<C> {
    fn shape(&self) -> (usize, usize) {
        let n = self.partition.layout().unknowns();
        (n, n)
    }

    fn apply(&self, x: &DistVector<C>, y: &mut DistVector<C>) {
        let Ok(mut local) = self.local.lock() else { return y.own_mut().fill(f64::NAN) };
        let [all, sums] = &mut *local;
        all.as_flattened_mut()[..x.own().len()].copy_from_slice(x.own());
        if self.exchange(all).is_err() {
            return y.own_mut().fill(f64::NAN);
        }
        self.multiply(all, sums);
        y.own_mut().copy_from_slice(&sums.as_flattened()[..x.own().len()]);
    }
}

/// The inverse of a diagonal.
pub(crate) struct Diagonal<C: Communicator>(pub(crate) DistVector<C>);

impl<C: Communicator> Preconditioner<DistVector<C>> for Diagonal<C> {
    fn apply(&mut self, r: &DistVector<C>, z: &mut DistVector<C>) {
        z.hadamard(&r.scalar(1.0), &self.0, r, &r.scalar(0.0));
    }

    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }

    fn size(&self) -> Option<usize> {
        Some(self.0.size())
    }
}
