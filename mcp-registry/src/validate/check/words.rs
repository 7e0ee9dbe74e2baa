//! What a schema expects, in words.

use mcp_core::support::faults::{counted, formatted, listed};
use mcp_core::support::schema::{Limit, Model, Node, NodeId, NumberRules, StringRules, Types};
use serde_json::Value;

use crate::validate::formats::format;

/// How deep references and unions are followed.
const MAX_DEPTH: usize = 8;

/// What is said if there are no words for a schema.
pub(in crate::validate) const UNSPECIFIC: &str = "what its schema says";

/// What fits a schema: "an integer from 1 to 99".
pub(super) fn of_node(model: &Model, id: NodeId) -> String {
    of_nodes(model, &[id])
}

/// What fits one of the schemas.
pub(in crate::validate) fn of_nodes(model: &Model, ids: &[NodeId]) -> String {
    let mut list = Vec::new();
    for id in ids {
        collect(model, *id, 0, &mut list);
    }
    list.dedup();
    joined(&list)
}

/// `a`, `a or b`, `a, b or c`.
pub(super) fn joined(list: &[String]) -> String {
    match list {
        [] => UNSPECIFIC.to_owned(),
        [only] => only.clone(),
        [others @ .., end] => format!("{} or {end}", others.join(", ")),
    }
}

fn collect(model: &Model, id: NodeId, depth: usize, list: &mut Vec<String>) {
    let node = &model[id];
    let mut add = |words: String| {
        if !list.contains(&words) {
            list.push(words);
        }
    };
    if let Some(values) = node.values.as_ref().filter(|values| !values.is_empty()) {
        add(of_values(values));
    } else if node.types != Types::ALL {
        of_types(model, node).into_iter().for_each(&mut add);
    } else if depth < MAX_DEPTH && node.has_applicators() {
        let unions = node.any_of.iter().chain(&node.one_of).next();
        let inner = node.reference.iter().chain(&node.all_of).next().map(std::slice::from_ref);
        let inner = inner.or(unions.map(Vec::as_slice)).unwrap_or_default();
        for id in inner {
            collect(model, *id, depth + 1, list);
        }
    } else if !node.string.has_no_rule() {
        add(of_strings(model, &node.string));
    } else if node.number != NumberRules::default() {
        add(of_numbers(&node.number, false));
    }
}

fn of_types(model: &Model, node: &Node) -> Vec<String> {
    let words = |name: &str| match name {
        "null" => "null".to_owned(),
        "boolean" => "a boolean".to_owned(),
        "integer" => of_numbers(&node.number, true),
        "number" => of_numbers(&node.number, false),
        "string" => of_strings(model, &node.string),
        "array" => {
            let (min, max) = node.array.as_ref().map_or((0, None), |array| (array.min_items, array.max_items));
            format!("a list{}", of_count(min, max, "item"))
        }
        _ => "an object".to_owned(),
    };
    node.types.names().map(words).collect()
}

/// The only values that fit.
pub(super) fn of_values(values: &[Value]) -> String {
    /// A text as it is, unless it is empty; another value as JSON.
    fn plain(value: &Value) -> String {
        value.as_str().filter(|text| !text.is_empty()).map_or_else(|| value.to_string(), str::to_owned)
    }
    match values {
        [only] => format!("`{}`", plain(only)),
        values => listed(values.iter().map(plain)),
    }
}

/// A bound, from below or from above, such as "of at least 1" or "below 5".
pub(super) fn of_limit(limit: Limit, is_min: bool) -> String {
    let words = match (is_min, limit.exclusive) {
        (true, false) => "of at least",
        (true, true) => "above",
        (false, false) => "of at most",
        (false, true) => "below",
    };
    format!("{words} {}", limit.value)
}

fn of_numbers(rules: &NumberRules, integer: bool) -> String {
    let noun = if integer { "an integer" } else { "a number" };
    let mut words = vec![noun.to_owned()];
    match (rules.min, rules.max) {
        (Some(min), Some(max)) if !min.exclusive && !max.exclusive => {
            words.push(format!("from {} to {}", min.value, max.value));
        }
        (min, max) => {
            let min = min.map(|limit| of_limit(limit, true));
            let bounds: Vec<String> = min.into_iter().chain(max.map(|limit| of_limit(limit, false))).collect();
            words.extend(Some(bounds.join(" and ")).filter(|bounds| !bounds.is_empty()));
        }
    }
    words.extend(rules.multiple_of.iter().map(|of| format!("that is a multiple of {of}")));
    words.join(" ")
}

fn of_strings(model: &Model, rules: &StringRules) -> String {
    let known = rules.format.as_deref().filter(|name| format(name).is_some());
    let noun = match known {
        Some(name) => of_format(name),
        None if rules.has_no_rule() => return "a string".to_owned(),
        None => "a text".to_owned(),
    };
    let patterns = rules.patterns.iter().map(|pattern| format!(" that matches `{}`", model.pattern(*pattern)));
    [noun, of_count(rules.min_length, rules.max_length, "character")].into_iter().chain(patterns).collect()
}

/// A text of a format, with an example.
pub(super) fn of_format(name: &str) -> String {
    let example = format(name).map_or_else(String::new, |format| format!(", such as `{}`", format.example));
    formatted(name) + &example
}

/// How many there are, such as " of at least 1 item".
pub(super) fn of_count(min: u64, max: Option<u64>, what: &str) -> String {
    match (min, max) {
        (0, None) => String::new(),
        (min, None) => format!(" of at least {}", counted(min, what)),
        (0, Some(max)) => format!(" of at most {}", counted(max, what)),
        (min, Some(max)) if min == max => format!(" of {}", counted(max, what)),
        (min, Some(max)) => format!(" of {min} to {}", counted(max, what)),
    }
}
