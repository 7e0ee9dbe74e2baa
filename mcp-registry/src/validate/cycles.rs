//! Recursive types, and those whose values take more than linear time to read.
//!
//! serde reads an untagged enum by trying one variant after the other. If two variants of the same JSON type contain the
//! enum, each level of nesting doubles the time: a few hundred bytes can take years.

use mcp_core::support::schema::{Model, NodeId, Types};

/// The name of a schema that is not a definition.
const UNNAMED: &str = "#";

/// The name of a type that contains itself, if there is one.
pub(crate) fn recursive_type(model: &Model) -> Option<&str> {
    let (nodes, _) = reachable(model, model.root());
    let is_recursive = |id: &NodeId| model[*id].children().any(|child| reaches(model, child, *id));
    let is_named = |id: &&NodeId| model[**id].name.is_some();
    let name = nodes.iter().filter(is_named).find(|id| is_recursive(id)).and_then(|id| model[*id].name.as_deref());
    name.or_else(|| is_recursive(&model.root()).then_some(UNNAMED))
}

/// The name of a type with alternatives that are tried one after the other, of which two may have the same JSON type and
/// contain the type.
pub(crate) fn slow_union(model: &Model) -> Option<&str> {
    let (nodes, owners) = reachable(model, model.root());
    let is_slow = |id: NodeId| {
        let node = &model[id];
        let tried = &node.any_of[..node.any_of.len().saturating_sub(node.exclusive_unions)];
        tried.iter().any(|union| {
            let recursive: Vec<NodeId> = union.iter().copied().filter(|one| reaches(model, *one, id)).collect();
            (1..recursive.len()).any(|one| recursive[..one].iter().any(|other| may_meet(model, recursive[one], *other)))
        })
    };
    let position = nodes.iter().position(|id| is_slow(*id))?;
    Some(owners[position].and_then(|owner| model[owner].name.as_deref()).unwrap_or(UNNAMED))
}

/// Whether a value may be tried as both alternatives. A tag does not tell them apart: serde may look at it last.
fn may_meet(model: &Model, one: NodeId, other: NodeId) -> bool {
    let types = |id: NodeId| {
        let node = &model[model.resolved(id)];
        node.types & !Types::NULL
    };
    types(one).intersects(types(other))
}

/// The nodes that a node leads to, with itself first, and the definition that each of them is in.
fn reachable(model: &Model, from: NodeId) -> (Vec<NodeId>, Vec<Option<NodeId>>) {
    let owner = |id: NodeId, outer: Option<NodeId>| if model[id].name.is_some() { Some(id) } else { outer };
    let mut is_seen = vec![false; model.nodes().count()];
    is_seen[from.index()] = true;
    let (mut nodes, mut owners) = (vec![from], vec![owner(from, None)]);
    let mut next = 0;
    while let Some(id) = nodes.get(next).copied() {
        for child in model[id].children() {
            if !std::mem::replace(&mut is_seen[child.index()], true) {
                nodes.push(child);
                owners.push(owner(child, owners[next]));
            }
        }
        next += 1;
    }
    (nodes, owners)
}

fn reaches(model: &Model, from: NodeId, to: NodeId) -> bool {
    from == to || reachable(model, from).0.contains(&to)
}

#[cfg(test)]
mod tests {
    use mcp_core::support::schema::Model;
    use serde_json::{Value, json};

    use super::{recursive_type, slow_union};

    #[allow(clippy::needless_pass_by_value, reason = "it is made for this")]
    fn model(node: Value) -> Model {
        let schema = json!({
            "type": "object",
            "properties": { "node": { "$ref": "#/$defs/Node" } },
            "$defs": {
                "Node": node,
                "Other": { "type": "array", "items": { "$ref": "#/$defs/Node" } },
                "Unused": { "type": "array", "items": { "$ref": "#/$defs/Unused" } },
            },
        });
        Model::read(&schema, false).unwrap()
    }

    fn union_in(node: Value) -> Option<String> {
        slow_union(&model(node)).map(str::to_owned)
    }

    #[test]
    fn a_type_that_contains_itself_is_recursive() {
        let name = |node: Value| recursive_type(&model(node)).map(str::to_owned);
        let node = json!({ "$ref": "#/$defs/Node" });
        assert_eq!(name(json!({ "type": "object", "properties": { "next": node } })).as_deref(), Some("Node"));
        let by_another = name(json!({ "type": "object", "properties": { "all": { "$ref": "#/$defs/Other" } } }));
        assert_eq!(by_another.as_deref(), Some("Node"));
        assert_eq!(name(json!({ "type": "string" })), None, "what is not used does not count");
        let root = json!({ "type": "object", "properties": { "next": { "$ref": "#" } } });
        assert_eq!(recursive_type(&Model::read(&root, false).unwrap()), Some("#"));
    }

    #[test]
    fn an_untagged_enum_that_contains_itself_twice_takes_more() {
        let list = json!({ "type": "array", "items": { "$ref": "#/$defs/Node" } });
        let pair = json!({ "type": "array", "prefixItems": [{ "$ref": "#/$defs/Node" }, { "type": "string" }] });
        assert_eq!(union_in(json!({ "anyOf": [list, pair, { "type": "string" }] })).as_deref(), Some("Node"));
        assert!(union_in(json!({ "anyOf": [list, { "$ref": "#/$defs/Other" }] })).is_some(), "by another type");
        let nested = json!({ "type": "object", "properties": { "in": { "anyOf": [list, pair] } } });
        assert_eq!(union_in(nested).as_deref(), Some("Node"), "in a member");
    }

    #[test]
    fn other_recursion_takes_linear_time() {
        let node = json!({ "$ref": "#/$defs/Node" });
        assert_eq!(union_in(json!({ "type": "object", "properties": { "next": node } })), None);
        let optional = json!({ "anyOf": [node, { "type": "null" }] });
        assert_eq!(union_in(json!({ "type": "object", "properties": { "next": optional } })), None, "an option");
        let (list, map) =
            (json!({ "type": "array", "items": node }), json!({ "type": "object", "additionalProperties": node }));
        assert_eq!(union_in(json!({ "anyOf": [list, map, { "type": "string" }] })), None, "any JSON");
        assert_eq!(union_in(json!({ "anyOf": [list, { "type": "array", "items": { "type": "string" } }] })), None);
        let plain = json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }] });
        assert_eq!(union_in(plain), None, "it does not contain itself");
    }

    #[test]
    fn a_tag_tells_alternatives_apart_where_exactly_one_may_fit() {
        let node = json!({ "$ref": "#/$defs/Node" });
        let variant = |tag: &str| json!({ "type": "object", "properties": { "kind": { "const": tag }, "of": node }, "required": ["kind"] });
        assert_eq!(union_in(json!({ "oneOf": [variant("a"), variant("b")] })), None);
        assert!(union_in(json!({ "anyOf": [variant("a"), variant("b")] })).is_some(), "it may be looked at last");
    }
}
