//! The keys of maps.

use super::{expect, faults};

#[test]
fn a_wrong_key_of_a_map_is_named() {
    let colors = ("/colors/blue", "`colors` has no field `blue`; remove it, or use one of `green`, `red`");
    expect("keyed", r#"{"colors":{"red":1,"blue":2}}"#, &[colors]);
    expect("keyed_all", r#"{"colors": { "blue" : 2 }}"#, &[colors]);
    for key in ["x", "12x"] {
        let fault = (format!("/numbers/1/{key}"), format!("`numbers/1` has no field `{key}`; remove it"));
        expect("keyed", &format!(r#"{{"numbers":[{{}},{{"1":1,"{key}":2}}]}}"#), &[(&fault.0, &fault.1)]);
    }
}

#[test]
fn a_wrong_key_of_a_map_that_is_all_arguments_is_named_with_those_that_fit() {
    let root = ("/blue", "there is no argument `blue`; remove it, or use one of `green`, `red`");
    expect("colors_only", r#"{"blue": 2}"#, &[root]);
}

#[test]
fn with_a_valid_key_the_value_is_at_fault() {
    expect(
        "keyed",
        r#"{"colors":{"red":"1"}}"#,
        &[("/colors/red", "`colors/red` must be an integer from 0 to 255, not \"1\"; correct the value")],
    );
}

#[test]
fn a_key_that_only_the_type_rejects_is_reported_in_the_words_of_the_type() {
    let fault = &faults("keyed", r#"{"numbers":[{},{"1":1,"300":2}]}"#)[0];
    assert_eq!((fault.path.as_str(), fault.expected.as_str()), ("/numbers", "a value that its type accepts"));
    assert!(fault.message.contains("rejected by its type: invalid value: integer `300`, expected u8"), "{fault:?}");
}

#[test]
fn a_wrong_key_of_a_secret_is_not_named() {
    let fault = &faults("keyed", r#"{"secrets":{"blue":2}}"#)[0];
    assert!(fault.path == "/secrets" && !format!("{fault:?}").contains("blue"), "{fault:?}");
}
