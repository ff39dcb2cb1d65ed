//! The time of a product on one of n ranks.
//!
//! | symbol | here | |
//! |---|---|---|
//! | C_i | `compute[i]` | the time of the product with the i-th sub-vector; 0 is the own one |
//! | T_i | `transfer[i − 1]` | the time of receiving the i-th sub-vector, i > 0 |
//! | S_i | result | the time at which product i is done |
//!
//! *Reference* Li et al. 2020, §3.1.1, eq. 6 to 9.

/// S_i without overlap: all transfers, then all products. For i = n − 1 this is the time of the whole product.
///
/// *Panics* unless there is one transfer less than products.
pub fn blocking(compute: &[f64], transfer: &[f64]) -> Vec<f64> {
    assert_eq!(compute.len(), transfer.len() + 1, "blocking: products and transfers");
    let (mut c, mut t) = (0.0, 0.0);
    let arrivals = std::iter::once(&0.0).chain(transfer);
    let done = compute.iter().zip(arrivals).map(|(ci, ti)| {
        c += ci;
        t += ti;
        t + c // eq. 6
    });
    done.collect()
}

/// S_i of the pipelined product. It tends to Σ C (eq. 8) if transfers are fast, and to Σ T + C_i (eq. 9) if
/// they are slow.
///
/// *Panics* unless there is one transfer less than products.
///
/// ```
/// use coarsen_distributed::simulation::{blocking, pipelined};
/// assert_eq!(blocking(&[2.0, 1.0], &[2.0]), [2.0, 5.0]);
/// assert_eq!(pipelined(&[2.0, 1.0], &[2.0]), [2.0, 3.0]);
/// ```
pub fn pipelined(compute: &[f64], transfer: &[f64]) -> Vec<f64> {
    assert_eq!(compute.len(), transfer.len() + 1, "pipelined: products and transfers");
    let (mut s, mut t) = (0.0_f64, 0.0);
    let arrivals = std::iter::once(&0.0).chain(transfer);
    let done = compute.iter().zip(arrivals).map(|(ci, ti)| {
        t += ti;
        s = s.max(t) + ci; // eq. 7
        s
    });
    done.collect()
}
