//! The algorithm if every fine node follows at most one coarse node: blocks w ⊗ I_3 with four weights, as in
//! skinning with constant weights, and identities.
//!
//! | symbol | what |
//! |---|---|
//! | I, J | the coarse nodes of the fine nodes i, j |
//! | Q_iJ | Σⱼ w_jᵀ ⊗ A_ij over the neighbours j of i that follow J |
//! | (A_c)_IJ | Σᵢ w_i ⊗ Q_iJ over the nodes i of I |
//!
//! Fine rows are read once, in their natural order, so that A streams from memory, and Q_iJ lives only until row i is
//! added to A_c. The blocks of A_c to which a row contributes are listed once. A task has the coarse nodes of a region:
//! coarse nodes are sorted by their first fine node, since their numbers may be in any order. Every block of A_c is
//! summed in the order of the fine nodes, whatever the division. For four weights the sums are in the order of
//! `weights`, weight by weight, until the last fine node of a coarse node has been added.

use coarsen_core::Real;
use coarsen_core::parallel::{self, Shared};
use coarsen_core::simd::{self, Kernel, Pack, Set};

use super::blocks::whole;
use super::weights::{C, Q, add_affine, affine_in_order, read, write};
use crate::prolongation::Form;
use crate::{Bsr, Pattern, ProlongationRef, SparseError, TransposePlan};

/// How many rows of A ahead values are prefetched.
const AHEAD: usize = 2;

/// The lists of all tasks.
#[derive(Clone, Debug)]
pub(super) struct Piecewise<T> {
    tasks: Vec<Task<T>>,
    /// Whether P has weights; otherwise it has identities.
    weights: bool,
}

/// The fine rows of a task.
#[derive(Clone, Debug)]
struct Task<T> {
    /// The fine nodes, in order.
    rows: Vec<u32>,
    /// For each of these nodes the blocks of A_c to which its row contributes, in the order of the row; for identities
    /// one for each block of the row.
    blocks: Vec<u32>,
    /// The coarse nodes of the blocks of one row, and these blocks of Q.
    open: Vec<u32>,
    q: Vec<T>,
}

/// The matrices of a product.
pub(super) struct Product<'a, T> {
    pub(super) a: &'a Bsr<T>,
    pub(super) p: ProlongationRef<'a, T>,
    pub(super) transpose: &'a TransposePlan,
    pub(super) coarse: &'a Pattern,
}

impl<T: Real> Piecewise<T> {
    /// Whether P, on the pattern of the lists, has their form.
    pub(super) fn takes(&self, p: &ProlongationRef<'_, T>) -> bool {
        match p.form {
            Form::Blocks(_) => false,
            Form::Weights(..) => self.weights,
            Form::Identities(_) => !self.weights,
        }
    }

    /// Whether P has the form of this algorithm.
    pub(super) fn fits(p: &ProlongationRef<'_, T>) -> bool {
        let form = match p.form {
            Form::Blocks(_) => false,
            Form::Weights(_, m) => m == 4 && p.block == (3, 12),
            Form::Identities(_) => true,
        };
        form && (0..p.pattern.rows()).all(|i| p.pattern.range(i).len() < 2)
    }

    /// The lists for a product, in one task of about equal work for each thread.
    pub(super) fn new(product: &Product<'_, T>) -> Self {
        let Product { a, p, transpose, coarse } = product;
        let tasks = if parallel::worth(a.nnz()) { rayon::current_num_threads() } else { 1 };
        let (fine, restriction) = (a.pattern(), transpose.pattern());
        let mut order: Vec<u32> = (0..restriction.rows() as u32).collect();
        order.sort_unstable_by_key(|&c| restriction.row(c as usize).first().copied());
        let work =
            |c: u32| restriction.row(c as usize).iter().map(|&i| fine.range(i as usize).len()).sum::<usize>();
        let all = order.iter().map(|&c| work(c)).sum::<usize>().max(1);
        let (mut task_of, mut done) = (vec![0; order.len()], 0);
        for &c in &order {
            task_of[c as usize] = (done * tasks / all).min(tasks - 1);
            done += work(c);
        }
        let weights = matches!(p.form, Form::Weights(..));
        let empty = Task { rows: Vec::new(), blocks: Vec::new(), open: Vec::new(), q: Vec::new() };
        let mut lists = vec![empty; tasks];
        let mut seen = Vec::new();
        for i in 0..fine.rows() {
            let Some(&own) = p.pattern.row(i).first() else { continue };
            let task = &mut lists[task_of[own as usize]];
            task.rows.push(i as u32);
            seen.clear();
            for &j in fine.row(i) {
                let Some(&column) = p.pattern.row(j as usize).first() else { continue };
                if weights && seen.contains(&column) {
                    continue;
                }
                seen.push(column);
                let at = coarse.find(own as usize, column as usize).expect("a block of the product");
                task.blocks.push(at as u32);
            }
            if weights && task.open.len() < seen.len() {
                task.open.resize(seen.len(), 0);
                task.q.resize(seen.len() * Q, T::zero());
            }
        }
        lists.retain(|task| !task.rows.is_empty());
        Self { tasks: lists, weights }
    }

    /// Writes the values of A_c.
    pub(super) fn refill(&mut self, product: &Product<'_, T>, values: &mut [T]) {
        assert_eq!(
            values.len(),
            product.coarse.len() * product.p.block.1.pow(2),
            "the values of a coarse matrix"
        );
        let several = self.tasks.len() > 1 && parallel::worth(product.a.nnz());
        let c = Shared::new(values);
        each(&mut self.tasks, several, &|task| match product.p.form {
            Form::Weights(weights, _) => simd::run(Affine { product, weights, task, c }),
            _ => simd::run(Sums { product, task, c }),
        });
    }

    pub(super) fn bytes(&self) -> usize {
        let of = |task: &Task<T>| {
            4 * (task.rows.len() + task.blocks.len() + task.open.len()) + size_of_val(&task.q[..])
        };
        self.tasks.iter().map(of).sum()
    }
}

/// The pattern of Pᵀ A P if every fine node has at most one coarse node.
pub(super) fn coarse_pattern(
    fine: &Pattern,
    p: &Pattern,
    restriction: &Pattern,
) -> Result<Pattern, SparseError> {
    let coarse = p.columns();
    let (mut offsets, mut indices) = (Vec::with_capacity(coarse + 1), Vec::new());
    let mut last_row = vec![u32::MAX; coarse]; // the coarse row that met each column last
    offsets.push(0);
    for row in 0..coarse {
        let begin = indices.len();
        for &i in restriction.row(row) {
            for &j in fine.row(i as usize) {
                if let Some(&column) = p.row(j as usize).first()
                    && last_row[column as usize] != row as u32
                {
                    last_row[column as usize] = row as u32;
                    indices.push(column);
                }
            }
        }
        indices[begin..].sort_unstable();
        offsets.push(indices.len());
    }
    Pattern::new(coarse, offsets, indices)
}

/// Calls `f` for every task, in parallel if there is enough work.
fn each<T: Real>(tasks: &mut [Task<T>], several: bool, f: &(dyn Fn(&mut Task<T>) + Sync)) {
    if tasks.len() < 2 || !several {
        return tasks.iter_mut().for_each(f);
    }
    let (left, right) = tasks.split_at_mut(tasks.len() / 2);
    parallel::join(|| each(left, true, f), || each(right, true, f));
}

impl<T: Real> Product<'_, T> {
    /// The coarse node I of fine node i, which has one, and whether i is its first and its last fine node.
    #[inline(always)]
    fn ends(&self, i: usize) -> (usize, bool, bool) {
        let own = self.p.pattern.indices()[self.p.pattern.range(i).start] as usize;
        let nodes = self.transpose.pattern().row(own);
        (own, nodes[0] as usize == i, nodes[nodes.len() - 1] as usize == i)
    }

    /// Prefetches the row of A at place `at` of a list.
    #[inline(always)]
    fn prefetch(&self, rows: &[u32], at: usize) {
        let Some(&i) = rows.get(at + AHEAD) else { return };
        let (range, area) = (self.a.pattern().range(i as usize), self.a.block().0.pow(2));
        let row = &self.a.values()[range.start * area..range.end * area];
        row.iter().step_by(64 / size_of::<T>()).for_each(|v| simd::prefetch(v));
    }
}

/// The rows of a task for four weights of three unknowns.
struct Affine<'a, T> {
    product: &'a Product<'a, T>,
    weights: &'a [T],
    task: &'a mut Task<T>,
    c: Shared<'a, T>,
}

impl<T: Real> Kernel<T> for Affine<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Set<T>>(self, set: S) {
        let Self { product, weights, task, c } = self;
        let Task { rows, blocks, open, q } = task;
        let (p, a) = (product.p.pattern, product.a.pattern());
        let mut next = 0;
        for (at, &i) in rows.iter().enumerate() {
            let i = i as usize;
            product.prefetch(rows, at);
            let (own, first, last) = product.ends(i);
            let own = product.coarse.range(own);
            // SAFETY: only this task has nodes of the coarse node `own`, whose row of A_c has these values.
            let row = unsafe { std::slice::from_raw_parts_mut(c.get().add(own.start * C), own.len() * C) };
            if first {
                row.fill(T::zero());
            }
            // Q_i: the sums of the open block stay in registers.
            let (mut count, mut current, mut sums) = (0, usize::MAX, [S::Four::zero(set); 9]);
            let values = product.a.values()[a.range(i).start * 9..].chunks_exact(9);
            for (&j, a) in a.row(i).iter().zip(values) {
                let range = p.range(j as usize);
                if range.is_empty() {
                    continue;
                }
                let column = p.indices()[range.start];
                if current == usize::MAX || open[current] != column {
                    if current != usize::MAX {
                        write(sums, &mut q[current * Q..(current + 1) * Q]);
                    }
                    match open[..count].iter().position(|&known| known == column) {
                        Some(known) => {
                            current = known;
                            sums = read(set, &q[current * Q..(current + 1) * Q]);
                        }
                        None => {
                            (current, count) = (count, count + 1);
                            open[current] = column;
                            sums = [S::Four::zero(set); 9];
                        }
                    }
                }
                let w: S::Four = whole(set, &weights[range.start * 4..(range.start + 1) * 4], 0);
                for (sum, &a) in sums.iter_mut().zip(&a[..9]) {
                    *sum = S::Four::splat(set, a).mul_add(w, *sum);
                }
            }
            if current != usize::MAX {
                write(sums, &mut q[current * Q..(current + 1) * Q]);
            }
            let from = p.range(i).start;
            let w = &weights[from * 4..(from + 1) * 4];
            for (&block, q) in blocks[next..next + count].iter().zip(q.chunks_exact(Q)) {
                let at = block as usize - own.start;
                add_affine(set, w, q, &mut row[at * C..(at + 1) * C]);
            }
            next += count;
            if last {
                affine_in_order(row);
            }
        }
    }
}

/// The rows of a task for identities.
struct Sums<'a, T> {
    product: &'a Product<'a, T>,
    task: &'a mut Task<T>,
    c: Shared<'a, T>,
}

impl<T: Real> Kernel<T> for Sums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Set<T>>(self, _: S) {
        let Self { product, task, c } = self;
        let (p, a, area) = (product.p.pattern, product.a.pattern(), product.p.block.1.pow(2));
        let mut blocks = task.blocks.iter();
        for (at, &i) in task.rows.iter().enumerate() {
            let i = i as usize;
            product.prefetch(&task.rows, at);
            let (own, first, _) = product.ends(i);
            let own = product.coarse.range(own);
            // SAFETY: only this task has nodes of the coarse node `own`, whose row of A_c has these values.
            let row =
                unsafe { std::slice::from_raw_parts_mut(c.get().add(own.start * area), own.len() * area) };
            if first {
                row.fill(T::zero());
            }
            let values = product.a.values()[a.range(i).start * area..].chunks_exact(area);
            for (_, a) in a.row(i).iter().zip(values).filter(|(j, _)| !p.range(**j as usize).is_empty()) {
                let &block = blocks.next().expect("a block of A_c for each block of A");
                let at = block as usize - own.start;
                row[at * area..(at + 1) * area].iter_mut().zip(a).for_each(|(c, &a)| *c += a);
            }
        }
    }
}
