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
    lines(text, false)
}

/// The lines of fenced code, or the other ones.
fn lines(text: &str, of_code: bool) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        fenced == of_code && !fence
    })
}

/// Panics where a line of a listing has more than 80 columns.
fn check_widths(page: &str, text: &str) {
    for line in lines(text, true) {
        let width = line.chars().count();
        assert!(width <= 80, "{page}: a line of a listing has {width} columns: {line}");
    }
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

/// The lines between `ANCHOR: name` and `ANCHOR_END: name` of a file, without anchors and common indentation.
fn anchored(body: &str, name: &str) -> Option<String> {
    let mark = |line: &str| line.trim_matches(|c: char| " \t/#<!->".contains(c)).to_owned();
    let start = body.lines().position(|line| mark(line) == format!("ANCHOR: {name}"))?;
    let end = body.lines().position(|line| mark(line) == format!("ANCHOR_END: {name}"))?;
    let inside = body.lines().take(end).skip(start + 1).filter(|line| !mark(line).starts_with("ANCHOR"));
    let lines: Vec<&str> = inside.collect();
    let indentation = |line: &&str| line.len() - line.trim_start().len();
    let common = lines.iter().filter(|line| !line.is_empty()).map(indentation).min().unwrap_or(0);
    let text: Vec<&str> = lines.iter().map(|line| line.get(common..).unwrap_or("")).collect();
    Some(text.join("\n").trim_matches('\n').to_owned() + "\n")
}

/// The file and the anchor of a comment `<!-- FILE:ANCHOR -->`, which stands above a listing of that file.
fn source_of(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("<!-- ")?.strip_suffix(" -->")?.rsplit_once(':')
}

/// A chapter with its listings as they are in their files.
fn with_listings(text: &str) -> Result<String, String> {
    let (mut out, mut lines) = (String::new(), text.lines());
    while let Some(line) = lines.next() {
        out += &format!("{line}\n");
        let Some((file, anchor)) = source_of(line) else { continue };
        let body = std::fs::read_to_string(root().join(file)).map_err(|e| format!("{file}: {e}"))?;
        let listing = anchored(&body, anchor).ok_or(format!("{file} has no anchor {anchor}"))?;
        let fence = lines.next().filter(|fence| fence.starts_with("```"));
        out += &format!("{}\n{listing}", fence.ok_or(format!("{line}: a listing should follow"))?);
        out += lines.find(|line| *line == "```").ok_or(format!("{line}: the listing has no end"))?;
        out += "\n";
    }
    Ok(out)
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

/// rustdoc treats a fence without a language as Rust. An ignored listing is not tested, unless it stands in a
/// tested file too. Listings in Python are run by crates/python/tests/test_pages.py.
#[test]
fn code_says_what_it_is_and_is_run() {
    for_each_chapter(|chapter, _, text| {
        let (mut fence, mut before) = (None, "");
        for line in text.lines() {
            if line.trim_start().starts_with("```") && fence.is_some() {
                assert_eq!(line.trim(), "```", "{chapter}: a listing never ends");
                fence = None;
            } else if let Some(language) = line.trim_start().strip_prefix("```") {
                assert!(
                    ["rust", "rust,ignore", "sh", "text", "toml", "c", "cpp", "cmake", "python", "math"]
                        .contains(&language),
                    "{chapter}: {line} has no language, or one that the book does not use"
                );
                assert!(
                    language != "rust,ignore" || source_of(before).is_some(),
                    "{chapter}: code that is not run: name the file that is, as <!-- FILE:ANCHOR -->"
                );
                fence = Some(language);
            }
            before = line;
        }
        assert!(fence.is_none(), "{chapter}: the last listing never ends");
        check_widths(chapter, text);
    });
}

/// Pages read the same in an editor, on a repository host, in rustdoc and in the book.
#[test]
fn listings_are_those_of_the_programs() {
    for_each_chapter(|chapter, folder, text| {
        assert!(!text.contains("{{#"), "{chapter}: only mdbook expands {{{{#..}}}}");
        let now = with_listings(text).unwrap_or_else(|fault| panic!("{chapter}: {fault}"));
        if std::env::var_os("COARSEN_WRITE").is_some() {
            let file = folder.join(Path::new(chapter).file_name().expect("a file"));
            std::fs::write(&file, now).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        } else {
            assert!(
                now == text,
                "{chapter}: a listing has changed; `COARSEN_WRITE=1 cargo test --test book` copies it"
            );
        }
    });
}

/// The listings of a tutorial, one after the other, are its program.
#[test]
fn tutorials_have_their_whole_programs() {
    let lines = |text: &str| {
        let other = |line: &&str| line.is_empty() || line.starts_with("//!") || line.contains("ANCHOR");
        let lines = text.lines().map(str::trim).filter(|line| !other(line));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    for (page, file) in [
        ("first.md", "crates/book-tests/src/bin/first.rs"),
        ("program.md", "crates/book-tests/src/bin/program.rs"),
        ("solids.md", "crates/book-tests/src/bin/solids.rs"),
        ("simulation.md", "crates/book-tests/src/bin/simulation.rs"),
        ("cloth.md", "examples/cloth/src/bin/drape.rs"),
        ("ranks.md", "crates/mpi/examples/first.rs"),
    ] {
        let page = read(&source().join("tutorials").join(page));
        let mark = format!("<!-- {file}:");
        let listings = page.split(&mark).skip(1);
        let code = listings.filter_map(|tail| tail.split("```").nth(1)?.strip_prefix("rust,ignore\n"));
        let program = read(&root().join(file));
        let program = program.split("#[cfg(test)]").next().unwrap_or(&program);
        assert_eq!(lines(&code.collect::<String>()), lines(program), "listings, and lines of {file}");
    }
}

#[test]
fn listings_are_found_and_faults_named() {
    // ANCHOR: here
    if true {
        assert_eq!(source_of("<!-- a.rs:b -->"), Some(("a.rs", "b")));
    }
    // ANCHOR_END: here
    let page = with_listings("a\n<!-- tests/book.rs:here -->\n```rust,ignore\nold\n```\nb").unwrap();
    let lines: Vec<&str> = page.lines().collect();
    assert_eq!((lines[3], lines.len()), ("if true {", 8));
    for (page, fault) in [
        ("<!-- tests/nobody.rs:here -->", "tests/nobody.rs: "),
        ("<!-- tests/book.rs:nowhere -->", "tests/book.rs has no anchor nowhere"),
        ("<!-- tests/book.rs:here -->\ntext", "a listing should follow"),
        ("<!-- tests/book.rs:here -->\n```rust", "the listing has no end"),
    ] {
        let found = with_listings(page).unwrap_err();
        assert!(found.contains(fault), "{found}");
    }
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

/// The pages beside the book: README and its companions, packages, benchmarks and papers.
#[test]
fn other_pages_have_links_to_files_and_narrow_listings() {
    let mut pages = [
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "crates/mpi/README.md",
        "crates/python/README.md",
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
    assert!(pages.len() >= 13, "the five papers have a page each");
    for page in pages {
        let (folder, text) = (page.parent().expect("a folder"), read(&page));
        check_widths(&page.display().to_string(), &text);
        for link in links(&text).filter(|link| !link.starts_with("https://")) {
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

/// The source files of the libraries, without backticks and the line breaks inside of messages.
fn sources() -> Vec<(PathBuf, String)> {
    let (mut folders, mut files) = (vec![root().join("crates")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of sources") {
            let file = entry.expect("a file").path();
            if file.is_dir() && !file.ends_with("tests") {
                folders.push(file);
            } else if file.extension().is_some_and(|e| e == "rs") {
                let text = read(&file);
                let lines = text.split("\\\n").enumerate();
                let joined: String =
                    lines.map(|(k, line)| if k > 0 { line.trim_start() } else { line }).collect();
                let file = file.strip_prefix(root()).expect("in the repository").to_owned();
                files.push((file, joined.replace('`', "")));
            }
        }
    }
    files
}

/// The rows of the page on errors: every piece of a text stands in a message, and every variant of every public error with a
/// message of its own is in the column of types, where a name without a type belongs to the type before it.
#[test]
fn errors_are_those_of_the_code() {
    let page = read(&source().join("guides/troubleshooting.md"));
    let (_, tail) = page.split_once("## Errors by their text").expect("the section on errors");
    let section = tail.split("\n## ").next().unwrap_or(tail);
    let sources = sources();
    let mut listed = Vec::new();
    for line in section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| text ")) {
        let row: Vec<&str> = line.trim_matches(['|', ' ']).split(" | ").collect();
        assert_eq!(row.len(), 4, "text, type, cause and cure: {line}");
        for piece in row[0].replace('`', "").split(';').flat_map(|p| p.split("...")) {
            let piece = piece.trim_matches([' ', ',', ':']);
            let found = piece.len() < 4 || sources.iter().any(|(_, text)| text.contains(piece));
            assert!(found, "no message has `{piece}` of the row {}", row[0]);
        }
        let mut kind = "";
        for name in row[1].split('`').skip(1).step_by(2) {
            let (own, variant) = name.rsplit_once("::").unwrap_or((kind, name));
            kind = own;
            listed.push(format!("{kind}::{variant}"));
        }
    }
    let mut all = Vec::new();
    for (file, text) in &sources {
        let names: Vec<&str> = file.iter().filter_map(|part| part.to_str()).collect();
        if names[2] != "src" || ["python", "ffi", "cli", "book-tests"].contains(&names[1]) {
            continue;
        }
        for item in text.split("\npub enum ").skip(1) {
            let (head, body) = item.split_once("{\n").expect("an enumeration");
            let body = body.split("\n}").next().unwrap_or(body);
            // Two crates have a `Problem`.
            let kind = match head.trim() {
                "Problem" => format!("{}::Problem", names[1].replace('-', "_")),
                kind => kind.to_owned(),
            };
            let (mut variants, mut own) = (Vec::new(), true);
            for line in body.lines().filter_map(|line| line.strip_prefix("    ")) {
                if line.starts_with(|c: char| c.is_ascii_uppercase()) && own {
                    let variant = line.split(['(', ' ', ',']).next().unwrap_or(line);
                    variants.push(format!("{kind}::{variant}"));
                }
                own = line != "#[error(transparent)]"
                    && (own || line.starts_with(|c: char| c.is_ascii_uppercase()));
            }
            if body.contains("    #[error(") {
                all.extend(variants);
            }
        }
    }
    assert!(all.len() > 200, "{} variants", all.len());
    let missing: Vec<&String> = all.iter().filter(|name| !listed.contains(name)).collect();
    assert!(missing.is_empty(), "the page on errors has no rows for {missing:#?}");
    let is_struct = |name: &str| {
        let item = format!("pub struct {} ", name.rsplit("::").next().unwrap_or(name));
        sources.iter().any(|(_, text)| text.contains(&item))
    };
    let gone: Vec<&String> = listed.iter().filter(|name| !all.contains(name) && !is_struct(name)).collect();
    assert!(gone.is_empty(), "the page on errors has rows of types that are gone: {gone:#?}");
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
    assert!(seen >= 5, "each section names its list");
}

/// Scripts, fonts and images are part of the book.
#[test]
fn no_page_needs_a_network() {
    let manifest = read(&root().join("book/book.toml"));
    let settings = manifest.lines().filter(|line| !line.trim_start().starts_with('#')).collect::<String>();
    for word in ["mathjax", "http://", "https://"] {
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
