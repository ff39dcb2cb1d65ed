//! The commands of the book, run in order, print what the pages say.

use std::path::Path;
use std::process::Command;

use crate::common::{Folder, solve};

/// The fenced blocks of a page, each with its language.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let fenced = page.split("\n```").skip(1).step_by(2);
    fenced.map(|block| block.split_once('\n').expect("a block of several lines")).collect()
}

/// The first word of a page that differs from the output. Line breaks do not count, `...` stands for any words. A
/// whole number may differ by one and a twentieth, as iterations do on other machines; seconds and residuals, which have
/// a point or an exponent, and MiB are not compared.
fn difference(page: &str, printed: &str) -> Option<String> {
    let mut words = printed.split_whitespace().peekable();
    let mut expected = page.split_whitespace().peekable();
    while let Some(word) = expected.next() {
        if word == "..." {
            let next = expected.peek().copied();
            while words.peek().is_some_and(|word| Some(*word) != next) {
                words.next();
            }
            continue;
        }
        let Some(found) = words.next() else { return Some(format!("{word}, but the output ends")) };
        let bare = |word: &str| word.trim_matches(|c: char| ",;()".contains(c)).to_owned();
        let (then, now) = (bare(word), bare(found));
        let same = match (then.parse::<u64>(), now.parse::<u64>()) {
            (Ok(then), Ok(now)) => expected.peek() == Some(&"MiB") || now.abs_diff(then) <= 1 + then / 20,
            _ => then == now || (then.parse::<f64>().is_ok() && now.parse::<f64>().is_ok()),
        };
        if !same {
            return Some(format!("{word}, but the output {found}"));
        }
    }
    words.next().map(|word| format!("the end, but the output {word}"))
}

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
                let words = command.split_whitespace().take_while(|word| *word != "#");
                let mut run = Command::new(env!("CARGO_BIN_EXE_coarsen"));
                let run = run.args(words).current_dir(folder.path("")).env("RAYON_NUM_THREADS", "2");
                let output = run.output().expect("the command runs");
                assert!(output.status.success(), "{name}: coarsen {command}");
                let Some(("text", page)) = blocks.get(k + 1) else { continue };
                let printed = String::from_utf8(output.stdout).expect("UTF-8");
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
        ("0.5 s", "1e-3 s"),
        ("9 MiB", "50 MiB"),
        ("a ... d", "a b c d"),
        ("a ...", "a b"),
    ];
    assert!(same.iter().all(|(page, printed)| difference(page, printed).is_none()));
    let other = [("a 20 b", "a 23 b"), ("a", "a b"), ("a b", "a"), ("x; y", "x; z")];
    assert!(other.iter().all(|(page, printed)| difference(page, printed).is_some()));
}
