//! What a tool is called, and which version it is.

use mcp_core::NamePolicy;
use mcp_core::name::{NameError, ToolName, Version};
use mcp_core::serde_json::{self, json};
use proptest::prelude::*;

fn name(text: &str) -> ToolName {
    ToolName::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn s1_25_c4_a_name_is_segments_of_letters_digits_underscores_and_hyphens() {
    for good in ["a", "file_utility.read_file_content", "A-1.b_2.C", "9", "_", "-", &"n".repeat(128)] {
        assert_eq!(name(good).canonical(), good);
    }
    assert!(matches!(ToolName::parse(""), Err(NameError::Empty)));
    assert!(matches!(ToolName::parse("a..b"), Err(NameError::EmptySegment { .. })));
    assert!(matches!(ToolName::parse(&"n".repeat(129)), Err(NameError::TooLong { length: 129, .. })));
    let error = ToolName::parse("größe.x").unwrap_err();
    assert_eq!(
        error.to_string(),
        "`größe.x` has the character 'ö' at position 2; use letters, digits, `_`, `-` and `.`"
    );
}

#[test]
fn c4_the_policy_decides_the_name_on_the_wire() {
    let tool = name("file-utility.text.read");
    assert_eq!((tool.module(), tool.last_segment()), (Some("file-utility.text"), "read"));
    assert_eq!(tool.wire(NamePolicy::HostSafe).unwrap(), "file_utility_text_read");
    assert_eq!(tool.wire(NamePolicy::Dotted).unwrap(), "file-utility.text.read");
    assert_eq!(tool.wire(NamePolicy::Bare).unwrap(), "read");
    assert_eq!(NamePolicy::default(), NamePolicy::HostSafe);
    assert_eq!(name("bare").wire(NamePolicy::HostSafe).unwrap(), "bare");
    assert_eq!(name("bare").module(), None);
}

#[test]
fn a_name_that_is_too_long_for_hosts_is_refused_and_never_cut() {
    let long = name(&format!("m.{}", "n".repeat(63)));
    let error = long.wire(NamePolicy::HostSafe).unwrap_err();
    assert!(matches!(error, NameError::WireTooLong { length: 65, .. }));
    assert!(error.to_string().ends_with("hosts accept at most 64: shorten it"));
    assert_eq!(long.wire(NamePolicy::Bare).unwrap().len(), 63);
    assert_eq!(long.wire(NamePolicy::Dotted).unwrap().len(), 65);
}

#[test]
fn c4_names_that_hosts_cannot_distinguish_fold_to_one() {
    assert_eq!(name("a.b_c").folded(), name("a_b.c").folded());
    assert_eq!(name("a-b").folded(), name("a.b").folded());
    assert_ne!(name("A.b").folded(), name("a.b").folded());
}

#[test]
fn s1_8_the_strict_form_has_two_lower_case_segments() {
    assert!(name("a.b").is_strict() && name("a_1.b.c").is_strict());
    assert!(!name("a").is_strict() && !name("A.b").is_strict() && !name("a-b.c").is_strict());
}

#[test]
fn names_and_versions_are_plain_strings_in_json() {
    assert_eq!(serde_json::to_value(name("a.b")).unwrap(), json!("a.b"));
    assert_eq!(serde_json::from_value::<ToolName>(json!("a.b")).unwrap(), "a.b");
    assert!(serde_json::from_value::<ToolName>(json!("a b")).is_err());
    assert_eq!(serde_json::to_value(Version::new(1, 2, 3)).unwrap(), json!("1.2.3"));
    assert_eq!(serde_json::from_value::<Version>(json!("1.2.3")).unwrap(), Version::new(1, 2, 3));
    assert!(serde_json::from_value::<Version>(json!("1.2")).is_err());
}

#[test]
fn s1_36_a_version_has_three_numbers() {
    let version = Version::parse("1.2.3").unwrap();
    assert_eq!((version.major(), version.minor(), version.patch()), (1, 2, 3));
    for bad in ["1", "1.2", "v1.0.0", "01.0.0", "", "1.0.0.0"] {
        let error = Version::parse(bad).unwrap_err().to_string();
        assert!(error.ends_with("write `major.minor.patch`, such as `1.0.0`"), "{error}");
    }
    assert!(Version::new(1, 10, 0) > Version::new(1, 9, 9));
}

#[test]
fn s1_34_a_newer_version_is_compatible_until_the_first_nonzero_number_changes() {
    let serves =
        |mine: &str, asked: &str| Version::parse(mine).unwrap().is_compatible_with(&Version::parse(asked).unwrap());
    assert!(serves("1.0.0", "1.0.0") && serves("1.9.0", "1.0.0") && serves("1.0.1", "1.0.0"));
    assert!(!serves("1.0.0", "1.0.1") && !serves("2.0.0", "1.0.0") && !serves("1.0.0", "2.0.0"));
    assert!(serves("0.3.2", "0.3.1") && !serves("0.4.0", "0.3.1") && !serves("0.0.2", "0.0.1"));
}

proptest! {
    #[test]
    fn any_text_is_a_name_or_refused(text in ".{0,140}") {
        if let Ok(tool) = ToolName::parse(&text) {
            prop_assert_eq!(tool.canonical(), &text);
            let folded = tool.folded();
            prop_assert!(folded.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
            let whole = tool.module().map_or(String::new(), |module| format!("{module}.")) + tool.last_segment();
            prop_assert_eq!(whole, text);
        }
    }
}
