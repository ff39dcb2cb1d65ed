//! The results of a frame on ranks: the columns of `frames.csv`, and the summary of a run.

use examples_run::files::Record;

use super::step::STAGES;

examples_run::record! {
    /// The results of a frame. Times are those of rank 0.
    pub(crate) struct RankRow {
        pub(crate) frame: usize = "frame",
        pub(crate) steps: usize = "steps",
        /// Iterations of conjugate gradients.
        pub(crate) inner: usize = "inner",
        /// The pairs that touch in the last step.
        pub(crate) contacts: usize = "contacts",
        /// Edges that cross a triangle or a solid.
        pub(crate) penetrations: usize = "penetrations",
        /// The most nodes in impact zones in a step.
        pub(crate) zones: usize = "zones",
        /// The linear solves that did not reach the tolerance.
        pub(crate) unsolved: usize = "unsolved",
        /// Bytes that rank 0 sent.
        pub(crate) bytes: u64 = "bytes",
        /// A hash of the bits of the positions.
        pub(crate) positions: u64 = "positions",
        /// The least share of the way that contact left in a step.
        pub(crate) least: f64 = "least_share",
        /// The seconds of all steps, of their stages, and those in which rank 0 waited for messages.
        pub(crate) seconds: f64 = "seconds",
        pub(crate) stages: [f64; STAGES.len()] = "detection_s" "assembly_s" "setup_s" "solve_s" "exchange_s",
        pub(crate) waited: f64 = "waited_s",
        /// The most memory of a process so far, in MiB.
        pub(crate) memory: f64 = "memory_mib",
    }
}

impl Record for RankRow {
    const SUMMARY: &'static [(&'static str, fn(&Self) -> Option<f64>)] = &[
        ("iterations per step", |row| Some(row.inner as f64 / row.steps.max(1) as f64)),
        ("solves beyond the tolerance", |row| Some(row.unsolved as f64)),
        ("contacts", |row| Some(row.contacts as f64)),
        ("penetrations", |row| Some(row.penetrations as f64)),
        ("nodes in impact zones", |row| Some(row.zones as f64)),
        ("least share of a step", |row| Some(row.least)),
        ("KiB per step, rank 0", |row| Some(row.bytes as f64 / 1024.0 / row.steps.max(1) as f64)),
        ("memory of a rank, MiB", |row| Some(row.memory)),
    ];

    fn frame(&self) -> usize {
        self.frame
    }

    fn note(&self) -> String {
        format!("{} iterations, {} contacts", self.inner, self.contacts)
    }

    fn ending(rows: &[Self]) -> String {
        let sum = |of: &dyn Fn(&Self) -> f64| rows.iter().skip(1).map(of).sum::<f64>();
        let (steps, seconds) = (sum(&|row| row.steps as f64), sum(&|row| row.seconds).max(f64::MIN_POSITIVE));
        let share =
            |(k, stage): (usize, &&str)| format!(" {stage} {:.3},", sum(&|row| row.stages[k]) / seconds);
        let stages: String = STAGES.iter().enumerate().map(share).collect();
        format!(
            "{steps} steps, {:.3} steps per second; shares of the time of rank 0:{stages} waiting in any of them {:.3}\n",
            steps / seconds,
            sum(&|row| row.waited) / seconds
        )
    }
}
