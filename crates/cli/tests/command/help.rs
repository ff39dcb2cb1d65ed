//! Help, manual pages, completions, and the page of the book about the command.

use crate::common::{Folder, coarsen, command, ended, fails, prints, succeeds};

const COMMANDS: [&str; 9] =
    ["solve", "compare", "info", "spy", "generate", "devices", "minimize", "completions", "man"];

/// The options and arguments of a command, with their values and what the help says of them.
fn options(command: &str) -> Vec<(String, String)> {
    let help = coarsen(&format!("{command} --help")).out;
    let mut all: Vec<(String, String)> = Vec::new();
    for line in help.split("\nExamples:").next().unwrap().lines() {
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
        if indent <= 6
            && (text.starts_with("--")
                || text.starts_with("-h")
                || text.starts_with('[')
                || text.starts_with('<'))
        {
            // A short help has name and text in one line.
            let (name, told) = text.split_once("  ").unwrap_or((text, ""));
            all.push((name.to_owned(), told.trim_start().to_owned()));
        } else if indent >= 10 && !text.is_empty() {
            let Some((_, told)) = all.last_mut() else { continue };
            let separator = if told.is_empty() { "" } else { " " };
            *told += &format!("{separator}{text}");
        }
    }
    all.retain(|(name, _)| !name.starts_with("-h"));
    all
}

/// The words of the help as a cell of a table: a line for each value, and options as code, in which two dashes
/// do not become a long one.
fn markdown(told: &str) -> String {
    let (text, values) = told.split_once(" Possible values: - ").unwrap_or((told, ""));
    let mut out: String = text
        .split('`')
        .enumerate()
        .map(|(k, part)| if k % 2 == 1 { format!("`{part}`") } else { with_options(part) })
        .collect();
    for value in values.split(" - ").filter(|value| !value.is_empty()) {
        let (name, meaning) = value.split_once(':').expect("a meaning");
        let meaning = with_options(meaning.trim()).replace(" [default", "<br>[default"); // of the last value
        out += &format!("<br>`{name}`: {meaning}");
    }
    out
}

fn with_options(text: &str) -> String {
    let word = |word: &str| {
        let name = word.trim_end_matches([',', ';', '.', ':', ')']);
        if name.starts_with("--") { format!("`{name}`{}", &word[name.len()..]) } else { word.to_owned() }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The page of the book has a row for each option, with the words of the help. `COARSEN_BLESS=1` writes it.
#[test]
fn the_guide_has_the_words_of_the_help() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/guides/command.md");
    let page = std::fs::read_to_string(file).unwrap();
    let mut expected = page.clone();
    for command in COMMANDS {
        let begin = format!("<!-- options of {command} -->\n");
        let Some((front, rest)) = expected.split_once(&begin) else { panic!("{command} is missing") };
        let (_, back) = rest.split_once("<!-- end -->").expect("an end");
        let shared = options("solve");
        let of = |(name, told): &(String, String)| {
            let told = told.replace('|', "\\|").replace('<', "\\<");
            format!("| `{}` | {} |\n", name.replace('|', "\\|"), markdown(&told))
        };
        // The page refers to those of `solve`.
        let shares = ["compare", "info"].contains(&command);
        let is_own = |option: &&(String, String)| !shares || !shared.contains(option);
        let rows: String = options(command).iter().filter(is_own).map(of).collect();
        let table = if rows.is_empty() {
            String::new()
        } else {
            format!("\n| option | what it does |\n|---|---|\n{rows}\n")
        };
        expected = format!("{front}{begin}{table}<!-- end -->{back}");
    }
    if std::env::var_os("COARSEN_BLESS").is_some() {
        std::fs::write(file, &expected).unwrap();
    }
    assert!(page == expected, "book/src/guides/command.md differs from --help; COARSEN_BLESS=1 writes it");
}

#[test]
fn every_example_of_the_help_runs() {
    let folder = Folder::new();
    let run = |words: &str| {
        let done = ended(command(words).current_dir(folder.path("")).env_remove("COARSEN_BACKEND"));
        (done.code, done.err)
    };
    for words in ["generate elasticity3d:4 --out .", "generate elasticity3d:4 --format npz --out ."] {
        assert_eq!(run(words).0, 0, "{words}");
    }
    for command in std::iter::once("").chain(COMMANDS) {
        let help = coarsen(&format!("{command} --help")).out;
        let examples = help.split("Examples:\n").nth(1).unwrap_or_else(|| panic!("{command}: {help}"));
        let lines: Vec<&str> = examples.lines().map_while(|line| line.strip_prefix("  coarsen ")).collect();
        assert!(!lines.is_empty(), "{command}");
        for words in lines {
            let (code, err) = run(words);
            let lacks_device = words == "devices" && code == 5;
            assert!(code == 0 || lacks_device, "coarsen {words}: {code} {err}");
        }
    }
}

#[test]
fn shells_and_manuals_know_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let done = succeeds(&format!("completions {shell}"));
        let values = if ["powershell", "elvish"].contains(&shell) { &[][..] } else { &["block-jacobi"] };
        for word in COMMANDS.iter().chain(&["sa-theta", "time-limit"]).chain(values) {
            assert!(done.out.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(coarsen("completions tcsh").code, 2);
    prints("man", ".TH coarsen 1");
    for command in COMMANDS {
        prints(&format!("man {command}"), &format!(".TH coarsen-{command} 1"));
    }
    assert!(coarsen("man solve").out.contains("\\-\\-sa\\-theta"));
    fails("man draw", 2, "no command `draw`");
}
