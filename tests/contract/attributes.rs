//! Changes of tools that are written with the attribute: names, versions, hints, texts, defaults.

#![allow(clippy::needless_pass_by_value, unused_variables, reason = "tools have the form under test")]

use mcp_core::entry::ToolEntry;
use mcp_registry::contract::{Change, Class, Diff, Verdict};
use mcp_registry::{NamePolicy, Registry, mcp_tool, tools};

use crate::{broken, replay, rules};

fn registry(entries: &[&'static ToolEntry]) -> Registry {
    Registry::builder_of(entries.iter().copied()).build().unwrap()
}

fn diff(old: &[&'static ToolEntry], new: &[&'static ToolEntry]) -> Diff {
    let (old, new) = (registry(old), registry(new));
    let diff = old.catalog().contract().diff(&new.catalog().contract());
    replay(&diff, &old, &new);
    diff
}

fn required(diff: &Diff) -> Option<String> {
    diff.required_version("shop.search").map(ToString::to_string)
}

mod v1 {
    use super::mcp_tool;

    /// Finds orders.
    #[mcp_tool(module = "shop", version = "1.1.0", read_only)]
    pub(super) fn search(client: u32, #[arg(default = 10)] limit: u32) -> u32 {
        client + limit
    }
}

macro_rules! versions {
    ($($name:ident { $($body:tt)* })*) => {$(mod $name {
        use super::mcp_tool;
        $($body)*
    })*};
}

versions! {
    renamed_parameter {
        /// Finds orders.
        #[mcp_tool(module = "shop", version = "1.1.0", read_only)]
        pub(super) fn search(customer: u32, #[arg(default = 10)] limit: u32) -> u32 { customer + limit }
    }
    renamed_otherwise {
        /// Finds orders.
        #[mcp_tool(module = "shop", version = "1.1.0", read_only)]
        pub(super) fn search(buyer: u32, #[arg(default = 10)] limit: u32) -> u32 { buyer + limit }
    }
    renamed_option {
        /// Finds orders.
        #[mcp_tool(module = "shop", version = "1.1.0", read_only)]
        pub(super) fn search(client: u32, #[arg(default = 10)] most: u32) -> u32 { client + most }
    }
    aliased_parameter {
        /// Finds orders.
        #[mcp_tool(module = "shop", version = "1.1.0", read_only)]
        pub(super) fn search(#[arg(alias = "client")] customer: u32, #[arg(default = 10)] limit: u32) -> u32 { customer + limit }
    }
    announced {
        /// Finds orders.
        ///
        /// # Migration
        /// Send `customer` in place of `client`.
        #[mcp_tool(module = "shop", version = "2.0.0", read_only)]
        pub(super) fn search(customer: u32, #[arg(default = 10)] limit: u32) -> u32 { customer + limit }
    }
    announced_without_a_note {
        /// Finds orders.
        #[mcp_tool(module = "shop", version = "2.0.0", read_only)]
        pub(super) fn search(customer: u32, #[arg(default = 10)] limit: u32) -> u32 { customer + limit }
    }
    other_default {
        /// Finds orders.
        #[mcp_tool(module = "shop", version = "1.1.0", read_only)]
        pub(super) fn search(client: u32, #[arg(default = 20)] limit: u32) -> u32 { client + limit }
    }
    other_description {
        /// Finds orders by customer.
        #[mcp_tool(module = "shop", version = "1.1.1", read_only)]
        pub(super) fn search(client: u32, #[arg(default = 10)] limit: u32) -> u32 { client + limit }
    }
    destructive {
        /// Finds orders.
        #[mcp_tool(module = "shop", version = "1.1.0", destructive)]
        pub(super) fn search(client: u32, #[arg(default = 10)] limit: u32) -> u32 { client + limit }
    }
    renamed {
        /// Finds orders.
        #[mcp_tool(name = "shop.find", version = "1.1.0", read_only)]
        pub(super) fn search(client: u32, #[arg(default = 10)] limit: u32) -> u32 { client + limit }
    }
    renamed_with_alias {
        /// Finds orders.
        #[mcp_tool(name = "shop.find", version = "1.2.0", read_only, aliases("shop.search"))]
        pub(super) fn search(client: u32, #[arg(default = 10)] limit: u32) -> u32 { client + limit }
    }
    deprecated {
        /// Finds orders.
        #[mcp_tool(module = "shop", version = "1.2.0", read_only, deprecated_in = "1.2.0", replaced_by = "shop.find")]
        pub(super) fn search(client: u32, #[arg(default = 10)] limit: u32) -> u32 { client + limit }
    }
    without_default {
        /// Finds orders.
        #[mcp_tool(module = "shop", version = "1.1.0", read_only)]
        pub(super) fn search(client: u32, limit: u32) -> u32 { client + limit }
    }
    nested {
        #[derive(serde::Deserialize, mcp_registry::schemars::JsonSchema)]
        pub(super) struct Filter { pub(super) from: u32 }
        /// Finds orders.
        #[mcp_tool(module = "shop", version = "1.1.0", read_only)]
        pub(super) fn search(filter: Filter) -> u32 { filter.from }
    }
    nested_renamed {
        #[derive(serde::Deserialize, mcp_registry::schemars::JsonSchema)]
        pub(super) struct Filter { pub(super) since: u32 }
        /// Finds orders.
        #[mcp_tool(module = "shop", version = "1.1.0", read_only)]
        pub(super) fn search(filter: Filter) -> u32 { filter.since }
    }
    nested_alias {
        #[derive(serde::Deserialize, mcp_registry::schemars::JsonSchema)]
        pub(super) struct Filter { #[serde(alias = "from")] pub(super) since: u32 }
        /// Finds orders.
        #[mcp_tool(module = "shop", version = "1.1.0", read_only)]
        pub(super) fn search(filter: Filter) -> u32 { filter.since }
    }
    two_aliases {
        /// Finds orders.
        #[mcp_tool(module = "shop", version = "1.2.0", read_only, aliases("shop.find", "shop.look"))]
        pub(super) fn search(client: u32, #[arg(default = 10)] limit: u32) -> u32 { client + limit }
    }
    deprecated_otherwise {
        /// Finds orders.
        #[mcp_tool(module = "shop", version = "1.3.0", read_only, deprecated_in = "1.2.0", replaced_by = "shop.look")]
        pub(super) fn search(client: u32, #[arg(default = 10)] limit: u32) -> u32 { client + limit }
    }
    deprecated_later {
        /// Finds orders.
        #[mcp_tool(module = "shop", version = "1.3.0", read_only, deprecated_in = "1.3.0", replaced_by = "shop.find")]
        pub(super) fn search(client: u32, #[arg(default = 10)] limit: u32) -> u32 { client + limit }
    }
    hidden {
        /// Finds orders.
        #[mcp_tool(module = "shop", version = "1.2.0", read_only, hidden)]
        pub(super) fn search(client: u32, #[arg(default = 10)] limit: u32) -> u32 { client + limit }
    }
    noted {
        /// Finds orders.
        ///
        /// # Migration
        /// Send the number of the client.
        #[mcp_tool(module = "shop", version = "1.1.1", read_only)]
        pub(super) fn search(client: u32, #[arg(default = 10)] limit: u32) -> u32 { client + limit }
    }
    looking {
        /// Looks at the shop.
        #[mcp_tool(module = "shop", read_only)]
        pub(super) fn look() -> u32 { 0 }
    }
    other {
        /// Counts orders.
        #[mcp_tool(module = "shop")]
        pub(super) fn count() -> u32 { 0 }
    }
    unstable {
        /// Finds orders.
        #[mcp_tool(module = "shop", version = "0.3.1", read_only)]
        pub(super) fn search(client: u32) -> u32 { client }
    }
    unstable_narrowed {
        /// Finds orders.
        #[mcp_tool(module = "shop", version = "0.3.1", read_only)]
        pub(super) fn search(client: u8) -> u32 { client.into() }
    }
}

fn the_change<'a>(diff: &'a Diff, rule: &str) -> &'a Change {
    diff.changes.iter().find(|change| change.rule == rule).unwrap_or_else(|| panic!("no {rule}: {:#?}", diff.changes))
}

#[test]
fn nothing_has_changed_between_a_tool_and_itself() {
    assert!(diff(&tools![v1::search], &tools![v1::search]).is_empty());
}

#[test]
fn a_renamed_parameter_breaks_callers_unless_it_has_an_alias() {
    let without = diff(&tools![v1::search], &tools![renamed_parameter::search]);
    let change = broken(&without);
    assert_eq!((change.rule, change.pointer.as_str()), ("parameter-renamed", "/client"));
    assert_eq!(
        change.message,
        "`client` is called `customer` now; keep the old name with `#[arg(alias = \"client\")]`"
    );
    assert!(change.source.as_ref().unwrap().contains("attributes.rs:"), "{change:?}");
    assert_eq!(required(&without).as_deref(), Some("2.0.0"));
    let with = diff(&tools![v1::search], &tools![aliased_parameter::search]);
    assert_eq!(with.verdict(), Verdict::Compatible, "{:#?}", with.changes);
    assert_eq!(the_change(&with, "parameter-renamed").class, Class::Chooser);
    let optional = diff(&tools![v1::search], &tools![renamed_option::search]);
    assert_eq!((broken(&optional).rule, broken(&optional).pointer.as_str()), ("parameter-renamed", "/limit"));
    assert_eq!(rules(&with), ["parameter-renamed"], "{with}");
    // The alias is a promise, too.
    let dropped = diff(&tools![aliased_parameter::search], &tools![renamed_parameter::search]);
    let change = broken(&dropped);
    assert_eq!((rules(&dropped), change.pointer.as_str()), (vec!["parameter-removed"], "/client"), "{dropped}");
    let added = diff(&tools![renamed_parameter::search], &tools![aliased_parameter::search]);
    assert_eq!((added.verdict(), rules(&added)), (Verdict::Compatible, vec!["parameter-alias-added"]), "{added}");
    assert_eq!(added.changes[0].message, "`customer` is accepted as `client`, too");
    let back = diff(&tools![aliased_parameter::search], &tools![v1::search]);
    assert_eq!((rules(&back), broken(&back).pointer.as_str()), (vec!["parameter-renamed"], "/customer"), "{back}");
}

#[test]
fn a_member_of_a_parameter_is_followed_under_its_other_names() {
    let with_alias = diff(&tools![nested::search], &tools![nested_alias::search]);
    assert_eq!((with_alias.verdict(), rules(&with_alias)), (Verdict::Compatible, vec!["parameter-renamed"]));
    assert_eq!(with_alias.changes[0].pointer, "/filter/since");
    let without = diff(&tools![nested::search], &tools![nested_renamed::search]);
    assert_eq!(rules(&without), ["required-parameter-added", "parameter-removed"], "{without}");
    let dropped = diff(&tools![nested_alias::search], &tools![nested_renamed::search]);
    let change = broken(&dropped);
    assert_eq!((rules(&dropped), change.pointer.as_str()), (vec!["parameter-removed"], "/filter/from"), "{dropped}");
}

#[test]
fn a_version_that_is_large_enough_announces_a_change() {
    let announced = diff(&tools![v1::search], &tools![announced::search]);
    assert_eq!(announced.verdict(), Verdict::Breaking);
    assert!(announced.is_acceptable() && broken(&announced).is_announced());
    assert!(!rules(&announced).contains(&"missing-migration"));
    assert!(!diff(&tools![v1::search], &tools![renamed_parameter::search]).is_acceptable());
}

#[test]
fn s1_42_a_major_version_without_a_migration_note_is_a_warning() {
    let diff = diff(&tools![v1::search], &tools![announced_without_a_note::search]);
    let change = the_change(&diff, "missing-migration");
    assert!(!change.breaking && diff.is_acceptable());
    assert!(
        diff.to_string()
            .contains("\nwarning[missing-migration] shop.search: there is no new migration note for 2.0.0; "),
        "{diff}"
    );
    assert!(change.message.contains("# Migration"), "{change:?}");
}

#[test]
fn before_1_0_0_the_minor_version_announces_a_breaking_change() {
    let diff = diff(&tools![unstable::search], &tools![unstable_narrowed::search]);
    assert_eq!(broken(&diff).rule, "bound-tightened");
    assert_eq!(required(&diff).as_deref(), Some("0.4.0"));
}

#[test]
fn another_default_is_reported_to_callers_and_breaks_none() {
    let diff = diff(&tools![v1::search], &tools![other_default::search]);
    let change = the_change(&diff, "default-changed");
    assert_eq!((change.class, change.breaking, change.pointer.as_str()), (Class::Caller, false, "/limit"));
    assert_eq!(required(&diff).as_deref(), Some("1.2.0"));
}

#[test]
fn a_default_that_is_gone_requires_the_parameter_and_is_told_once() {
    let diff = diff(&tools![v1::search], &tools![without_default::search]);
    assert_eq!((rules(&diff), broken(&diff).pointer.as_str()), (vec!["parameter-required"], "/limit"));
}

#[test]
fn another_description_may_make_a_model_choose_differently() {
    let diff = diff(&tools![v1::search], &tools![other_description::search]);
    assert_eq!(rules(&diff), ["description"]);
    let change = &diff.changes[0];
    assert_eq!((change.class, change.breaking, change.is_announced()), (Class::Chooser, false, true));
    assert_eq!(change.message, "13 → 25 characters; a model may choose differently");
}

#[test]
fn a_tool_that_becomes_destructive_breaks_callers_that_are_not_trusted() {
    let diff = diff(&tools![v1::search], &tools![destructive::search]);
    assert_eq!(broken(&diff).rule, "trust-raised");
    let hints = the_change(&diff, "hint-changed");
    assert_eq!(hints.message, "`destructiveHint` not stated → true, `readOnlyHint` true → not stated");
}

#[test]
fn a_renamed_tool_breaks_callers_unless_it_has_an_alias() {
    let without = diff(&tools![v1::search], &tools![renamed::search]);
    assert_eq!(broken(&without).rule, "tool-renamed");
    assert_eq!(rules(&without), ["tool-renamed"]);
    assert!(broken(&without).message.contains("aliases(\"shop.search\")"), "{:?}", without.changes);
    let with = diff(&tools![v1::search], &tools![renamed_with_alias::search]);
    assert_eq!((with.verdict(), rules(&with)), (Verdict::Compatible, vec!["tool-renamed"]));
    // The alias is a promise, too.
    let dropped = diff(&tools![renamed_with_alias::search], &tools![renamed::search]);
    assert!(rules(&dropped).contains(&"alias-removed"));
}

#[test]
fn each_alias_that_is_removed_is_a_finding_with_a_call_by_it() {
    let removed = diff(&tools![two_aliases::search], &tools![v1::search]);
    assert_eq!(rules(&removed), ["alias-removed", "alias-removed", "version-lowered"]);
    let called: Vec<&str> = removed.changes.iter().map(|change| change.called.as_str()).collect();
    assert_eq!(called, ["shop.find", "shop.look", "shop.search"]);
    assert!(removed.changes[..2].iter().all(|change| change.witness.is_some()), "{:?}", removed.changes);
    let report = removed.to_string();
    assert!(report.contains("worked in 1.2.0, fails now: shop.look {\"client\":"), "{report}");
    // Another tool has the name now: there is no call that fails for sure.
    let moved = diff(&tools![two_aliases::search], &tools![v1::search, looking::look]);
    let change = moved.changes.iter().find(|it| it.rule == "alias-removed" && it.called == "shop.look").unwrap();
    assert_eq!((change.breaking, &change.witness), (true, &None));
    assert_eq!(change.message, "no longer answers to `shop.look`; calls to it now reach another tool, `shop.look`");
    let added = diff(&tools![v1::search], &tools![two_aliases::search]);
    assert_eq!((added.verdict(), rules(&added)), (Verdict::Compatible, vec!["alias-added", "alias-added"]));
    assert_eq!(added.changes[0].message, "answers to `shop.find`, too");
    assert_eq!(required(&added).as_deref(), Some("1.2.0"));
}

#[test]
fn what_models_and_programs_are_told_about_a_tool_is_compared() {
    for (rule, message, old, new) in [
        ("hidden", "is no longer listed", tools![v1::search], tools![hidden::search]),
        ("listed", "is listed now", tools![hidden::search], tools![v1::search]),
        ("deprecated", "is deprecated; use `shop.find`", tools![v1::search], tools![deprecated::search]),
        ("deprecation-changed", "is no longer deprecated", tools![deprecated::search], tools![v1::search]),
        (
            "deprecation-changed",
            "has been deprecated since 1.3.0 (was: since 1.2.0); use `shop.find`",
            tools![deprecated::search],
            tools![deprecated_later::search],
        ),
        (
            "deprecation-changed",
            "the tool to use instead is now `shop.look` (was `shop.find`)",
            tools![deprecated::search],
            tools![deprecated_otherwise::search],
        ),
        ("migration", "the migration note is new", tools![v1::search], tools![noted::search]),
        ("migration", "the migration note is gone", tools![noted::search], tools![v1::search]),
    ] {
        let diff = diff(&old, &new);
        let change = the_change(&diff, rule);
        assert_eq!((change.message.as_str(), change.class, change.breaking), (message, Class::Chooser, false));
        assert!(rules(&diff).iter().all(|other| *other == rule || *other == "version-lowered"), "{diff}");
    }
}

#[test]
fn another_name_on_the_wire_breaks_callers_unless_the_old_one_is_the_canonical_one() {
    let named = |policy| Registry::builder_of(tools![v1::search]).names(policy).build().unwrap();
    let (safe, dotted) = (named(NamePolicy::HostSafe), named(NamePolicy::Dotted));
    let diff = |old: &Registry, new: &Registry| {
        let diff = old.catalog().contract().diff(&new.catalog().contract());
        replay(&diff, old, new);
        assert_eq!(rules(&diff), ["wire-name-changed"], "{diff}");
        diff
    };
    let lost = diff(&safe, &dotted);
    assert_eq!(broken(&lost).called, "shop_search");
    assert!(lost.to_string().contains("fails now: shop_search {"), "{lost}");
    let kept = diff(&dotted, &safe);
    assert_eq!((kept.verdict(), kept.changes[0].class), (Verdict::Compatible, Class::Chooser));
}

#[test]
fn a_removed_tool_breaks_callers_and_says_whether_it_was_deprecated() {
    let removed = diff(&tools![v1::search], &tools![other::count]);
    let change = broken(&removed);
    assert_eq!((change.rule, change.class), ("tool-removed", Class::Caller));
    assert!(change.message.contains("without being deprecated") && change.witness.is_some(), "{change:?}");
    assert_eq!(the_change(&removed, "tool-added").tool, "shop.count");
    let announced = diff(&tools![deprecated::search], &tools![other::count]);
    assert_eq!(broken(&announced).message, "was removed; it had been deprecated since 1.2.0 in favor of `shop.find`");
    let deprecation = diff(&tools![v1::search], &tools![deprecated::search]);
    assert_eq!((deprecation.verdict(), rules(&deprecation)), (Verdict::Compatible, vec!["deprecated"]));
}

#[test]
fn the_fingerprint_of_a_change_depends_on_its_tool_rule_and_place_only() {
    let change = |new: &[&'static ToolEntry]| {
        let diff = diff(&tools![v1::search], new);
        let change = diff.changes.iter().find(|change| change.rule == "parameter-renamed").unwrap();
        (change.message.clone(), change.fingerprint())
    };
    let (message, fingerprint) = change(&tools![renamed_parameter::search]);
    assert_eq!(fingerprint, "c521c6d20904aba5");
    // Another version, line and new name.
    for new in [tools![announced::search], tools![renamed_otherwise::search]] {
        assert_eq!(change(&new).1, fingerprint);
    }
    assert_ne!(change(&tools![renamed_otherwise::search]).0, message);
    assert_ne!(change(&tools![renamed_option::search]).1, fingerprint);
    let other = diff(&tools![unstable::search], &tools![unstable_narrowed::search]);
    assert_ne!(broken(&other).fingerprint(), fingerprint);
}
