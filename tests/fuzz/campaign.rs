//! Runs cases one after another for a given time, and checks the limits of time and memory for each case.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::damage::case;
use crate::peak_memory::peak;

pub(crate) const KIB: usize = 1 << 10;
pub(crate) const MIB: usize = 1 << 20;

/// The maximum number of bytes that a reader may hold per byte of its file.
const TIMES: usize = 20;

/// The maximum time of a case; the slowest case takes a hundredth of it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time per reader in seconds, unless `COARSEN_FUZZ_SECONDS` is set.
const SECONDS: u64 = 2;

/// The fuzz test of one reader.
pub(crate) struct Campaign {
    pub(crate) name: &'static str,
    /// The number of bytes that the reader may hold in addition, for any file.
    pub(crate) constant: usize,
}

/// The start time and the seed of the running case, for the guard.
type Running = Arc<Mutex<Option<(Instant, u64)>>>;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a number")))
}

impl Campaign {
    /// Reads all files of the corpus undamaged, then damages them at random until the time is over.
    pub(crate) fn run(&self, corpus: &[Vec<u8>], read: impl Fn(&[u8])) {
        let seconds = Duration::from_secs(number("COARSEN_FUZZ_SECONDS").unwrap_or(SECONDS));
        let first = number("COARSEN_FUZZ_SEED").unwrap_or(0);
        let running = self.guard();
        for (k, bytes) in corpus.iter().enumerate() {
            self.hold(&format!("file {k} of the corpus"), bytes, &read);
        }
        let (begin, mut seed, mut largest) = (Instant::now(), first, 0.0_f64);
        while seed == first || begin.elapsed() < seconds {
            let bytes = case(seed, corpus);
            set(&running, Some((Instant::now(), seed)));
            largest = largest.max(self.hold(&format!("COARSEN_FUZZ_SEED={seed}"), &bytes, &read));
            set(&running, None);
            seed += 1;
        }
        println!(
            "{}: {} cases, at most {largest:.1} bytes per byte, beyond the constant",
            self.name,
            seed - first
        );
    }

    /// Reads one valid file.
    pub(crate) fn once(&self, case: &str, bytes: &[u8], read: impl Fn(&[u8])) {
        let each = self.hold(case, bytes, &read);
        println!("{}: {case}, {} bytes, {each:.1} held per byte", self.name, bytes.len());
    }

    /// Reads one file and checks the limit of memory. Returns the number of bytes held per byte of the file.
    fn hold(&self, case: &str, bytes: &[u8], read: &impl Fn(&[u8])) -> f64 {
        let (held, result) = peak(|| catch_unwind(AssertUnwindSafe(|| read(bytes))));
        let limit = TIMES * bytes.len() + self.constant;
        if result.is_err() || held > limit {
            let file = self.keep(bytes);
            let what = if result.is_err() {
                "it panicked".to_owned()
            } else {
                format!("{held} bytes held, {limit} allowed")
            };
            panic!("{}, {case}, {} bytes, saved in {}: {what}", self.name, bytes.len(), file.display());
        }
        held.saturating_sub(self.constant) as f64 / bytes.len().max(1) as f64
    }

    fn keep(&self, bytes: &[u8]) -> PathBuf {
        let file = std::env::temp_dir().join(format!("coarsen-fuzz-{}", self.name));
        std::fs::write(&file, bytes).expect("a file can be written to the temporary folder");
        file
    }

    /// Starts a thread that aborts the program if a case takes too long, because an endless loop cannot be
    /// interrupted.
    fn guard(&self) -> Running {
        let running: Running = Arc::default();
        let (weak, name) = (Arc::downgrade(&running), self.name);
        std::thread::spawn(move || {
            while let Some(running) = weak.upgrade() {
                let now = *running.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some((_, seed)) = now.filter(|(since, _)| since.elapsed() > PATIENCE) {
                    eprintln!("{name}, COARSEN_FUZZ_SEED={seed}: still reading after {PATIENCE:?}");
                    std::process::abort();
                }
                drop(running);
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        running
    }
}

fn set(running: &Running, now: Option<(Instant, u64)>) {
    *running.lock().unwrap_or_else(PoisonError::into_inner) = now;
}
