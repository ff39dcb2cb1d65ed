//! Rows of P for one vector of scalars, without loops over blocks.
//!
//! Sums are in the order of those for blocks. A row has few columns, which are searched one by one.

use std::ops::Range;

use coarsen_backend::DenseBlocks;
use coarsen_core::Real;

use super::{
    FEW, Filter, PROLONGATION_GROWTH, ProlongationRows, ProlongationSmoother, RowPattern, STRENGTH_PULL,
};

/// The columns of a row with (A P̂)ᵢ, then with Pᵢ.
type Entries<T> = Vec<(u32, T)>;

/// The columns of a row of P for which a task has memory at first, in the mean.
const COLUMNS: usize = 3;

impl<T: Real> ProlongationSmoother<'_, T> {
    /// Computes rows of P for scalars.
    pub(super) fn scalars(&self, range: Range<usize>) -> ProlongationRows<T> {
        let mut rows = ProlongationRows {
            ends: Vec::with_capacity(range.len()),
            columns: Vec::with_capacity(COLUMNS * range.len()),
            values: Vec::with_capacity(COLUMNS * range.len()),
            plain: vec![],
        };
        let mut row = Vec::new();
        for i in range {
            if !self.scalar_row(i, &mut row) {
                rows.plain.push(i as u32);
            }
            sort(&mut row);
            let limit = match self.reach {
                RowPattern::Pruned(share) => Some(T::from_f64(share) * largest(&row)),
                RowPattern::Own | RowPattern::Pattern(_) => None,
            };
            let own = self.aggregates[i];
            for &(g, value) in &row {
                // As for blocks, the aggregate of the node is kept.
                if g == own || limit.is_none_or(|limit| value.abs() > limit) {
                    rows.columns.push(g);
                    rows.values.push(value);
                }
            }
            rows.ends.push(rows.columns.len() as u32);
        }
        rows
    }

    /// Computes row i of P. Returns `false` if it was computed with A although some of its couplings are weak.
    #[inline(always)]
    fn scalar_row(&self, i: usize, row: &mut Entries<T>) -> bool {
        if self.high_degree.contains(i) {
            self.begin_scalars(i, row);
            self.add_own_scalar(i, row);
            return true;
        }
        let weak = |filter: &&Filter<'_, T>| !filter.strong[self.a.pattern().range(i)].iter().all(|&s| s);
        let filter = self.filter.filter(weak);
        if let Some(filter) = filter
            && self.filtered_scalars(i, filter, row)
        {
            return true;
        }
        self.begin_scalars(i, row);
        if self.parts.omega > 0.0 {
            self.product_of_scalars(i, row, |_, _, value| Some(value));
            step(row, self.parts.inverses.values()[i], self.parts.omega);
        }
        self.add_own_scalar(i, row);
        filter.is_none()
    }

    /// Computes row i of P = (I − ω D_F⁻¹A_F) P̂. Returns `false` if the row needs A instead, for the reasons of blocks.
    fn filtered_scalars(&self, i: usize, filter: &Filter<'_, T>, row: &mut Entries<T>) -> bool {
        let Filter { strong, sizes } = filter;
        let (pattern, values) = (self.a.pattern(), self.a.values());
        let (mut lumped, mut couplings) = (T::zero(), T::zero());
        for at in pattern.range(i) {
            let (j, value) = (pattern.indices()[at] as usize, values[at]);
            let share = match (j == i, strong[at]) {
                (true, _) => T::one(),
                (false, true) => {
                    couplings += value.abs();
                    continue;
                }
                (false, false) if sizes[i] > T::zero() => sizes[j] / sizes[i],
                (false, false) => continue,
            };
            lumped += share * value;
        }
        let held = couplings > T::zero() && couplings <= T::from_f64(STRENGTH_PULL) * lumped;
        let mut inverse = [T::zero()];
        let regular = held && DenseBlocks::invert_one(&[lumped], &mut inverse, 1);
        if !regular || inverse[0] <= T::zero() {
            return false;
        }
        self.begin_scalars(i, row);
        self.product_of_scalars(i, row, |at, j, value| match j == i {
            true => Some(lumped),
            false => strong[at].then_some(value),
        });
        step(row, inverse[0], self.parts.omega_filtered);
        self.add_own_scalar(i, row);
        let own = self.basis.scalars()[i].abs();
        matches!(self.reach, RowPattern::Pattern(_)) || largest(row) <= T::from_f64(PROLONGATION_GROWTH) * own
    }

    /// Resets a row to its initial columns.
    #[inline(always)]
    fn begin_scalars(&self, i: usize, row: &mut Entries<T>) {
        row.clear();
        match self.reach {
            RowPattern::Pattern(pattern) => row.extend(pattern.row(i).iter().map(|&g| (g, T::zero()))),
            RowPattern::Pruned(_) | RowPattern::Own if self.aggregates[i] != u32::MAX => {
                row.push((self.aggregates[i], T::zero()));
            }
            RowPattern::Pruned(_) | RowPattern::Own => (),
        }
    }

    /// Computes (A P̂)ᵢ from the index, column and value of each stored entry in `of`. The row is empty for a decoupled node.
    #[inline(always)]
    fn product_of_scalars(&self, i: usize, row: &mut Entries<T>, of: impl Fn(usize, usize, T) -> Option<T>) {
        let open = matches!(self.reach, RowPattern::Pruned(_)) && self.aggregates[i] != u32::MAX;
        let (range, q) = (self.a.pattern().range(i), self.basis.scalars());
        let stored = self.a.pattern().row(i).iter().zip(&self.a.values()[range.clone()]);
        let (mut last, mut place) = (u32::MAX, None);
        for (at, (&j, &value)) in range.zip(stored) {
            let j = j as usize;
            let g = self.aggregates[j];
            let Some(value) = of(at, j, value).filter(|_| g != u32::MAX) else { continue };
            if g != last {
                (last, place) = (g, row.iter().position(|entry| entry.0 == g)); // neighbours often share an aggregate
                if open && place.is_none() {
                    place = Some(row.len());
                    row.push((g, T::zero()));
                }
            }
            if let Some(place) = place {
                row[place].1 += value * q[j];
            }
        }
    }

    /// Adds P̂ᵢ.
    #[inline(always)]
    fn add_own_scalar(&self, i: usize, row: &mut Entries<T>) {
        let own = self.aggregates[i];
        if let Some(entry) = row.iter_mut().find(|entry| entry.0 == own) {
            entry.1 += self.basis.scalars()[i];
        }
    }
}

/// Computes −ω dᵢ (A P̂)ᵢ.
#[inline(always)]
fn step<T: Real>(row: &mut [(u32, T)], d: T, omega: f64) {
    let factor = -T::from_f64(omega) * d;
    row.iter_mut().for_each(|(_, value)| *value *= factor);
}

/// Returns the largest absolute value, 0 for an empty row.
#[inline(always)]
fn largest<T: Real>(row: &[(u32, T)]) -> T {
    row.iter().fold(T::zero(), |most, (_, value)| if value.abs() > most { value.abs() } else { most })
}

/// Sorts the columns, which are usually few.
#[inline(always)]
fn sort<T: Real>(row: &mut [(u32, T)]) {
    if row.len() > FEW {
        return row.sort_unstable_by_key(|entry| entry.0);
    }
    for end in 1..row.len() {
        let mut at = end;
        while at > 0 && row[at - 1].0 > row[at].0 {
            row.swap(at - 1, at);
            at -= 1;
        }
    }
}
