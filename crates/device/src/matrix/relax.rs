//! [`Matrix`] for a device: relaxation and new values.

use coarsen_backend::{Matrix, SweepDirection, check_range};
use coarsen_core::{Error, Real};
use coarsen_sparse::{Bsr, Pattern};

use super::operand::Product;
use super::{DeviceMatrix, RowRange};
use crate::queue::Arg;
use crate::{DeviceBackend, DeviceBlocks, DeviceRows, DeviceVector};

impl<V: Real, S: Real> Matrix<DeviceBackend<V, S>> for DeviceMatrix<V, S> {
    fn apply_add(&self, a: V, x: &DeviceVector<V>, b: V, y: &mut DeviceVector<V>) {
        self.operand().apply_add(a, x, b, y);
    }

    /// Enqueues one launch per set and range of rows.
    fn relax(
        &self,
        rows: &DeviceRows<V>,
        sweep: SweepDirection,
        d: &DeviceBlocks<V, S>,
        omega: V,
        b: &DeviceVector<V>,
        x: &mut DeviceVector<V>,
    ) {
        let operand = self.operand();
        operand.assert_square(d, &[b, x], "relax");
        self.backend.assert_same(&rows.backend);
        assert!(Pattern::same(&rows.pattern, &self.pattern), "relax: row sets of another pattern");
        let backward = Arg::Index(u32::from(sweep == SweepDirection::Backward));
        let [chunks, d, b, x] = [&rows.chunks, &d.values, &b.memory, &x.memory].map(Arg::Memory);
        let mut queue = self.backend.queue();
        let mut run = |&(first, count): &(u32, u32), range: &RowRange| {
            let [first, there] = [first, count].map(Arg::Index);
            let more = [chunks, first, there, backward, d, Arg::Number(omega), b, x];
            operand.launch(&mut queue, Product::Relax, range, count as usize, &more);
        };
        // A chunk may reach over several ranges, so each set takes them in the direction of the sweep.
        match sweep {
            SweepDirection::Forward => {
                rows.sets.iter().for_each(|set| self.ranges.iter().for_each(|range| run(set, range)));
            }
            SweepDirection::Backward => {
                let sets = rows.sets.iter().rev();
                sets.for_each(|set| self.ranges.iter().rev().for_each(|range| run(set, range)));
            }
        }
    }

    fn relax_into(
        &self,
        d: &DeviceBlocks<V, S>,
        omega: V,
        beta: V,
        b: &DeviceVector<V>,
        x: &DeviceVector<V>,
        s: &mut DeviceVector<V>,
        y: &mut DeviceVector<V>,
    ) {
        self.operand().relax_into(d, [omega, beta], b, x, s, y);
    }

    fn set_values<T: Real>(&mut self, host: &Bsr<T>) -> Result<(), Error> {
        self.check_same(host.pattern(), host.block())?;
        check_range::<T, S>("the matrix", host.values())?;
        self.not_assembled();
        let (mut queue, area) = (self.backend.queue(), self.block.0 * self.block.1);
        self.ranges.iter().try_for_each(|RowRange { layout, values, .. }| match layout.keeps::<T, S>() {
            true => queue.write(values, layout.values(host)),
            false => queue.put(values, layout.slots * area, |to: &mut [S]| layout.arrange(host, to)),
        })
    }
}
