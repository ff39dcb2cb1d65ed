//! Checks of the book without mdbook: every chapter is listed, its code is tested, every file it refers to
//! exists, and no network is needed.

use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn source() -> PathBuf {
    root().join("book/src")
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// The chapters in SUMMARY.md, in order.
fn chapters() -> Vec<String> {
    let chapters: Vec<String> = links(&read(&source().join("SUMMARY.md"))).map(str::to_owned).collect();
    assert!(chapters.len() > 5, "SUMMARY.md lists {} chapters", chapters.len());
    chapters
}

/// Calls `f` for every chapter with its name, its folder and its text.
fn for_each_chapter(mut f: impl FnMut(&str, &Path, &str)) {
    for chapter in chapters() {
        let file = source().join(&chapter);
        f(&chapter, file.parent().expect("a folder"), &read(&file));
    }
}

/// The targets of Markdown links and images outside code.
fn links(text: &str) -> impl Iterator<Item = &str> {
    prose(text).flat_map(|line| line.split("](").skip(1)).filter_map(|tail| tail.split(')').next())
}

/// The lines outside fenced code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// The text in single backquotes, outside fenced code.
fn names(text: &str) -> impl Iterator<Item = &str> {
    prose(text).flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// The anchor that mdbook generates for a heading.
fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// The errors of `{{#include FILE:ANCHOR}}` and similar directives in a chapter in `folder`.
fn broken_includes(text: &str, folder: &Path) -> Vec<String> {
    let mut broken = Vec::new();
    for directive in text.split("{{#").skip(1) {
        let Some((directive, _)) = directive.split_once("}}") else {
            broken.push(format!("{{{{#{} has no end", directive.lines().next().unwrap_or_default()));
            continue;
        };
        let Some(("include" | "rustdoc_include", target)) = directive.split_once(' ') else {
            broken.push(format!("{directive} is not an include"));
            continue;
        };
        let (file, anchor) = target.trim().split_once(':').unwrap_or((target.trim(), ""));
        let Ok(body) = std::fs::read_to_string(folder.join(file)) else {
            broken.push(format!("{file} does not exist"));
            continue;
        };
        let has =
            |mark: &str| body.lines().any(|l| l.trim_matches(|c: char| " \t/#<!->".contains(c)) == mark);
        let both = ["ANCHOR", "ANCHOR_END"].iter().all(|mark| has(&format!("{mark}: {anchor}")));
        if anchor.starts_with(|c: char| c.is_ascii_digit() || c == ':') {
            broken.push(format!("{target}: line numbers move; use an anchor"));
        } else if !anchor.is_empty() && !both {
            broken.push(format!("{file} has no anchor {anchor}"));
        }
    }
    broken
}

#[test]
fn every_page_is_a_chapter_and_every_chapter_is_run() {
    let runner = read(&root().join("crates/book-tests/src/lib.rs"));
    let chapters = chapters();
    for chapter in &chapters {
        assert!(source().join(chapter).is_file(), "SUMMARY.md lists {chapter}, which does not exist");
        let line = format!("#[doc = include_str!(\"../../../book/src/{chapter}\")]");
        assert!(runner.contains(&line), "crates/book-tests/src/lib.rs does not run {chapter}");
    }
    let mut folders = vec![source()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of the book") {
            let file = entry.expect("a file of the book").path();
            if file.is_dir() {
                folders.push(file);
            } else if file.extension().is_some_and(|e| e == "md") && !file.ends_with("SUMMARY.md") {
                let listed = chapters.iter().any(|chapter| source().join(chapter) == file);
                assert!(listed, "SUMMARY.md does not list {}", file.display());
            }
        }
    }
}

/// rustdoc treats a fence without a language as Rust. An ignored listing is not tested, unless it is included
/// from a tested file. Listings in Python are run by crates/python/tests/test_pages.py.
#[test]
fn code_says_what_it_is_and_is_run() {
    for_each_chapter(|chapter, _, text| {
        let mut fences = text.lines().filter(|line| line.trim_start().starts_with("```"));
        while let Some(open) = fences.next() {
            let language = open.trim_start().trim_start_matches('`');
            assert!(
                ["rust", "rust,ignore", "sh", "text", "toml", "c", "cpp", "cmake", "python"]
                    .contains(&language),
                "{chapter}: {open} has no language, or one that the book does not use"
            );
            assert!(fences.next().is_some_and(|close| close.trim() == "```"), "{chapter}: {open} never ends");
        }
        for ignored in text.split("```rust,ignore\n").skip(1) {
            let only = ignored.starts_with("{{#include") && ignored.lines().nth(1) == Some("```");
            assert!(only, "{chapter}: code that is not run: include it from a file that is");
        }
    });
}

#[test]
fn includes_and_their_anchors_exist() {
    for_each_chapter(|chapter, folder, text| {
        let broken = broken_includes(text, folder);
        assert!(broken.is_empty(), "{chapter}: {}", broken.join("; "));
    });
}

#[test]
fn broken_includes_are_seen() {
    let broken = |text: &str| broken_includes(text, &root().join("tests"));
    // ANCHOR: here
    assert!(broken("a {{#include book.rs:here}} b {{#include book.rs}}").is_empty());
    // ANCHOR_END: here
    let found = broken(
        "{{#include nobody.rs}} {{#include book.rs:nowhere}} {{#include book.rs:1:9}} {{#play book.rs}} {{#include",
    );
    assert_eq!(found.len(), 5, "{found:?}");
    assert_eq!(found[1], "book.rs has no anchor nowhere");
}

#[test]
fn links_lead_somewhere() {
    for_each_chapter(|chapter, folder, text| {
        for link in links(text).filter(|link| !link.starts_with("https://")) {
            let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { source().join(chapter) } else { folder.join(file) };
            assert!(target.is_file(), "{chapter}: the link to {link} leads nowhere");
            let inside = std::fs::canonicalize(&target).expect("a path");
            assert!(
                inside.starts_with(std::fs::canonicalize(source()).expect("a path")),
                "{chapter}: {link} is outside the book, where mdbook does not copy it; name it in backquotes"
            );
            if !fragment.is_empty() {
                let body = read(&target);
                let mut headings = prose(&body).filter(|line| line.starts_with('#'));
                assert!(
                    headings.any(|h| slug(h.trim_start_matches('#')) == fragment),
                    "{chapter}: {link} names no heading"
                );
            }
        }
    });
}

/// The pages beside the book: README and its companions, benchmarks and papers.
#[test]
fn links_of_other_pages_lead_to_files() {
    let mut pages = [
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "benches/README.md",
        "benches/peers/README.md",
    ]
    .map(|page| root().join(page))
    .to_vec();
    pages.extend(
        std::fs::read_dir(root().join("benches/papers"))
            .expect("a folder")
            .map(|e| e.expect("a file").path())
            .filter(|path| path.extension().is_some_and(|e| e == "md")),
    );
    assert!(pages.len() >= 11, "the five papers have a page each");
    for page in pages {
        let folder = page.parent().expect("a folder");
        for link in links(&read(&page)).filter(|link| !link.starts_with("https://")) {
            assert!(folder.join(link).exists(), "{}: the link to {link} leads nowhere", page.display());
        }
    }
}

/// A path in backquotes, such as `crates/krylov/src/cg.rs`, exists in the repository.
#[test]
fn files_that_are_named_exist() {
    let tops = ["crates/", "tests/", "book/", "benches/", "kernels/", "examples/"];
    let mut seen = 0;
    for_each_chapter(|chapter, _, text| {
        for name in names(text).filter(|name| tops.iter().any(|top| name.starts_with(top))) {
            if name.contains(['<', '*', ' ', '{']) {
                continue; // a pattern or a sentence
            }
            seen += 1;
            assert!(root().join(name).exists(), "{chapter}: `{name}` does not exist");
        }
    });
    assert!(seen > 10, "the method pages name their files");
}

/// For every "*List* `NAME` in `FILE`" on the contributing page, the file contains the name.
#[test]
fn lists_to_extend_exist() {
    let page = read(&source().join("contributing.md"));
    let mut seen = 0;
    for item in page.split("*List* `").skip(1) {
        let (name, tail) = item.split_once("` in `").expect("*List* `NAME` in `FILE`");
        let file = tail.split('`').next().expect("a file");
        assert!(read(&root().join(file)).contains(name), "{file} has no {name}");
        seen += 1;
    }
    assert!(seen >= 5, "each recipe names its list");
}

/// Scripts, fonts and images are part of the book.
#[test]
fn no_page_needs_a_network() {
    let manifest = read(&root().join("book/book.toml"));
    let settings = manifest.lines().filter(|line| !line.trim_start().starts_with('#')).collect::<String>();
    for word in ["mathjax", "http://", "https://", "preprocessor"] {
        assert!(!settings.contains(word), "book.toml: {word}");
    }
    for_each_chapter(|chapter, _, text| {
        for word in ["<script", "<link", "src=\"http", "![](http"] {
            assert!(!text.contains(word), "{chapter}: {word}");
        }
    });
}

#[test]
fn headings_become_links() {
    assert_eq!(slug(" A mesh, a `Cg` and M⁻¹ "), "a-mesh-a-cg-and-m¹");
    assert_eq!(links("[a](b.md) ![c](d.svg)\n```text\n[x](y)\n```").collect::<Vec<_>>(), ["b.md", "d.svg"]);
    assert_eq!(names("`a` b `c`\n```sh\n`d`\n```").collect::<Vec<_>>(), ["a", "c"]);
}
