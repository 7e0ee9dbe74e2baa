//! Tools that share a name.

use mcp_registry::Catalog;
use mcp_registry::entry::{Call, ToolEntry};
use mcp_registry::error::{Conflict, Origin, RegistrationProblem};
use mcp_registry::output::Returned;
use mcp_registry::serde_json::{Value, json};

#[test]
fn tools_of_one_name_are_the_same_only_if_they_are_defined_at_the_same_place() {
    let entry = |origin: Origin| -> &'static ToolEntry {
        let call = Call::Sync(|_, _, _| Ok(Returned::Nothing));
        Box::leak(Box::new(ToolEntry::new("here.tool", origin, call)))
    };
    let here = || Origin::new("here", "1.0.0", "here::tools", "tool", "src/tools.rs", 7);
    assert_eq!(Catalog::from_entries([entry(here()), entry(here())]).unwrap().list_registered_tools().len(), 1);
    for (elsewhere, difference) in [
        (Origin::new("there", "1.0.0", "here::tools", "tool", "src/tools.rs", 7), "package"),
        (Origin::new("here", "1.0.1", "here::tools", "tool", "src/tools.rs", 7), "version"),
        (Origin::new("here", "1.0.0", "here::others", "tool", "src/tools.rs", 7), "module"),
        (Origin::new("here", "1.0.0", "here::tools", "other", "src/tools.rs", 7), "function"),
        (Origin::new("here", "1.0.0", "here::tools", "tool", "src/others.rs", 7), "file"),
        (Origin::new("here", "1.0.0", "here::tools", "tool", "src/tools.rs", 8), "line"),
    ] {
        let error = Catalog::from_entries([entry(here()), entry(elsewhere)]).expect_err(difference).to_string();
        assert!(error.contains("two tools are named `here.tool`"), "{difference}: {error}");
    }
}

#[test]
fn c18_a_tool_is_the_same_by_name_schemas_and_origin() {
    fn one() -> Value {
        json!({ "type": "object", "properties": { "a": { "type": "string" } } })
    }
    fn same() -> Value {
        json!({ "properties": { "a": { "type": "string" } }, "type": "object" })
    }
    fn other() -> Value {
        json!({ "type": "object", "properties": { "a": { "type": "integer" } } })
    }
    type Schema = fn() -> Value;
    let entry = |line: u32, input: Schema, output: Option<Schema>| -> &'static ToolEntry {
        let origin = Origin::new("here", "1.0.0", "here::tools", "tool", "src/tools.rs", line);
        let entry = ToolEntry::new("here.tool", origin, Call::Sync(|_, _, _| Ok(Returned::Nothing)));
        let entry = entry.input_schema(input);
        Box::leak(Box::new(match output {
            Some(output) => entry.output_schema(output),
            None => entry,
        }))
    };
    let known = || entry(7, one, Some(one));
    assert_eq!(Catalog::from_entries([known(), entry(7, same, Some(same))]).unwrap().len(), 1);
    for (added, is_schema) in [
        (entry(7, other, Some(one)), true),
        (entry(7, one, Some(other)), true),
        (entry(7, one, None), true),
        (entry(8, other, Some(one)), true),
        (entry(8, one, Some(one)), false),
    ] {
        let error = Catalog::from_entries([known(), added]).unwrap_err();
        let (name, tools) = match error.problems() {
            [RegistrationProblem::Conflict(Conflict::Schema { name, tools })] if is_schema => (name, tools),
            [RegistrationProblem::Conflict(Conflict::Duplicate { name, tools })] if !is_schema => (name, tools),
            _ => panic!("{is_schema}: {error}"),
        };
        assert_eq!(name, "here.tool");
        let mut lines = tools.each_ref().map(|tool| tool.origin.line);
        lines.sort_unstable();
        assert_eq!(lines, [7, added.origin.line], "both places are named");
    }
}

#[test]
fn two_tools_of_one_name_are_one_problem_and_a_shared_alias_is_another() {
    let entry = |line: u32, aliases: &'static [&'static str]| -> &'static ToolEntry {
        let origin = Origin::new("here", "1.0.0", "here::tools", "tool", "src/tools.rs", line);
        let call = Call::Sync(|_, _, _| Ok(Returned::Nothing));
        Box::leak(Box::new(ToolEntry::new("here.tool", origin, call).aliases(aliases)))
    };
    // Both are also published as `here_tool`, and called as `old_tool`, which is not another problem.
    for (aliases, problems) in [(&[][..], 1), (&["old_tool"][..], 2), (&["old.tool"][..], 2)] {
        let error = Catalog::from_entries([entry(7, aliases), entry(8, aliases)]).unwrap_err();
        assert_eq!(error.problems().len(), problems, "{error}");
        assert!(aliases.iter().all(|alias| error.to_string().contains(&format!("`{alias}`"))), "{error}");
    }
    // An alias that is the other tool's own name is reported, whatever else the tools share.
    let renamed = |name, aliases: &'static [&'static str], line: u32| -> &'static ToolEntry {
        let origin = Origin::new("here", "1.0.0", "here::tools", "tool", "src/tools.rs", line);
        let call = Call::Sync(|_, _, _| Ok(Returned::Nothing));
        Box::leak(Box::new(ToolEntry::new(name, origin, call).aliases(aliases)))
    };
    let error = Catalog::from_entries([renamed("a_b", &["a.b"], 7), renamed("a.b", &[], 8)]).unwrap_err();
    assert_eq!(error.problems().len(), 2, "{error}");
}
