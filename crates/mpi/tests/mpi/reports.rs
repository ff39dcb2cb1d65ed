//! The tables of the command and its report as JSON.

use serde_json::Value;

use crate::jobs::command;
use crate::listed::Folder;

/// What the command prints, and its report.
fn solve(ranks: usize, words: &str, folder: &Folder) -> (String, Value) {
    let file = folder.0.join("report.json");
    let (code, text) = command(ranks, &format!("solve {words} --report {}", file.display()));
    assert_eq!(code, Some(0), "{text}");
    let report = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    (text, report)
}

fn total(list: &Value, field: &str) -> f64 {
    list.as_array().unwrap().iter().map(|one| one[field].as_f64().unwrap()).sum()
}

/// The tables have the messages of all ranks, also those of stages that rank 0 does not have: of three ranks the first
/// has no neighbour, and so no halo.
pub(crate) fn stages() {
    let folder = Folder::new();
    let n = 30;
    let mut entries: Vec<_> = (1..=n).map(|i| format!("{i} {i} 4")).collect();
    entries.extend((n / 3 + 2..=n).map(|i| format!("{i} {} -1", i - 1)));
    let head = format!("%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {}\n", entries.len());
    let matrix = folder.0.join("A.mtx");
    std::fs::write(&matrix, head + &entries.join("\n") + "\n").unwrap();
    let (text, report) = solve(3, &format!("{} --precond jacobi", matrix.display()), &folder);
    for option in ["matrix", "problem", "rhs", "leaf", "threads", "deadline", "tol", "max_iterations"] {
        assert!(report.get(option).is_none(), "{option} is no result");
    }
    assert_eq!(report["ranks"][0]["halo"], 0, "rank 0 has no neighbour: {text}");
    let stages: Vec<_> =
        report["stages"].as_array().unwrap().iter().map(|one| one["stage"].as_str()).collect();
    assert!(stages.contains(&Some("a halo exchange")) && stages.is_sorted(), "{stages:?}");
    assert!(text.contains("\na halo exchange "), "{text}");
    for field in ["messages", "bytes"] {
        assert_eq!(total(&report["stages"], field), total(&report["ranks"], field), "{field}: {text}");
    }
}

/// The times of the steps of each rank: with setup, products and preconditioner, and no more than the whole.
pub(crate) fn steps() {
    let folder = Folder::new();
    for (ranks, precond) in [(1, "mas"), (3, "block-jacobi"), (3, "sa")] {
        let (text, report) = solve(ranks, &format!("--problem cloth:30 --precond {precond}"), &folder);
        let steps = report["steps"].as_array().unwrap();
        let calls = |name: &str| {
            let step =
                steps.iter().find(|one| one["step"] == name).unwrap_or_else(|| panic!("{name}: {text}"));
            assert!(text.contains(&format!("\n{name} ")), "{text}");
            assert_eq!(step["seconds"].as_array().unwrap().len(), ranks);
            step["calls"].as_u64().unwrap()
        };
        for name in ["reading", "setup of the matrix", "setup of the preconditioner"] {
            assert_eq!(calls(name), 1, "{name}");
        }
        // One product and one application in an iteration; residuals at the begin and at the end.
        let iterations = report["iterations"].as_u64().unwrap();
        for (name, more) in [("products", 2..=4), ("preconditioner", 0..=2)] {
            let found = calls(name);
            assert!(more.contains(&(found - iterations)), "{name}: {found} in {iterations}");
        }
        assert_eq!(calls("sums and vectors"), 0);
        let seconds = |k: usize, rank: usize| steps[k]["seconds"][rank].as_f64().unwrap();
        for rank in 0..ranks {
            assert!((0..5).all(|k| seconds(k, rank) > 0.0) && seconds(5, rank) >= 0.0, "{text}");
        }
        let close = |found: f64, whole: &str| {
            let whole = report[whole].as_f64().unwrap();
            assert!((found - whole).abs() <= 1e-6 + 1e-9 * whole, "{found} of {whole}: {text}");
        };
        close(seconds(0, 0), "read_seconds");
        close((3..6).map(|k| seconds(k, 0)).sum(), "solve_seconds");
        assert!(seconds(1, 0) + seconds(2, 0) <= report["setup_seconds"].as_f64().unwrap(), "{text}");
    }
}

/// `--schedule best` measures the links, and reports what it chose; all ranks choose the same one.
pub(crate) fn best_schedule() {
    let folder = Folder::new();
    for (count, product) in [(1, "blocking"), (3, "pipelined"), (4, "blocking")] {
        let words = format!("--problem cloth:20 --product {product} --schedule best");
        let (text, report) = solve(count, &words, &folder);
        let (schedule, links) = (&report["schedule"]["name"], &report["schedule"]["measured"]);
        let known: &[&str] = if count == 3 { &["ring", "pairwise"] } else { &["ring", "pairwise", "queues"] };
        let name = schedule.as_str().unwrap();
        assert!(
            known.contains(&name) && text.contains(&format!("\nschedule  {name}, best on links of ")),
            "{text}"
        );
        if let Some(order) = report["schedule"]["measured"]["order"].as_array() {
            let mut ranks: Vec<u64> = order.iter().map(|rank| rank.as_u64().unwrap()).collect();
            let shown = format!(" ns per byte, ranks in the order {ranks:?}\n");
            assert!(text.contains(&shown), "{text}");
            ranks.sort_unstable();
            assert_eq!(ranks, (0..count as u64).collect::<Vec<_>>());
        }
        let number = |value: &Value| value.as_f64().unwrap();
        for field in ["seconds_per_message", "seconds_per_byte"] {
            let [least, most] = [0, 1].map(|k| number(&links[field][k]));
            assert!(most >= least && (least > 0.0) == (count > 1), "{field}: {least} {most}");
        }
        assert!((number(&links["modelled_seconds"]) > 0.0) == (count > 1) && number(&links["seconds"]) > 0.0);
    }
    let (text, report) = solve(2, "--problem cloth:10 --product pipelined --schedule pairwise", &folder);
    assert!(report["schedule"]["measured"].is_null() && text.contains("\nschedule  pairwise\n"), "{text}");
    let (text, report) = solve(2, "--problem cloth:10 --schedule best", &folder);
    assert!(report["schedule"].is_null() && !text.contains("\nschedule"), "a halo needs no schedule: {text}");
}
