//! Sheets, and searches that share.

use coarsen_core::SplitMix64;
use coarsen_distributed::ThreadComm;
use coarsen_distributed_solvers::RankSearch;

/// A search that shares even the shortest lists.
pub(crate) fn search(comm: ThreadComm) -> RankSearch<ThreadComm> {
    let mut search = RankSearch::new(comm);
    search.alone_below = 0;
    search
}

/// The triangles of a grid of n x n vertices.
pub(crate) fn grid(n: u32) -> Vec<[u32; 3]> {
    let cell = |c: u32| {
        let a = c / (n - 1) * n + c % (n - 1);
        [[a, a + 1, a + n], [a + 1, a + n + 1, a + n]]
    };
    (0..(n - 1) * (n - 1)).flat_map(cell).collect()
}

/// A flat unit sheet of n x n vertices.
pub(crate) fn flat(n: u32) -> Vec<[f64; 3]> {
    let at = |v: u32| [v % n, v / n].map(|k| f64::from(k) / f64::from(n - 1));
    (0..n * n).map(at).map(|[u, v]| [u, v, 0.0]).collect()
}

/// The thickness of the folded sheet.
pub(crate) const THICKNESS: f64 = 0.02;

/// The sheet folded once in the middle, with a gap of 0.8 of the thickness between both halves, and shaken.
pub(crate) fn folded(n: u32) -> Vec<[f64; 3]> {
    let noise = SplitMix64::new(5).numbers(3 * (n * n) as usize);
    let gap = 0.8 * THICKNESS;
    let place = |(v, [u, w, _]): (usize, [f64; 3])| {
        let away = u - 0.5;
        // Near the fold both halves are joined by a slope.
        let height = 0.5 * gap * (away / 0.05).clamp(-1.0, 1.0);
        let shake = |k: usize| 0.05 * gap * noise[3 * v + k];
        [away.abs() + 0.3 * away + shake(0), w + shake(1), height + shake(2)]
    };
    flat(n).into_iter().enumerate().map(place).collect()
}
