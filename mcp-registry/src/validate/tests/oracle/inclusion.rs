//! What is said about random pairs of schemas: if the one accepts everything that the other one does, no value shows the
//! contrary, and each witness is one. A value is accepted if the check says so: strictly by the old schema, and by the new one
//! with or without nulls for absent members. Values have none of the members that are reported as new.
//!
//! `MCP_ORACLE_PAIRS` is the number of triples of two schemas and a value.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mcp_core::support::schema::Model;
use serde_json::Value;

use super::schemas::{DRAFT_7, any_value, document, number};
use super::values::Values;
use super::{Dice, LENIENT, Oracle, SHOWN, STRICT, members, pairs};
use crate::validate::check::Schema;
use crate::validate::include::{Comparison, Gap, Kind, gaps};

const VALUES_OF_A_PAIR: usize = 10;
/// Values of schemas whose rules depend on members are small, and most do not fit.
const VALUES_OF_MEMBERS: usize = 60;

/// Every object and list in a schema, as JSON Pointers.
fn places(value: &Value, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.push(pointer.to_owned());
            for (name, value) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                places(value, &format!("{pointer}/{name}"), found);
            }
        }
        Value::Array(items) => {
            found.push(pointer.to_owned());
            for (index, value) in items.iter().enumerate() {
                places(value, &format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// Makes a small change, as a developer does.
fn change(schema: &mut Value, dice: &mut Dice) {
    let mut found = Vec::new();
    places(schema, "", &mut found);
    if found.is_empty() {
        return;
    }
    let place = found[dice.below(found.len())].clone();
    let other = document(dice);
    let Some(place) = schema.pointer_mut(&place) else { return };
    match place {
        Value::Object(members) => {
            let names: Vec<String> = members.keys().cloned().collect();
            let name = (!names.is_empty()).then(|| names[dice.below(names.len())].clone());
            match (dice.below(6), name) {
                (0, Some(name)) => _ = members.shift_remove(&name),
                (1 | 2, Some(name)) => match &mut members[&name] {
                    Value::Number(old) => {
                        let near = old.as_i64().and_then(|old| old.checked_add(if dice.flips() { 1 } else { -1 }));
                        // Values are made as long as a count says.
                        let is_count =
                            ["Length", "Items", "Properties", "Contains"].iter().any(|of| name.ends_with(of));
                        let other = if is_count { dice.below(5).into() } else { number(dice) };
                        members[&name] = near.filter(|_| dice.flips()).map_or(other, Value::from);
                    }
                    Value::Array(items) if items.len() > 1 => _ = items.pop(),
                    Value::Array(items) => items.push(any_value(dice, 2)),
                    Value::Bool(flag) => *flag = !*flag,
                    _ => {}
                },
                (3, _) => {
                    let keywords = other.as_object().into_iter().flatten();
                    let keywords: Vec<_> = keywords.filter(|(key, _)| !key.starts_with('$')).collect();
                    if let Some((key, value)) = keywords.get(dice.below(keywords.len())) {
                        members.insert((*key).clone(), (*value).clone());
                    }
                }
                (4, _) => {
                    let mut inner = std::mem::take(members);
                    let mut other = other;
                    // A draft is named at the root, and nowhere else.
                    for name in ["$schema", "$id"] {
                        members.extend(inner.shift_remove(name).map(|value| (name.to_owned(), value)));
                        other.as_object_mut().map(|other| other.shift_remove(name));
                    }
                    members.insert("anyOf".to_owned(), Value::from(vec![Value::Object(inner), other]));
                }
                _ => *members = std::mem::take(members).into_iter().rev().collect(),
            }
        }
        Value::Array(items) if dice.flips() => items.reverse(),
        Value::Array(items) if !items.is_empty() => _ = items.swap_remove(dice.below(items.len())),
        _ => {}
    }
}

/// The value without the members of these names.
fn without(value: &mut Value, names: &[&str]) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| without(item, names)),
        Value::Object(members) => {
            members.retain(|name, _| !names.contains(&name.as_str()));
            members.values_mut().for_each(|member| without(member, names));
        }
        _ => {}
    }
}

fn read(schema: &Value) -> Result<Model, String> {
    let mut model = Model::read(schema, true).map_err(|error| error.to_string())?;
    model.read_aliases();
    Ok(model)
}

#[derive(Default, Debug)]
struct Figures {
    pairs: usize,
    triples: usize,
    included: usize,
    with_new_members: usize,
    with_witness: usize,
    unknown: usize,
    /// Why it could not be decided.
    reasons: BTreeMap<String, usize>,
    unreadable: usize,
}

/// Checks what is said about two schemas. The error says what is wrong.
fn check(old: &Value, new: &Value, is_object: bool, dice: &mut Dice, figures: &mut Figures) -> Result<(), String> {
    let (Ok(old_model), Ok(new_model)) = (read(old), read(new)) else {
        figures.unreadable += 1;
        return Ok(());
    };
    let (ours_old, ours_new) = (Schema::new(old_model.clone())?, Schema::new(new_model.clone())?);
    let (null_is_absent, may_name_members) = (dice.flips(), dice.flips());
    let how = Comparison { null_is_absent, may_name_members, with_witness: true };
    let found = catch_unwind(AssertUnwindSafe(|| gaps(&old_model, &new_model, how))).map_err(|_| "it panics")?;
    figures.pairs += 1;
    let rejects = |json: &str| ours_new.check(json, if null_is_absent { &LENIENT } else { &STRICT }).is_err();
    // The schema says so, and so does the tool.
    let accepted = |json: &str| {
        ours_old.check(json, &STRICT).is_ok() && (!null_is_absent || ours_old.check(json, &LENIENT).is_ok())
    };
    let oracles = [Oracle::new(old), Oracle::new(new)];
    for witness in found.iter().filter_map(|gap| gap.witness.as_ref()) {
        let json = witness.to_string();
        if !accepted(&json) || !rejects(&json) {
            return Err(format!("{json} is no witness"));
        }
        let verdict = |oracle: &Result<Oracle, String>| oracle.as_ref().ok().and_then(|it| it.verdict(witness));
        // In draft 7, the oracle does not know all formats; of two anchors with one name, it takes another one. It knows no
        // aliases.
        let is_comparable = |schema: &Value| {
            let text = schema.to_string();
            !text.contains(DRAFT_7) && !text.contains("\"#d") && !text.contains("x-mcp-")
        };
        if !is_comparable(old) || !is_comparable(new) {
            continue;
        }
        if verdict(&oracles[0]) == Some(false) || (!null_is_absent && verdict(&oracles[1]) == Some(true)) {
            return Err(format!("{json} is no witness, says the oracle"));
        }
    }
    let new_member = |gap: &Gap| match &gap.kind {
        Kind::Unnamed(name) if may_name_members => Some(name.clone()),
        _ => None,
    };
    let new_members: Vec<String> = found.iter().filter_map(new_member).collect();
    let new_members: Vec<&str> = new_members.iter().map(String::as_str).collect();
    let is_included = new_members.len() == found.len();
    let is_decided = found.iter().any(|gap| gap.witness.is_some());
    match (is_included, is_decided) {
        (true, _) => {
            figures.included += 1;
            figures.with_new_members += usize::from(!new_members.is_empty());
        }
        (_, true) => figures.with_witness += 1,
        _ => {
            figures.unknown += 1;
            let reason = format!("{:?}", found[0].kind);
            *figures.reasons.entry(reason.split('(').next().unwrap_or_default().to_owned()).or_default() += 1;
        }
    }
    for index in 0..if is_object { VALUES_OF_MEMBERS } else { VALUES_OF_A_PAIR } {
        let root = if index % 3 == 2 { new } else { old };
        let mut value = if is_object { members::arguments(dice, 0) } else { Values { dice, root }.document() };
        // Nothing was promised about new members.
        without(&mut value, &new_members);
        let json = value.to_string();
        figures.triples += 1;
        if is_included && accepted(&json) && rejects(&json) {
            return Err(format!(
                "{json} is accepted by the one and not by the other, which is said to accept more, by {how:?}, {new_members:?}"
            ));
        }
    }
    Ok(())
}

fn run(triples: usize) -> (Figures, Vec<String>) {
    let (mut figures, mut findings) = (Figures::default(), Vec::new());
    let mut seed = 0;
    while figures.triples < triples && findings.len() < SHOWN {
        seed += 1;
        let mut dice = Dice::new(seed);
        let is_object = dice.flips();
        let schema = |dice: &mut Dice| if is_object { members::object(dice, 0) } else { document(dice) };
        let old = schema(&mut dice);
        let mut new = if dice.hits(12) { schema(&mut dice) } else { old.clone() };
        for _ in 0..if is_object { 1 + dice.below(2) } else { 2 + dice.below(4) } {
            if is_object { members::change(&mut new, &mut dice) } else { change(&mut new, &mut dice) }
        }
        if let Err(error) = check(&old, &new, is_object, &mut dice, &mut figures) {
            findings.push(format!("seed {seed}: {old}\n    and {new}: {error}"));
        }
    }
    (figures, findings)
}

#[test]
fn what_is_said_to_be_included_is_and_witnesses_are_witnesses() {
    let (figures, findings) = run(pairs(5_000));
    println!("{figures:?}");
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    assert!(figures.included > figures.pairs / 20 && figures.with_witness > figures.pairs / 10, "{figures:?}");
}
