//! The inversion of one block.

use coarsen_core::Real;

/// The reason why a block has no inverse.
pub(super) enum Fault {
    NotFinite(usize, usize),
    Singular,
}

/// Memory for one block: on the stack up to 12 x 12, on the heap for larger blocks.
pub(super) struct Scratch<T> {
    stack: [T; 144],
    heap: Vec<T>,
}

impl<T: Real> Scratch<T> {
    pub(super) fn new(b: usize) -> Self {
        let heap = if b > 12 { vec![T::zero(); b * b] } else { Vec::new() };
        Self { stack: [T::zero(); 144], heap }
    }

    pub(super) fn copy(&mut self, block: &[T]) -> &mut [T] {
        let w = if self.heap.is_empty() { &mut self.stack[..block.len()] } else { &mut self.heap[..] };
        w.copy_from_slice(block);
        w
    }
}

/// Computes `d` = `w`⁻¹ for b x b row-major blocks by Gauss-Jordan elimination of (S W | S) with partial
/// pivoting. The diagonal matrix S scales the rows. `w` is overwritten.
#[inline(always)] // makes b a constant in the loops
pub(super) fn invert<T: Real>(w: &mut [T], d: &mut [T], b: usize) -> Result<(), Fault> {
    let (w, d) = (&mut w[..b * b], &mut d[..b * b]);
    if let Some(at) = w.iter().position(|v| !v.is_finite()) {
        return Err(Fault::NotFinite(at / b, at % b));
    }
    if b == 1 {
        d[0] = T::one() / w[0];
        return if w[0] != T::zero() && d[0].is_finite() { Ok(()) } else { Err(Fault::Singular) };
    }
    let tiny = T::EPSILON * T::of(b as f64);
    d.fill(T::zero());
    for (i, row) in w.chunks_exact_mut(b).enumerate() {
        let scale = row.iter().fold(T::zero(), |m, v| m.max(v.abs())).recip();
        if !scale.is_finite() {
            return Err(Fault::Singular);
        }
        row.iter_mut().for_each(|v| *v *= scale);
        d[i * b + i] = scale;
    }
    for p in 0..b {
        let pivot_row =
            (p..b).fold(p, |best, i| if w[i * b + p].abs() > w[best * b + p].abs() { i } else { best });
        if w[pivot_row * b + p].abs() <= tiny {
            return Err(Fault::Singular);
        }
        for c in 0..b {
            w.swap(p * b + c, pivot_row * b + c);
            d.swap(p * b + c, pivot_row * b + c);
        }
        let scale = T::one() / w[p * b + p];
        for c in 0..b {
            w[p * b + c] *= scale;
            d[p * b + c] *= scale;
        }
        for i in (0..b).filter(|&i| i != p) {
            let factor = w[i * b + p];
            for c in 0..b {
                let (wp, dp) = (w[p * b + c], d[p * b + c]);
                w[i * b + c] -= factor * wp;
                d[i * b + c] -= factor * dp;
            }
        }
    }
    Ok(())
}
