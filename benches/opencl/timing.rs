//! The time of a call.

use std::time::Instant;

/// The duration of a sample in seconds.
const SAMPLE: f64 = 0.04;

/// The number of samples; the fastest sample counts.
const SAMPLES: usize = 5;

/// The minimum time of `call` in seconds, over samples of many calls; `synchronise` ends a batch.
pub(crate) fn least(mut call: impl FnMut(), mut synchronise: impl FnMut()) -> f64 {
    let mut batch = |calls: usize| {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        synchronise();
        start.elapsed().as_secs_f64() / calls as f64
    };
    batch(1); // compiles kernels and touches memory
    let calls = ((SAMPLE / batch(1).max(1e-7)) as usize).clamp(1, 1000);
    (0..SAMPLES).map(|_| batch(calls)).fold(f64::INFINITY, f64::min)
}
