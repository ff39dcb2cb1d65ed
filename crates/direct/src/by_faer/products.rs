//! Memory for the dense products of faer, requested so that a failed allocation is an error.
//!
//! faer multiplies dense blocks in a buffer per thread, about twice the size of the last-level cache. It
//! allocates the buffer in the first product of the thread, and the process ends if this fails. So this file
//! first allocates and releases the same amount with an error check, and then makes faer allocate its buffer.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread::available_parallelism;

use faer::{Accum, MatMut, MatRef, Par};

use crate::DirectError;

/// The smallest tested order of a product for which faer uses the buffer.
const SIDE: usize = 32;

/// The assumed size of the last-level cache if the system does not report it, as in a large desktop computer.
const UNKNOWN: usize = 64 << 20;

/// The smallest size that faer assumes for the last-level cache.
const LEAST: usize = 2 << 20;

thread_local! {
    /// Whether this thread has a buffer.
    static READY: Cell<bool> = const { Cell::new(false) };
}

/// Allocates the buffer of this thread unless it exists.
pub(crate) fn reserve() -> Result<(), DirectError> {
    if READY.get() {
        return Ok(());
    }
    let bytes = buffer();
    let mut buffer = Vec::<u8>::new();
    buffer.try_reserve_exact(bytes).map_err(|_| DirectError::Memory { bytes })?;
    drop(buffer);
    let (ones, mut product) = ([1.0; SIDE * SIDE], [0.0; SIDE * SIDE]);
    let factor = MatRef::from_column_major_slice(&ones, SIDE, SIDE);
    let product = MatMut::from_column_major_slice_mut(&mut product, SIDE, SIDE);
    faer::linalg::matmul::matmul(product, Accum::Replace, factor, factor, 1.0, Par::Seq);
    READY.set(true);
    Ok(())
}

/// The number of bytes of the buffer, or slightly more.
pub(crate) fn buffer() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| buffer_bytes(last_cache(&caches(), cores(&cpuinfo()))))
}

/// The number of bytes of the buffer for a last-level cache of `last_cache` bytes: 64 KiB more than faer
/// uses.
fn buffer_bytes(last_cache: usize) -> usize {
    2 * last_cache + (1 << 16)
}

/// The size that faer assumes for the last-level cache of `cores` cores. This is the larger of two products:
/// the third-level cache per thread times the threads of all cores, and the second-level cache per thread
/// times the threads of 4 cores.
fn last_cache(caches: &[Cache], cores: usize) -> usize {
    let share = |level: usize| {
        caches.iter().filter(|c| c.level == level).map(|c| c.bytes / c.shared.max(1)).max().unwrap_or(0)
    };
    let threads = caches.iter().filter(|c| c.level == 1).map(|c| c.shared).max().unwrap_or(1);
    match (share(3) * threads * cores).max(4 * share(2) * threads) {
        0 => UNKNOWN,
        bytes => bytes.max(LEAST),
    }
}

/// A cache of a processor, and the number of processors that share it.
struct Cache {
    level: usize,
    bytes: usize,
    shared: usize,
}

/// The data caches of all processors, if Linux reports them.
fn caches() -> Vec<Cache> {
    let within = |folder: &Path, name: &str| -> Vec<PathBuf> {
        let all = fs::read_dir(folder).into_iter().flatten().flatten();
        all.filter(|e| e.file_name().to_string_lossy().starts_with(name)).map(|e| e.path()).collect()
    };
    let processors = within(Path::new("/sys/devices/system/cpu"), "cpu");
    let folders = processors.iter().flat_map(|processor| within(&processor.join("cache"), "index"));
    folders.filter_map(|folder| Cache::read(&folder)).collect()
}

impl Cache {
    fn read(folder: &Path) -> Option<Self> {
        let text = |name: &str| Some(fs::read_to_string(folder.join(name)).ok()?.trim().to_owned());
        if text("type")? == "Instruction" {
            return None;
        }
        let size = text("size")?;
        let unit = match size.chars().last()? {
            'K' => 1 << 10,
            'M' => 1 << 20,
            'G' => 1 << 30,
            _ => 1,
        };
        let bytes = size.trim_end_matches(['K', 'M', 'G']).parse::<usize>().ok()? * unit;
        let count = |part: &str| match part.split_once('-') {
            Some((first, last)) => Some(last.parse::<usize>().ok()? + 1 - first.parse::<usize>().ok()?),
            None => Some(1),
        };
        let shared = text("shared_cpu_list")?.split(',').map(count).sum::<Option<usize>>()?;
        Some(Self { level: text("level")?.parse().ok()?, bytes, shared })
    }
}

/// The description of the processors by Linux.
fn cpuinfo() -> String {
    fs::read_to_string("/proc/cpuinfo").unwrap_or_default()
}

/// The number of cores of all sockets in this description; the number of threads if the description lacks it.
fn cores(text: &str) -> usize {
    let (mut socket, mut cores) = (0, BTreeMap::new());
    for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
        match (name.trim(), value.trim().parse::<usize>()) {
            ("physical id", Ok(id)) => socket = id,
            ("cpu cores", Ok(count)) => drop(cores.insert(socket, count)),
            _ => (),
        }
    }
    match cores.values().sum() {
        0 => available_parallelism().map_or(1, usize::from),
        all => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1 << 10;

    fn cache(level: usize, bytes: usize, shared: usize) -> Cache {
        Cache { level, bytes, shared }
    }

    /// Machines given by caches and cores, and the last-level cache by the rule of faer.
    #[test]
    fn the_last_cache_is_what_faer_takes() {
        // Two threads per core, eight cores that share 16 MiB: 16 MiB / 16 per thread, for 16 threads.
        let desktop = [cache(1, 32 * KIB, 2), cache(2, 512 * KIB, 2), cache(3, 16_384 * KIB, 16)];
        assert_eq!(last_cache(&desktop, 8), 16_384 * KIB);
        // Four threads per core, 1 MiB of second-level cache and no third level: four times the second.
        let second = [cache(1, 32 * KIB, 4), cache(2, 1024 * KIB, 4)];
        assert_eq!(last_cache(&second, 2), 4096 * KIB);
        // Four second-level caches of 2 MiB are more than the third-level cache of 4 MiB that both cores
        // share.
        let thin = [cache(1, 32 * KIB, 1), cache(2, 2048 * KIB, 1), cache(3, 4096 * KIB, 2)];
        assert_eq!(last_cache(&thin, 2), 8192 * KIB);
        assert_eq!(last_cache(&[cache(1, 16 * KIB, 1), cache(2, 64 * KIB, 1)], 1), LEAST);
        assert_eq!(LEAST, 2048 * KIB);
        assert_eq!(last_cache(&[], 4), UNKNOWN);
        assert_eq!(buffer_bytes(4096 * KIB), 8192 * KIB + 64 * KIB);
    }

    #[test]
    fn cores_of_all_sockets_count() {
        let processor =
            |socket: usize| format!("processor\t: 0\nphysical id\t: {socket}\ncpu cores\t: 6\n\n");
        let text: String = [0, 0, 1, 1].map(processor).concat();
        assert_eq!(cores(&text), 12);
        assert_eq!(cores(&processor(3)), 6);
        assert_eq!(cores("model name : unknown"), available_parallelism().map_or(1, usize::from));
    }

    /// The number of bytes of address space in use.
    #[cfg(target_os = "linux")]
    fn taken() -> usize {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
        1024 * line.trim_end_matches("kB").trim().parse::<usize>().unwrap()
    }

    /// The buffer of faer has the requested size, and a second call allocates nothing.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_buffer_is_as_large_as_what_is_asked_for() {
        let before = taken();
        reserve().unwrap();
        let first = taken() - before;
        // Other tests may start threads at the same time, and the allocator reserves 64 MiB for each thread.
        let others = (1 << 20) + 3 * (64 << 20);
        assert!(first <= buffer() + others && 4 * first >= buffer(), "{first} of {}", buffer());
        reserve().unwrap();
        assert!(taken() - before <= first + others);
    }

    /// Sizes with units, and lists of processors with ranges and single numbers.
    #[test]
    fn a_cache_is_read_as_linux_writes_it() {
        let folder = std::env::temp_dir().join(format!("coarsen-cache-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let read = |kind: &str, size: &str, shared: &str| {
            let files = [("type", kind), ("size", size), ("shared_cpu_list", shared), ("level", "3")];
            files.iter().for_each(|(name, text)| fs::write(folder.join(name), format!("{text}\n")).unwrap());
            Cache::read(&folder).map(|cache| (cache.level, cache.bytes, cache.shared))
        };
        assert_eq!(read("Unified", "512K", "0"), Some((3, 512 << 10, 1)));
        assert_eq!(read("Data", "32M", "2-5,8,10-11"), Some((3, 32 << 20, 7)));
        assert_eq!(read("Unified", "2G", "0-1"), Some((3, 2 << 30, 2)));
        assert_eq!(read("Unified", "4096", "0,4"), Some((3, 4096, 2)));
        assert_eq!(read("Instruction", "32K", "0"), None);
        assert_eq!(read("Unified", "many", "0"), None);
        fs::remove_dir_all(&folder).unwrap();
    }
}
