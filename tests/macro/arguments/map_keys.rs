//! The keys of maps.

use super::{expect, faults};

#[test]
fn a_wrong_key_of_a_map_is_named() {
    let colors = ("/colors/blue", "`colors` has the key `blue`, which must be `red` or `green`; rename it");
    expect("keyed", r#"{"colors":{"red":1,"blue":2}}"#, &[colors]);
    expect("keyed_all", r#"{"colors": { "blue" : 2 }}"#, &[colors]);
    let root = ("/blue", "there is no argument `blue`; remove it, or use one of `green`, `red`");
    expect("colors_only", r#"{"blue": 2}"#, &[root]);
    let fault = &faults("keyed", r#"{"colors":{"blue":2}}"#)[0];
    assert_eq!((fault.expected.as_str(), fault.got.as_deref()), ("`red` or `green`", Some("\"blue\"")));
    let numbers = |key: &str, expected: &str| {
        (format!("/numbers/1/{key}"), format!("`numbers/1` has the key `{key}`, which must be {expected}; rename it"))
    };
    for (key, expected) in
        [("x", "a number in quotes"), ("12x", "a number in quotes"), ("300", "an integer from 0 to 255")]
    {
        let (path, message) = numbers(key, expected);
        expect("keyed", &format!(r#"{{"numbers":[{{}},{{"1":1,"{key}":2}}]}}"#), &[(&path, &message)]);
    }
    // With a valid key, the value is at fault.
    expect(
        "keyed",
        r#"{"colors":{"red":"1"}}"#,
        &[("/colors/red", "`colors/red` must be an integer from 0 to 255, not \"1\"; correct the value")],
    );
}

#[test]
fn a_wrong_key_of_a_secret_is_not_named() {
    let fault = &faults("keyed", r#"{"secrets":{"blue":2}}"#)[0];
    assert!(fault.path == "/secrets" && !format!("{fault:?}").contains("blue"), "{fault:?}");
}
