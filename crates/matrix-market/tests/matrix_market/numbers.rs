//! Numbers of files have the bits of `str::parse`.

use std::io::Cursor;

use coarsen_matrix_market::{Problem, Source};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The number of an array with one entry.
fn real(text: &str) -> Result<f64, Problem> {
    let file = format!("%%MatrixMarket matrix array real general\n1 1\n{text}\n");
    Source::new(Cursor::new(file)).vector().map(|x| x[0]).map_err(|error| error.problem)
}

fn same(text: &str) {
    let expected: f64 = text.parse().unwrap();
    match real(text) {
        Ok(found) => assert_eq!(found.to_bits(), expected.to_bits(), "{text}"),
        Err(problem) => {
            assert!(
                expected.is_infinite() && matches!(problem, Problem::NotFinite { .. }),
                "{text}: {problem}"
            );
        }
    }
}

#[test]
fn numbers_at_the_limits_of_f64_are_exact() {
    for text in [
        "0",
        "-0",
        "+1",
        "1.",
        ".5",
        "-.5e1",
        "9007199254740992",
        "9007199254740993",
        "1e22",
        "1e23",
        "1e-22",
        "1e-23",
        "5e-324",
        "2.4703282292062327e-324",
        "1.7976931348623157e308",
        "1e999",
        "0e99999999999999999999",
        "00000000000000000000000001",
        "0.000000000000000000000000000012",
        "18446744073709551616",
        "1e99999999999999999999",
        "1e-9223372036854775808",
        "0.1e9223372036854775807",
        "123456789012345678e-5",
    ] {
        same(text);
    }
    assert_eq!(real("1.5D+03"), Ok(1500.0));
    assert_eq!(real("1.2345678901234567890d-300"), Ok(1.234_567_890_123_456_8e-300));
    assert!(matches!(real("1.5D+03 x"), Err(Problem::Words { .. })));
    for text in ["-", "+", ".", "e5", "1e", "1e+", "x", "1.2.3"] {
        assert_eq!(real(text), Err(Problem::Value { found: text.into() }));
    }
    for text in ["nan", "inf", "-inf"] {
        assert_eq!(real(text), Err(Problem::NotFinite { found: text.into() }));
    }
}

#[test]
fn sizes_are_read_or_refused() {
    let rows = |text: &str| {
        let file = format!("%%MatrixMarket matrix coordinate real general\n{text} 1 0\n");
        Source::new(Cursor::new(file)).matrix().map(|a| a.shape().0).map_err(|error| error.problem)
    };
    assert_eq!(rows("12"), Ok(12));
    let (count, limit) = (9_999_999_999_999_999_999, u64::from(u32::MAX));
    assert_eq!(rows("9999999999999999999"), Err(Problem::TooLarge { what: "rows", count, limit }));
    for text in ["", "-1", "+1", "x", "10000000000000000000"] {
        assert!(matches!(rows(text), Err(Problem::Size { .. })), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1990), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn printed_numbers_come_back(bits: u64) {
        let v = f64::from_bits(bits);
        prop_assume!(v.is_finite());
        for text in [format!("{v:e}"), format!("{v}"), format!("{v:.6e}"), format!("{v:.16e}")] {
            same(&text);
        }
    }

    #[test]
    fn short_decimals_round_correctly(m in 0_u64..1 << 60, shift in 0..60, e in -40..40, negative: bool) {
        let sign = if negative { "-" } else { "" };
        same(&format!("{sign}{}e{e}", m >> shift));
    }

    #[test]
    fn any_decimal_rounds_correctly(text in "[+-]?[0-9]{1,25}(\\.[0-9]{0,25})?([eE][+-]?[0-9]{1,4})?") {
        same(&text);
    }
}
