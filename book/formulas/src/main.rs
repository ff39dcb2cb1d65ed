//! A preprocessor of mdbook: blocks `math` of LaTeX become MathML, so that no page needs a script or a network.
//! A repository host draws the same blocks.

use std::error::Error;
use std::io::{stdin, stdout};

use pulldown_latex::config::{DisplayMode, RenderConfig};
use pulldown_latex::{Parser, Storage, push_mathml};
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).is_some() {
        return Ok(()); // `supports RENDERER`: every renderer
    }
    let mut input: Value = serde_json::from_reader(stdin().lock())?;
    let mut book = input[1].take(); // [context, book]
    convert(&mut book)?;
    serde_json::to_writer(stdout().lock(), &book)?;
    Ok(())
}

/// Replaces the formulas in the `content` of every chapter.
fn convert(value: &mut Value) -> Result<(), String> {
    match value {
        Value::Object(fields) => fields.iter_mut().try_for_each(|(key, value)| match value {
            Value::String(text) if key == "content" => {
                *text = page(text)?;
                Ok(())
            }
            _ => convert(value),
        }),
        Value::Array(items) => items.iter_mut().try_for_each(convert),
        _ => Ok(()),
    }
}

/// A page with its formulas as MathML.
fn page(text: &str) -> Result<String, String> {
    let mut pieces = text.split("```math\n");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (latex, rest) = piece.split_once("```").ok_or("a formula never ends")?;
        out += &format!("<div class=\"formula\">{}</div>{rest}", mathml(latex)?);
    }
    Ok(out)
}

/// A formula as MathML, or an error that names the formula.
fn mathml(latex: &str) -> Result<String, String> {
    let storage = Storage::new();
    let fault = |error: &dyn Error| format!("{latex}: {error}");
    // `push_mathml` draws an error into the formula.
    let events = Parser::new(latex, &storage).collect::<Result<Vec<_>, _>>().map_err(|e| fault(&e))?;
    let config = RenderConfig { display_mode: DisplayMode::Block, ..RenderConfig::default() };
    let (mut out, events) = (String::new(), events.into_iter().map(Ok::<_, std::fmt::Error>));
    push_mathml(&mut out, events, config).map_err(|e| fault(&e))?;
    // The library takes the star of `\operatorname*` and all that follows for a name.
    if out.contains('\\') {
        return Err(format!("{latex}: a command is in the text of {out}"));
    }
    let out = out.replace("><<", ">&lt;<"); // which the library does not escape
    Ok(out.lines().collect::<Vec<_>>().join(" ")) // an empty line would end the HTML
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_becomes_mathml_and_a_wrong_one_is_named() {
        let found = page("a\n\n```math\nx < 2\n```\n\nb").unwrap();
        assert!(
            found.starts_with("a\n\n<div class=\"formula\"><math") && found.ends_with("</div>\n\nb"),
            "{found}"
        );
        assert!(page("```math\n\\frac{1}\n```").unwrap_err().contains("\\frac{1}"));
        assert!(page("```math\n\\operatorname*{argmin} \\; x\n```").is_err());
        let mut book = serde_json::json!({"items": [{"Chapter": {"content": "```math\nx\n```"}}]});
        convert(&mut book).unwrap();
        assert!(book.to_string().contains("<math"));
    }

    #[test]
    fn every_formula_of_the_book_is_read() {
        let mut folders = vec![concat!(env!("CARGO_MANIFEST_DIR"), "/../src").into()];
        let mut seen = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir::<std::path::PathBuf>(folder).unwrap() {
                let file = entry.unwrap().path();
                if file.is_dir() {
                    folders.push(file);
                } else if file.extension().is_some_and(|e| e == "md") {
                    let text = std::fs::read_to_string(&file).unwrap();
                    let page = page(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
                    seen += page.matches("<math").count();
                }
            }
        }
        assert!(seen > 10, "{seen} formulas");
    }
}
