//! Numbers as bytes of messages.

use coarsen_core::Real;

/// A number that is sent as its bytes, in the byte order of the machine.
pub trait Wire: Copy + 'static {
    /// The number of bytes.
    const BYTES: usize;
    /// Writes the number to exactly [`BYTES`](Self::BYTES) bytes.
    fn put(self, to: &mut [u8]);
    /// Reads the number from exactly [`BYTES`](Self::BYTES) bytes.
    fn get(from: &[u8]) -> Self;
}

macro_rules! wire {
    ($($t:ty),+) => {$(
        impl Wire for $t {
            const BYTES: usize = size_of::<$t>();
            #[inline(always)]
            fn put(self, to: &mut [u8]) {
                to.copy_from_slice(&self.to_ne_bytes());
            }
            #[inline(always)]
            fn get(from: &[u8]) -> Self {
                let mut bytes = [0; size_of::<$t>()];
                bytes.copy_from_slice(from);
                Self::from_ne_bytes(bytes)
            }
        }
    )+};
}
wire!(f32, f64, u32, u64);

/// A real number that can be sent: `f32` or `f64`.
pub trait Number: Real + Wire {}

impl<T: Real + Wire> Number for T {}

/// Appends the bytes of `values` to `to`.
///
/// ```
/// use coarsen_distributed::{pack, unpack};
/// let mut bytes = Vec::new();
/// pack([1.5, 2.5], &mut bytes);
/// assert_eq!(unpack(&bytes).collect::<Vec<f64>>(), [1.5, 2.5]);
/// ```
pub fn pack<T: Wire>(values: impl IntoIterator<Item = T>, to: &mut Vec<u8>) {
    // The vector grows by blocks: a check of its capacity takes longer than the copy of a number.
    let (mut block, mut filled) = ([0; 512], 0);
    for v in values {
        v.put(&mut block[filled..filled + T::BYTES]);
        filled += T::BYTES;
        if filled == block.len() {
            to.extend_from_slice(&block);
            filled = 0;
        }
    }
    to.extend_from_slice(&block[..filled]);
}

/// The numbers in a message; bytes after the last whole number are not read.
pub fn unpack<T: Wire>(from: &[u8]) -> impl Iterator<Item = T> + '_ {
    from.chunks_exact(T::BYTES).map(T::get)
}
