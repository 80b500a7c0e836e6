use super::*;
use proptest::prelude::*;

fn currency(code: &str) -> Currency {
    Currency::parse(code).expect("a known currency")
}

fn money(minor_units: u64, code: &str) -> Money {
    Money::new(minor_units, currency(code)).expect("within the limit")
}

#[test]
fn exponents_are_those_of_iso_4217() {
    let expected = [
        ("JPY", 0),
        ("KRW", 0),
        ("VND", 0),
        ("CLP", 0),
        ("ISK", 0),
        ("UGX", 0),
        ("CNY", 2),
        ("USD", 2),
        ("EUR", 2),
        ("HKD", 2),
        ("TWD", 2),
        ("HUF", 2),
        ("KWD", 3),
        ("BHD", 3),
        ("JOD", 3),
        ("OMR", 3),
        ("TND", 3),
        ("IQD", 3),
        ("LYD", 3),
    ];
    for (code, exponent) in expected {
        assert_eq!(currency(code).exponent(), exponent, "{code}");
    }
}

#[test]
fn a_currency_code_is_exact() {
    for code in ["cny", "Cny", "CN", "", "ABC", " CNY", "XAU", "XXX", "人民币"] {
        assert!(Currency::parse(code).is_err(), "{code:?} was taken");
    }
}

#[test]
fn decimals_are_exact_in_every_exponent() {
    let cases = [
        ("19.99", "CNY", 1999),
        ("0.01", "CNY", 1),
        ("0.1", "CNY", 10),
        ("7", "CNY", 700),
        ("1999", "JPY", 1999),
        ("1.999", "KWD", 1999),
        ("0.001", "KWD", 1),
        ("5.5", "KWD", 5500),
    ];
    for (text, code, minor_units) in cases {
        let parsed = Money::parse_decimal(text, currency(code)).expect(text);
        assert_eq!(parsed.minor_units(), minor_units, "{text} {code}");
    }
    assert_eq!(money(5, "CNY").to_decimal(), "0.05");
    assert_eq!(money(1999, "JPY").to_decimal(), "1999");
    assert_eq!(money(1, "KWD").to_decimal(), "0.001");
}

#[test]
fn odd_decimals_are_refused_and_never_rounded() {
    let bad = [
        "",
        ".",
        "1.",
        ".5",
        "-1",
        "+1",
        "1,000",
        "1.001",
        "1e3",
        " 1",
        "1 ",
        "1.0.0",
        "NaN",
        "0x10",
        "١",
        "99999999999999999999999",
    ];
    for text in bad {
        assert!(Money::parse_decimal(text, currency("CNY")).is_err(), "{text:?} was taken");
    }
    assert!(Money::parse_decimal("1.5", currency("JPY")).is_err());
}

#[test]
fn currencies_do_not_mix_and_nothing_wraps() {
    assert!(matches!(
        money(1, "CNY").checked_add(money(1, "USD")),
        Err(MoneyError::CurrencyMismatch { .. })
    ));
    assert!(matches!(
        money(1, "CNY").checked_sub(money(2, "CNY")),
        Err(MoneyError::Insufficient { available: 1, taken: 2 })
    ));
    assert_eq!(
        money(MAX_MINOR_UNITS, "CNY").checked_add(money(1, "CNY")),
        Err(MoneyError::TooLarge)
    );
    assert_eq!(money(MAX_MINOR_UNITS, "CNY").checked_mul(2), Err(MoneyError::TooLarge));
    assert_eq!(Money::new(u64::MAX, currency("CNY")), Err(MoneyError::TooLarge));
}

#[test]
fn json_takes_integers_only() {
    for text in [
        r#"{"amount":19.99,"currency":"CNY"}"#,
        r#"{"amount":"1999","currency":"CNY"}"#,
        r#"{"amount":-1,"currency":"CNY"}"#,
        r#"{"amount":9007199254740992,"currency":"CNY"}"#,
        r#"{"amount":1999,"currency":"cny"}"#,
        r#"{"amount":1999}"#,
    ] {
        assert!(serde_json::from_str::<Money>(text).is_err(), "{text} was taken");
    }
    let text = serde_json::to_string(&money(1999, "CNY")).expect("serializes");
    assert_eq!(text, r#"{"amount":1999,"currency":"CNY"}"#);
}

proptest! {
    #[test]
    fn a_decimal_reads_back_as_written(units in 0..=MAX_MINOR_UNITS, code in 0..4usize) {
        let currency = currency(["CNY", "JPY", "KWD", "USD"][code]);
        let money = Money::new(units, currency).expect("within the limit");
        prop_assert_eq!(Money::parse_decimal(&money.to_decimal(), currency), Ok(money));
    }

    #[test]
    fn taking_back_what_was_added_changes_nothing(a in 0..1u64 << 52, b in 0..1u64 << 52) {
        let (a, b) = (money(a, "CNY"), money(b, "CNY"));
        let sum = a.checked_add(b).expect("below the limit");
        prop_assert_eq!(sum.checked_sub(b), Ok(a));
    }
}
