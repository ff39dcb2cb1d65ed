//! Ranks as threads of one process, which communicate through a shared board.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// State shared by all ranks. The ranks must call the same operations in the same order; a deviating call is
/// reported.
pub(super) struct World {
    ranks: usize,
    board: Mutex<Board>,
    full: Condvar,
    reductions: AtomicUsize,
}

#[derive(Default)]
struct Board {
    round: usize,
    posts: Vec<Option<(&'static str, Vec<f64>)>>,
    last: Arc<Vec<Vec<f64>>>,
}

impl World {
    /// Runs `f` concurrently with the number of each rank and returns the results.
    pub(super) fn run<R: Send>(ranks: usize, f: impl Fn(&Arc<World>, usize) -> R + Sync) -> Vec<R> {
        let board = Board { posts: vec![None; ranks], ..Board::default() };
        let world = World { ranks, board: Mutex::new(board), full: Condvar::new(), reductions: 0.into() };
        let (world, f) = (&Arc::new(world), &f);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..ranks).map(|rank| scope.spawn(move || f(world, rank))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a rank that ends")).collect()
        })
    }

    pub(super) fn ranks(&self) -> usize {
        self.ranks
    }

    /// Waits until all ranks have posted and returns their posts, by rank. *Panics* if the ranks post for
    /// different operations, or if a rank does not post.
    pub(super) fn gather(&self, rank: usize, operation: &'static str, own: Vec<f64>) -> Arc<Vec<Vec<f64>>> {
        let mut board = self.board.lock().expect("no rank has failed");
        let round = board.round;
        board.posts[rank] = Some((operation, own));
        if board.posts.iter().all(Option::is_some) {
            let (names, all): (Vec<_>, Vec<_>) = board.posts.iter_mut().filter_map(Option::take).unzip();
            assert!(
                names.iter().all(|&name| name == operation),
                "the ranks call different operations: {names:?}"
            );
            board.last = Arc::new(all);
            board.round += 1;
            self.full.notify_all();
        }
        let wait = Duration::from_secs(60);
        let (board, late) = self
            .full
            .wait_timeout_while(board, wait, |board| board.round == round)
            .expect("no rank has failed");
        assert!(!late.timed_out(), "{operation} on rank {rank}: another rank does not post");
        board.last.clone()
    }

    /// `gather` for sums over all ranks; counts as a reduction.
    pub(super) fn reduce(&self, rank: usize, own: Vec<f64>) -> Arc<Vec<Vec<f64>>> {
        if rank == 0 {
            self.reductions.fetch_add(1, Relaxed);
        }
        self.gather(rank, "a sum", own)
    }

    /// The number of reductions so far.
    pub(super) fn reductions(&self) -> usize {
        self.reductions.load(Relaxed)
    }
}
