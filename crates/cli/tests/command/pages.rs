//! The commands of the book, run in order, print what the pages say.

use std::path::Path;

use crate::common::{Done, Folder, ended, solve};
use crate::outputs::{blocks, difference};

#[test]
fn commands_print_what_the_pages_say() {
    let folder = Folder::new();
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src");
    let mut compared = 0;
    for name in ["tutorials/first.md", "guides/report.md"] {
        let page = std::fs::read_to_string(book.join(name)).expect("a page");
        let blocks = blocks(&page);
        for (k, (language, text)) in blocks.iter().enumerate() {
            let text = text.replace("\\\n", " ");
            let commands = text.lines().filter_map(|line| line.strip_prefix("coarsen "));
            for command in commands.filter(|_| *language == "sh") {
                let words = command.split(" # ").next().unwrap_or(command);
                let mut run = crate::common::command(words);
                let Done { code, out: printed, .. } =
                    ended(run.current_dir(folder.path("")).env("RAYON_NUM_THREADS", "2"));
                assert_eq!(code, 0, "{name}: coarsen {command}");
                let Some(("text", page)) = blocks.get(k + 1) else { continue };
                if let Some(word) = difference(page, &printed) {
                    panic!("{name}: after `coarsen {command}` the page says {word}:\n{printed}");
                }
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 5, "outputs on the pages");
}

/// The rows on anisotropic diffusion: options, and the iterations that they take.
#[test]
fn settings_take_the_iterations_of_the_page() {
    let Some(data) = crate::data::data() else { return };
    let page = include_str!("../../../../book/src/tutorials/settings.md");
    let section = page.split("## Anisotropic diffusion").nth(1).and_then(|tail| tail.split("\n## ").next());
    let (folder, mut rows) = (Folder::new(), 0);
    for row in section.expect("the section").lines().filter_map(|line| line.strip_prefix("| `")) {
        let (options, rest) = row.split_once('`').expect("options");
        let then: u64 = rest
            .trim_matches(['|', ' '])
            .rsplit(' ')
            .next()
            .and_then(|n| n.parse().ok())
            .expect("iterations");
        let matrix = data.join("matrices/ani4.mtx.gz");
        let (_, report) = solve(&folder, &format!("{} --method cg {options}", matrix.display()));
        let now = report["iterations"].as_u64().expect("iterations");
        assert!(now.abs_diff(then) <= 1 + then / 20, "{options}: {now} iterations, {then} on the page");
        rows += 1;
    }
    assert_eq!(rows, 8);
}

#[test]
fn differences_are_found() {
    let same = [
        ("a 20 b", "a\n21 b"),
        ("0.500 s", "1.003 s"),
        ("9 MiB", "50 MiB"),
        ("residual 4.38e-9 (asked 1e-8)", "residual 1e-12 (asked 1e-8)"),
        ("1.96e3 MiB,", "1.97e3 MiB,"),
        ("a ... d", "a b c d"),
        ("a ...", "a b"),
    ];
    assert!(same.iter().all(|(page, printed)| difference(page, printed).is_none()));
    let other = [
        ("a 20 b", "a 23 b"),
        ("a", "a b"),
        ("a b", "a"),
        ("x; y", "x; z"),
        ("complexity 1.08", "complexity 1.58"),
        ("1.2e9 operations", "3.4e9 operations"),
        ("(asked 1e-8)", "(asked 1e-6)"),
        ("24.7 MiB, 2", "34.7 MiB, 2"),
        ("5.0 s", "0.123 s"),
        ("0.500 m", "1.003 m"),
    ];
    assert!(other.iter().all(|(page, printed)| difference(page, printed).is_some()));
}
