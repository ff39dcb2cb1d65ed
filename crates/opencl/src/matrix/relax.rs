//! What a place asks of a matrix beside its products: relaxation, and new values.

use coarsen_backend::{Matrix, Sweep, check_range};
use coarsen_core::{Error, Real};
use coarsen_sparse::{Bsr, Pattern};

use super::{DeviceMatrix, Product};
use crate::backend::same_length;
use crate::queue::{Arg, Items};
use crate::{DeviceBlocks, DeviceRows, DeviceVector, OpenCl};

impl<V: Real, S: Real> DeviceMatrix<V, S> {
    fn assert_square(&self, d: &DeviceBlocks<V, S>, vectors: &[&DeviceVector<V>], method: &str) {
        let (n, size) = (self.shape.0, self.block.0);
        assert!(self.shape == (n, n) && self.block == (size, size), "{method}: A is not square");
        for v in vectors {
            assert!(v.n == n, "{method}: {n} rows met a vector of {}", v.n);
            self.on.assert_same(&v.on);
        }
        d.assert_fits(&self.on, n, size, method);
    }
}

impl<V: Real, S: Real> Matrix<OpenCl<V, S>> for DeviceMatrix<V, S> {
    fn apply_add(&self, a: V, x: &DeviceVector<V>, b: V, y: &mut DeviceVector<V>) {
        self.assert_fits(x, y);
        let [n, width, offsets, lengths, columns, values] = self.args();
        let [x, y] = [x, y].map(|v| Arg::Memory(&v.memory));
        let args = [n, width, offsets, lengths, columns, values, Arg::Number(a), x, Arg::Number(b), y];
        self.on.queue().launch(self.kernel(Product::MultiplyAdd), self.items(), &args);
    }

    /// A launch a set.
    fn relax(
        &self,
        rows: &DeviceRows<V>,
        sweep: Sweep,
        d: &DeviceBlocks<V, S>,
        omega: V,
        b: &DeviceVector<V>,
        x: &mut DeviceVector<V>,
    ) {
        self.assert_square(d, &[b, x], "relax");
        self.on.assert_same(&rows.on);
        assert!(Pattern::same(&rows.pattern, &self.pattern), "relax: row sets of another pattern");
        let mut queue = self.on.queue();
        let mut run = |&(first, count): &(u32, u32)| {
            let [n, width, offsets, lengths, columns, values] = self.args();
            let (chunks, backward) = (Arg::Memory(&rows.chunks), u32::from(sweep == Sweep::Backward));
            let [first, count_there, backward] = [first, count, backward].map(Arg::Index);
            let [d, b, x] = [&d.values, &b.memory, &x.memory].map(Arg::Memory);
            let args = [
                n,
                width,
                offsets,
                lengths,
                columns,
                values,
                chunks,
                first,
                count_there,
                backward,
                d,
                Arg::Number(omega),
                b,
                x,
            ];
            queue.launch(self.kernel(Product::Relax), Items::Entries(count as usize), &args);
        };
        match sweep {
            Sweep::Forward => rows.sets.iter().for_each(&mut run),
            Sweep::Backward => rows.sets.iter().rev().for_each(&mut run),
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
        self.assert_square(d, &[b, x, s, y], "relax_into");
        let [n, width, offsets, lengths, columns, values] = self.args();
        let [d, b, x, s, y] = [&d.values, &b.memory, &x.memory, &s.memory, &y.memory].map(Arg::Memory);
        let (omega, beta) = (Arg::Number(omega), Arg::Number(beta));
        let args = [n, width, offsets, lengths, columns, values, d, omega, beta, b, x, s, y];
        self.on.queue().launch(self.kernel(Product::RelaxInto), self.items(), &args);
    }

    fn set_values<T: Real>(&mut self, host: &Bsr<T>) -> Result<(), Error> {
        if !Pattern::same(&self.pattern, host.pattern()) {
            return Err(Error::Pattern { what: "the matrix given to set_values" });
        }
        same_length("rows of a block", self.block.0, host.block().0)?;
        same_length("columns of a block", self.block.1, host.block().1)?;
        check_range::<T, S>("the matrix", host.values())?;
        let length = self.layout.slots * self.block.0 * self.block.1;
        self.on.queue().put(&self.values, length, |to: &mut [S]| self.layout.arrange(host, to))
    }
}
