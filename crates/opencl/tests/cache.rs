//! Compiled programs are stored on disk: a process loads the programs that an earlier process compiled. Within a process
//! the places of a device share them.

mod common;

use std::path::Path;
use std::process::Command;

use coarsen_backend::{Backend, conformance};
use coarsen_core::{LinearOperator, Vector};

/// Returns the number of programs that a new process compiles with this folder as its cache.
fn compiled(folder: &Path) -> u64 {
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_process", "--ignored", "--nocapture"])
        .env("COARSEN_CACHE", folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said} {}", String::from_utf8_lossy(&done.stderr));
    let tail = said.split("compiled ").nth(1).unwrap_or_else(|| panic!("{said}"));
    tail.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{said}"))
}

#[test]
#[ignore = "run by a_second_process_compiles_nothing"]
fn a_process() {
    let on = common::place::<f64>().expect("asked before");
    let a = conformance::ring(40, 3);
    let x = on.vector(&conformance::noise(120, 1)).unwrap();
    let mut y = x.like().unwrap();
    on.matrix(&a).unwrap().apply(&x, &mut y);
    let mut host = vec![0.0; 120];
    on.read(&y, &mut host).unwrap();
    let mut expected = vec![0.0; 120];
    a.apply(&conformance::noise(120, 1), &mut expected);
    assert!(host.iter().zip(&expected).all(|(h, e)| (h - e).abs() < 1e-12));
    println!("compiled {} programs", on.counters().compiled);
}

#[test]
#[ignore = "run by a_second_process_compiles_nothing"]
fn a_process_that_tunes() {
    let on = common::place::<f64>().expect("asked before");
    let local = on.tune().unwrap();
    assert!(local.is_power_of_two() && (32..=1024).contains(&local), "{local}");
    println!("groups of {local}");
}

#[test]
#[ignore = "run by places_of_a_device_share_programs"]
fn two_places() {
    let [one, two] = [1, 2].map(|_| common::place::<f64>().expect("asked before"));
    let (small, large) = (conformance::ring(40, 3), conformance::ring(70, 3));
    let (x, y) = (conformance::noise(120, 1), conformance::noise(210, 2));
    // Launches of the two places alternate, with other arguments.
    let (a, b) = (one.matrix(&small).unwrap(), two.matrix(&large).unwrap());
    let (there, here) = (one.vector(&x).unwrap(), two.vector(&y).unwrap());
    let (mut ax, mut by) = (there.like().unwrap(), here.like().unwrap());
    for _ in 0..3 {
        a.apply(&there, &mut ax);
        b.apply(&here, &mut by);
    }
    for (on, product, a, x) in [(&one, &ax, &small, &x), (&two, &by, &large, &y)] {
        let (mut host, mut expected) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        on.read(product, &mut host).unwrap();
        a.apply(x, &mut expected);
        assert!(host.iter().zip(&expected).all(|(h, e)| (h - e).abs() < 1e-12));
    }
    assert_eq!([&one, &two].map(|on| on.counters().compiled), [2, 0]);
}

#[test]
fn places_of_a_device_share_programs() {
    if common::place::<f64>().is_none() {
        return;
    }
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "two_places", "--ignored"])
        .env("COARSEN_CACHE", "")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_second_process_compiles_nothing() {
    if common::place::<f64>().is_none() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("coarsen-cache-{}", std::process::id()));
    assert_eq!(compiled(&folder), 2, "vectors, and blocks of 3");
    assert_eq!(compiled(&folder), 0);
    // An incomplete file is not used.
    for file in std::fs::read_dir(folder.join("opencl")).unwrap() {
        let file = file.unwrap().path();
        let whole = std::fs::read(&file).unwrap();
        std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    }
    assert_eq!(compiled(&folder), 2);
    assert_eq!(compiled(&folder), 0);
    // The fastest work-group size is stored in the same folder.
    let tuned = |name| {
        let done = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--ignored", "--nocapture"])
            .env("COARSEN_CACHE", &folder)
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    tuned("a_process_that_tunes");
    let kept = |file: &Path| file.extension().is_some_and(|e| e == "local");
    let mut files = std::fs::read_dir(folder.join("opencl")).unwrap();
    assert!(files.any(|file| kept(&file.unwrap().path())));
    tuned("a_process");
    std::fs::remove_dir_all(&folder).unwrap();
    // A file in place of the folder: there is no cache.
    let file = folder.with_extension("file");
    std::fs::write(&file, "").unwrap();
    assert_eq!(compiled(&file), 2);
    std::fs::remove_file(&file).unwrap();
}
