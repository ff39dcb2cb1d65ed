//! A = L D Lᵀ for symmetric A, definite or indefinite: D has blocks of order 1 and 2.
//!
//! The matrix is eliminated front by front along the elimination tree of an approximate minimum degree ordering. A
//! front is the full matrix of a supernode and of the rows below it; what its pivots leave of the other rows is
//! added to the front of its parent. A column without a sufficient pivot is *delayed*: it is eliminated in the front
//! of the parent, where its row has met more rows. So the entries of L are bounded, and the factorisation is as
//! stable as one of a full matrix; rows with a zero diagonal need no special treatment.
//!
//! *Reference* Duff and Reid 1983, "The multifrontal solution of indefinite sparse symmetric linear equations".

use coarsen_sparse::Bsr;
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::cholesky::SymbolicCholeskyRaw;

use super::columns::{Columns, Part, analyse};
use super::products;
use crate::DirectError;
use crate::factorization::{FactorStats, Factorization, Pivots};
use crate::front::{Front, Fronts};
use crate::own::{fill, more, zeros};

/// Always chooses supernodes, since the entrywise variant does not pivot.
const SUPERNODES: SupernodalThreshold = SupernodalThreshold(-1.0);

/// The threshold of a pivot: a larger one delays more columns.
const THRESHOLD: f64 = 0.01;

/// No parent.
const NONE: usize = usize::MAX;

/// The fronts of A in the order of elimination, and L and D once they are computed. Rows are rows of A.
pub(crate) struct Ldlt {
    n: usize,
    tree: Tree,
    /// S: powers of two that equilibrate A, so that rows of other units do not delay pivots. S A S is factored.
    scales: Vec<f64>,
    /// max |aᵢⱼ| of each row of S A S, to which its pivot is compared.
    sizes: Vec<f64>,
    factor: Fronts,
    work: Work,
}

/// The fronts before elimination, children before parents.
struct Tree {
    lower: Columns,
    /// The rows of each front: first those of its supernode.
    starts: Vec<usize>,
    rows: Vec<u32>,
    widths: Vec<u32>,
    /// The number of fronts that are added to each front; they were eliminated last.
    children: Vec<u32>,
    /// The entries of each row in the order of elimination, without those in columns eliminated before: the column, and
    /// the index of the value in the lower triangle.
    entries: Vec<usize>,
    columns: Vec<u32>,
    places: Vec<usize>,
    sums: Sums,
}

/// The memory of an elimination.
#[derive(Default)]
struct Work {
    front: Vec<f64>,
    /// L D of a front.
    w: Vec<f64>,
    /// What eliminated fronts leave to their parents: lower triangles by columns.
    left: Vec<f64>,
    left_rows: Vec<u32>,
    /// The number of rows left by each front, and how many of them have a delayed column.
    pending: Vec<(usize, usize)>,
    /// The position of each row in the current front.
    local: Vec<u32>,
    position: Vec<u32>,
    y: Vec<f64>,
}

impl Tree {
    fn of(a: &Bsr<f64>) -> Result<Self, DirectError> {
        let (n, lower) = (a.shape().0, Columns::new(a, Part::Lower));
        let symbolic = analyse(a, &lower, SUPERNODES)?;
        let SymbolicCholeskyRaw::Supernodal(nodes) = symbolic.raw() else {
            unreachable!("the threshold is below 0")
        };
        let columns = |s: usize| nodes.supernode_begin()[s]..nodes.supernode_end()[s];
        let count = nodes.n_supernodes();
        let mut node_of: Vec<usize> = zeros(n)?;
        (0..count).for_each(|s| node_of[columns(s)].fill(s));
        let parent = |s: usize| nodes.supernode(s).pattern().iter().min().map_or(NONE, |&k| node_of[k]);

        let order = symbolic.perm().map(|p| p.arrays().0);
        let row = |k: usize| order.map_or(k, |order| order[k]) as u32;
        let (mut starts, mut rows) = (vec![0], Vec::new());
        let (mut widths, mut children) = (Vec::new(), Vec::new());
        let mut position: Vec<u32> = zeros(n)?;
        let mut sums = Sums::default();
        for (s, count) in postorder(&(0..count).map(parent).collect::<Vec<_>>()) {
            let (columns, below) = (columns(s), nodes.supernode(s).pattern());
            for k in columns.clone() {
                position[row(k) as usize] = (sums.columns + k - columns.start) as u32;
            }
            sums.add(columns.len(), below.len(), count);
            rows.extend(columns.clone().map(row).chain(below.iter().map(|&k| row(k))));
            starts.push(rows.len());
            widths.push(columns.len() as u32);
            children.push(count as u32);
        }
        let (entries, columns, places) = (Vec::new(), Vec::new(), Vec::new());
        let mut tree = Self { lower, starts, rows, widths, children, entries, columns, places, sums };
        tree.scatter(&position)?;
        Ok(tree)
    }

    /// Sorts the entries of the lower triangle of A by the row that is eliminated first.
    fn scatter(&mut self, position: &[u32]) -> Result<(), DirectError> {
        fill(&mut self.entries, position.len() + 1)?;
        let lower = &self.lower;
        lower.each(|i, j, _| self.entries[position[i].min(position[j]) as usize] += 1);
        let mut end = 0;
        for count in &mut self.entries {
            end += *count;
            *count = end;
        }
        fill(&mut self.columns, end)?;
        fill(&mut self.places, end)?;
        lower.each(|i, j, at| {
            let (first, later) = if position[i] < position[j] { (position[i], j) } else { (position[j], i) };
            let to = &mut self.entries[first as usize];
            *to -= 1;
            (self.columns[*to], self.places[*to]) = (later as u32, at);
        });
        Ok(())
    }

    /// The number of bytes held.
    fn bytes(&self) -> usize {
        self.lower.bytes()
            + 8 * (self.starts.len() + self.entries.len() + self.places.len())
            + 4 * (self.rows.len() + self.widths.len() + self.children.len() + self.columns.len())
    }
}

/// The supernodes with their number of children, children before parents, and the descendants of a supernode
/// immediately before it.
fn postorder(parents: &[usize]) -> Vec<(usize, usize)> {
    let mut children = vec![Vec::new(); parents.len()];
    for (s, &parent) in parents.iter().enumerate().filter(|(_, parent)| **parent != NONE) {
        children[parent].push(s);
    }
    let roots = (0..parents.len()).filter(|&s| parents[s] == NONE);
    let (mut order, mut stack) = (Vec::with_capacity(parents.len()), roots.collect::<Vec<_>>());
    while let Some(s) = stack.pop() {
        order.push((s, children[s].len()));
        stack.append(&mut children[s]);
    }
    order.reverse();
    order
}

/// The size of the factorisation, if no column is delayed.
#[derive(Default)]
struct Sums {
    columns: usize,
    nnz: usize,
    flops: f64,
    /// The entries of all columns of L, of the largest front and its L D, and of what fronts leave at most.
    stored: usize,
    front: usize,
    w: usize,
    most: usize,
    /// What the fronts so far leave.
    left: Vec<usize>,
    now: usize,
}

impl Sums {
    /// Adds a front of `width` columns and `below` other rows.
    fn add(&mut self, width: usize, below: usize, children: usize) {
        self.columns += width;
        for c in (1..=width).map(|j| below + j) {
            (self.nnz, self.flops) = (self.nnz + c, self.flops + (c * c) as f64);
        }
        let m = width + below;
        self.stored += m * width;
        (self.front, self.w) = (self.front.max(m * m), self.w.max(m * width));
        let kept = self.left.len() - children;
        self.now -= self.left.drain(kept..).sum::<usize>();
        if below > 0 {
            self.left.push(below * (below + 1) / 2);
            self.now += below * (below + 1) / 2;
        }
        self.most = self.most.max(self.now);
    }
}

impl Ldlt {
    /// Orders A and determines the structure of L; computes no numbers yet.
    pub(crate) fn plan(a: &Bsr<f64>) -> Result<Self, DirectError> {
        let (n, tree) = (a.shape().0, Tree::of(a)?);
        let mut work = Work::default();
        fill(&mut work.local, n)?;
        fill(&mut work.y, n)?;
        let (mut scales, mut sizes) = (Vec::new(), Vec::new());
        fill(&mut scales, n)?;
        fill(&mut sizes, n)?;
        Ok(Self { n, tree, scales, sizes, factor: Fronts::default(), work })
    }

    /// Adds up front s from A and from what its children leave, after the first `before` rows; its rows are the
    /// last ones of `rows`. Returns the numbers of its rows and of the columns that may have pivots.
    fn assemble(&mut self, s: usize, before: usize) -> Result<(usize, usize), DirectError> {
        let (tree, work, start) = (&self.tree, &mut self.work, self.factor.rows.len());
        let rows = &tree.rows[tree.starts[s]..tree.starts[s + 1]];
        let width = tree.widths[s] as usize;
        let children = work.pending.len() - tree.children[s] as usize..work.pending.len();
        let delayed: usize = work.pending[children.clone()].iter().map(|c| c.1).sum();
        let (m, p) = (rows.len() + delayed, width + delayed);
        more(&mut self.factor.rows, m)?;
        self.factor.rows.extend_from_slice(&rows[..width]);
        let first = work.left_rows.len() - work.pending[children.clone()].iter().map(|c| c.0).sum::<usize>();
        let mut from = first;
        for &(count, delayed) in &work.pending[children.clone()] {
            self.factor.rows.extend_from_slice(&work.left_rows[from..from + delayed]);
            from += count;
        }
        self.factor.rows.extend_from_slice(&rows[width..]);
        for (at, &i) in self.factor.rows[start..].iter().enumerate() {
            work.local[i as usize] = at as u32;
        }

        if work.front.len() < m * m {
            fill(&mut work.front, m * m)?;
        }
        if work.w.len() < m * p {
            fill(&mut work.w, m * p)?;
        }
        (0..m).for_each(|j| work.front[j * m + j..(j + 1) * m].fill(0.0));
        for k in 0..width {
            for e in tree.entries[before + k]..tree.entries[before + k + 1] {
                let j = work.local[tree.columns[e] as usize] as usize;
                work.front[k.min(j) * m + k.max(j)] += tree.lower.value(tree.places[e]);
            }
        }
        let triangle = |q: usize| q * (q + 1) / 2;
        let sum: usize = work.pending[children.clone()].iter().map(|c| triangle(c.0)).sum();
        let begin = work.left.len() - sum;
        let (mut from, mut row) = (begin, first);
        for &(count, _) in &work.pending[children.clone()] {
            work.position.clear();
            work.position.extend(work.left_rows[row..row + count].iter().map(|&i| work.local[i as usize]));
            for (j, &to) in work.position.iter().enumerate() {
                let column = &work.left[from..from + count - j];
                for (&i, v) in work.position[j..].iter().zip(column) {
                    work.front[to.min(i) as usize * m + to.max(i) as usize] += v;
                }
                from += count - j;
            }
            row += count;
        }
        work.left.truncate(begin);
        work.left_rows.truncate(first);
        work.pending.truncate(children.start);
        Ok((m, p))
    }

    /// Stores the columns of L of an eliminated front, and what it leaves to its parent.
    fn store(&mut self, m: usize, p: usize, k: usize) -> Result<(), DirectError> {
        let work = &mut self.work;
        more(&mut self.factor.l, m * k)?;
        self.factor.l.extend_from_slice(&work.front[..m * k]);
        self.factor.sizes.push((m, k));
        let left = m - k;
        if left > 0 {
            more(&mut work.left, left * (left + 1) / 2)?;
            (k..m).for_each(|j| work.left.extend_from_slice(&work.front[j * m + j..(j + 1) * m]));
            work.left_rows.extend_from_slice(&self.factor.rows[self.factor.rows.len() - left..]);
            work.pending.push((left, p - k));
        }
        Ok(())
    }
}

impl Factorization for Ldlt {
    fn factor(&mut self, a: &Bsr<f64>) -> Result<Pivots, DirectError> {
        self.tree.lower.refill(a);
        self.tree.lower.equilibrate(&mut self.scales, &mut self.sizes);
        products::reserve()?;
        self.factor.sizes.clear();
        self.factor.rows.clear();
        self.factor.l.clear();
        fill(&mut self.factor.below, self.n)?;
        let (work, sums) = (&mut self.work, &self.tree.sums);
        if work.front.is_empty() {
            more(&mut self.factor.l, sums.stored)?;
            more(&mut self.factor.rows, self.tree.rows.len())?;
            more(&mut work.left, sums.most)?;
            fill(&mut work.front, sums.front)?;
            fill(&mut work.w, sums.w)?;
        }
        work.left.clear();
        work.left_rows.clear();
        work.pending.clear();
        let (mut before, mut done) = (0, 0);
        for s in 0..self.tree.widths.len() {
            let (m, p) = self.assemble(s, before)?;
            before += self.tree.widths[s] as usize;
            let start = self.factor.rows.len() - m;
            let front = &mut Front {
                m,
                p,
                f: &mut self.work.front,
                w: &mut self.work.w,
                below: &mut self.factor.below[done..],
                rows: &mut self.factor.rows[start..],
                threshold: THRESHOLD,
                by_faer: true,
            };
            let k = front.eliminate();
            self.store(m, p, k)?;
            done += k;
        }
        Ok(self.factor.pivots(&self.sizes))
    }

    /// x = S L⁻ᵀ D⁻¹ L⁻¹ S x.
    fn solve(&mut self, x: &mut [f64]) {
        x.iter_mut().zip(&self.scales).for_each(|(x, s)| *x *= s);
        self.factor.solve(x, &mut self.work.y);
        x.iter_mut().zip(&self.scales).for_each(|(x, s)| *x *= s);
    }

    fn stats(&self) -> FactorStats {
        let sums = &self.tree.sums;
        let values = sums.stored + sums.front + sums.w + sums.most + 4 * self.n;
        FactorStats {
            nnz: sums.nnz,
            bytes: 8 * values + 4 * (self.tree.rows.len() + self.n) + self.tree.bytes(),
            products: products::buffer(),
            flops: sums.flops,
        }
    }
}
