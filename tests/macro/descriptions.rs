//! Descriptions with sections, and those that come from macros: `include_str!`, `concat!` and those of users.

use mcp_core::mcp_tool;

use super::entry;

/// Before.
#[doc = ""]
#[doc = concat!("By ", "macros,\n", " of two lines.")]
/// Between.
#[doc = include_str!("descriptions.md")]
///
/// # Security
/// Stays inside.
#[mcp_tool(module = "words")]
fn mixed(path: String, limit: u8, other: u8) -> usize {
    path.len() + usize::from(limit + other)
}

#[test]
fn texts_from_macros_keep_their_place_in_a_description() {
    let entry = entry("words.mixed");
    let description = "Before.\n\nBy macros,\n of two lines.\nBetween.\nReads a file.\n\n```sh\n# no heading\n```";
    assert_eq!(entry.description, description);
    assert_eq!(entry.sections, [("Errors", "- `FileNotFoundError`: there is none."), ("Security", "Stays inside.")]);
}

#[test]
fn an_arguments_list_from_a_macro_describes_parameters() {
    let texts: Vec<&str> = entry("words.mixed").params.iter().map(|param| param.description).collect();
    assert_eq!(texts, ["Where it is,\n  with é and more.", "How much of it.", ""]);
}

/// Runs a script:
///
/// ~~~sh
/// # no heading
/// ```
/// # nor this
/// ~~~
///
/// Arguments
/// ---------
///
/// - `script`: What to run,
///   line by line.
///
/// Errors
/// ------
///
/// 1. `ScriptError`: it fails.
///
/// ### Details
///
/// None.
///
/// ## Security
/// It runs everything.
#[mcp_tool(module = "words")]
fn script(script: String) -> usize {
    script.len()
}

#[test]
fn sections_keep_what_is_below_them_and_headings_may_be_underlined() {
    let entry = entry("words.script");
    assert_eq!(entry.description, "Runs a script:\n\n~~~sh\n# no heading\n```\n# nor this\n~~~");
    let errors = "1. `ScriptError`: it fails.\n\n### Details\n\nNone.";
    assert_eq!(entry.sections, [("Errors", errors), ("Security", "It runs everything.")]);
    assert_eq!(entry.params[0].description, "What to run,\n  line by line.");
}

#[mcp_tool(module = "words")]
#[doc = concat!(" Adds ", 2, " numbers. ")]
fn parameters(
    #[doc = concat!("The ", "first.")] a: u8,
    /// The second,
    #[doc = concat!("which is ", "added.")]
    b: u8,
    /// The third.
    c: u8,
) -> u8 {
    a + b + c
}

#[test]
fn texts_from_macros_describe_a_parameter() {
    let entry = entry("words.parameters");
    assert_eq!(entry.description, "Adds 2 numbers.");
    assert!(entry.sections.is_empty());
    let texts: Vec<&str> = entry.params.iter().map(|param| param.description).collect();
    assert_eq!(texts, ["The first.", "The second,\nwhich is added.", "The third."]);
}

macro_rules! word {
    () => {
        "a word of a macro"
    };
}

macro_rules! tool {
    ($name:ident, $words:expr, $more:literal) => {
        #[doc = $words]
        #[doc = concat!("and ", word!(), $more)]
        #[mcp_tool(module = "words")]
        fn $name(#[doc = $more] a: u8, #[doc = $words] b: u8) -> u8 {
            a + b
        }
    };
}

tool!(made, "Made", " for all.");
tool!(made_of_macros, concat!("Ma", "de"), " for all.");

#[test]
fn texts_passed_to_a_macro_become_descriptions() {
    for name in ["words.made", "words.made_of_macros"] {
        let entry = entry(name);
        assert_eq!(entry.description, "Made\nand a word of a macro for all.");
        let texts: Vec<&str> = entry.params.iter().map(|param| param.description).collect();
        assert_eq!(texts, ["for all.", "Made"]);
    }
}

/// Prints.
///
/// # Arguments
/// - `format`: `json` or `text`
/// - `offset`: -1 means the end
/// - limit - `0` is no limit
/// - separator `,` by default
#[mcp_tool(module = "words")]
fn print(format: String, offset: i8, limit: u8, separator: String) -> String {
    format!("{format}{offset}{limit}{separator}")
}

/// Prints.
#[doc = "\n # Arguments\n - `format`: `json` or `text`\n - `offset`: -1 means the end\n - limit - `0` is no limit"]
#[doc = concat!("- separator `,` by default")]
#[mcp_tool(module = "words")]
fn print_more(format: String, offset: i8, limit: u8, separator: String) -> String {
    print(format, offset, limit, separator)
}

#[test]
fn the_text_of_an_item_keeps_its_first_characters() {
    for name in ["words.print", "words.print_more"] {
        let texts: Vec<&str> = entry(name).params.iter().map(|param| param.description).collect();
        assert_eq!(texts, ["`json` or `text`", "-1 means the end", "`0` is no limit", "`,` by default"], "{name}");
    }
}
