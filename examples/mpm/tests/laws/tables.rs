//! The arguments of the bench `tables`.

use std::path::Path;

#[path = "../../benches/tables/asked.rs"]
mod asked;

use asked::{ArgumentError, Asked};

fn parse(words: &str) -> Result<Option<Asked>, ArgumentError> {
    let words = words.split(' ').filter(|word| !word.is_empty()).map(str::to_owned);
    Asked::parse(words, &["bar", "spy"], Path::new("folder"))
}

#[test]
fn arguments_of_the_tables_are_read() {
    let none = parse("--bench").unwrap().unwrap();
    assert!(none.tables.is_empty() && none.particles() == 8000 && none.threads == 2);
    let keys = "particles=70 frames=0 threads=1 most=3 scenes=twist,armacat:1e6 methods=hot runs=r states=s results=t";
    let found = parse(&format!("spy bar {keys} --bench")).unwrap().unwrap();
    let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
    let expected = Asked {
        tables: vec!["spy".into(), "bar".into()],
        scenes: words(&["twist", "armacat:1e6"]),
        particles: Some(70),
        frames: Some(0),
        states: "s".into(),
        runs: Some("r".into()),
        methods: words(&["hot"]),
        most: 3,
        threads: 1,
        results: "t".into(),
    };
    assert_eq!(found, expected);
}

/// Help runs nothing, and neither does a word that is not understood.
#[test]
fn other_arguments_of_the_tables_run_nothing() {
    for help in ["--help", "bar --help --bench", "-h"] {
        assert_eq!(parse(help), Ok(None));
    }
    for word in ["--particles", "--states=4", "bra", "particle=3"] {
        let error = parse(word).unwrap_err();
        assert!(matches!(&error, ArgumentError::Unknown { word: found, .. } if found == word), "{error}");
        assert!(error.to_string().contains("bar, spy") && error.to_string().contains("particles"), "{error}");
    }
    for (word, least) in
        [("particles=x", 1), ("particles=0", 1), ("most=0", 1), ("threads=-1", 0), ("frames=1.5", 0)]
    {
        let error = parse(word).unwrap_err();
        assert!(matches!(error, ArgumentError::Number { least: found, .. } if found == least), "{error}");
        assert_eq!(error.to_string(), format!("`{word}`: expected a whole number of {least} or more"));
    }
}
