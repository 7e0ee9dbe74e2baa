//! What the generated code does with arguments by itself, before anything explains their faults.

use mcp_core::ToolContext;
use mcp_core::entry::{Call, Input};
use mcp_core::error::{CallError, Fault};

use super::{assert_bounded, entry};

/// The faults of the arguments of a tool that no registry calls, as paths and messages.
fn faults(name: &str, arguments: &str) -> Vec<Fault> {
    let Call::Sync(function) = entry(name).call else { panic!("{name} is async") };
    match function(&ToolContext::for_test(), Input::new(arguments), &mut Vec::new()) {
        Err(CallError::Arguments(faults)) => {
            faults.iter().for_each(assert_bounded);
            faults
        }
        other => panic!("{arguments}: {other:?}"),
    }
}

fn expect(name: &str, arguments: &str, expected: &[(&str, &str)]) {
    let faults = faults(name, arguments);
    let found: Vec<(&str, &str)> = faults.iter().map(|fault| (fault.path.as_str(), fault.message.as_str())).collect();
    assert_eq!(found, expected, "{arguments}");
}

#[test]
fn an_argument_that_its_type_rejects_is_one_fault_at_its_path_with_the_words_of_the_type() {
    let found = faults("nested", r#"{"filters":[{"date":1},{"days":[300]}],"color":"blue"}"#);
    let paths: Vec<&str> = found.iter().map(|fault| fault.path.as_str()).collect();
    assert_eq!(paths, ["/filters", "/color"]);
    assert_eq!(
        (found[1].expected.as_str(), found[1].got.as_deref()),
        ("a value that its type accepts", Some("\"blue\""))
    );
    for (fault, words) in found.iter().zip(["expected a string", "unknown variant `blue`"]) {
        assert!(fault.message.contains(" is rejected by its type: ") && fault.message.contains(words), "{fault:?}");
    }
}

#[test]
fn constraints_and_unknown_and_missing_arguments_are_reported() {
    expect(
        "bounded",
        r#"{"small":11,"text":"é"}"#,
        &[
            ("/small", "`small` must be a number of at most 10, not 11; correct the value"),
            ("/text", "`text` must be a text of at least 2 characters, not \"é\"; correct the value"),
        ],
    );
    expect(
        "plain",
        r#"{"number":1,"flagg":true}"#,
        &[("/flagg", "there is no argument `flagg`; did you mean `flag`?"), ("/text", "`text` is missing; add it")],
    );
    expect("renamed", r#"{"old":1,"a/b~c":1}"#, &[("/a~1b~0c", "`a/b~c` is given twice; keep one of the two")]);
}

#[test]
fn text_that_is_not_a_json_object_is_a_fault_of_the_whole() {
    let unclosed = format!(r#"{{"more":{}"#, "[".repeat(10_000));
    for text in ["", "[]", "{", r#"{"number":1,}"#, r#"{"number":1 2}"#, r#"{"text":"\x"}"#] {
        let faults = faults("plain", text);
        assert!(faults.len() == 1 && faults[0].path.is_empty(), "{text}: {faults:?}");
    }
    assert_eq!(faults("open", &unclosed).last().unwrap().path, "");
}

#[test]
fn nothing_of_a_secret_is_repeated_without_a_registry_either() {
    for arguments in [
        r#"{"user":"u","password":["hunter2"]}"#,
        r#"{"user":"u","password":{"hunter2":1}}"#,
        r#"{"user":"u","password":"hunter2","pin":"hunter2"}"#,
        r#"{"user":"u","password":hunter2}"#,
        r#"{"user":"u","password":"hunter2","password":"hunter2"}"#,
        r#"{"user":"u","password":"hunter2\ud800"}"#,
    ] {
        let faults = faults("login", arguments);
        assert!(!format!("{faults:?}").contains("hunter2"), "{arguments}: {faults:?}");
    }
    // A constraint that it breaks.
    let broken = &faults("login", r#"{"user":"u","password":"abc"}"#)[0];
    assert_eq!(broken.message, "`password` must be a text of at least 4 characters; correct the value");
    assert_eq!((broken.path.as_str(), broken.got.as_deref()), ("/password", None));
}
