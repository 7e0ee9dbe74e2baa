//! One form for what JSON Schema can write in several ways.

use serde_json::Value;

use super::model::{Limit, Model, Node, NodeId, NumberRules, ObjectRules, Types};
use super::read::equal;

impl Model {
    /// Merges `allOf`, writes "or null" in one way, and turns exclusive unions whose alternatives exclude each other into
    /// plain ones. The same values fit as before.
    pub(crate) fn normalise(&mut self) {
        self.nodes.iter_mut().for_each(restrict_types);
        for index in 0..self.nodes.len() {
            let id = NodeId(u32::try_from(index).unwrap_or(u32::MAX));
            let mut node = std::mem::take(&mut self[id]);
            self.merge_all_of(&mut node);
            restrict_types(&mut node);
            self.hoist_null(&mut node);
            self[id] = node;
        }
        for index in 0..self.nodes.len() {
            let id = NodeId(u32::try_from(index).unwrap_or(u32::MAX));
            let mut node = std::mem::take(&mut self[id]);
            self.hoist_null_of_union(&mut node);
            let exclusive = std::mem::take(&mut node.one_of);
            for alternatives in exclusive {
                let excludes = alternatives
                    .iter()
                    .enumerate()
                    .all(|(index, one)| alternatives[index + 1..].iter().all(|other| self.are_disjoint(*one, *other)));
                node.exclusive_unions += usize::from(excludes);
                if excludes { &mut node.any_of } else { &mut node.one_of }.push(alternatives);
            }
            self[id] = node;
        }
    }

    /// Merges the parts of `allOf` into the node, as far as that is the same.
    fn merge_all_of(&self, node: &mut Node) {
        let parts = std::mem::take(&mut node.all_of);
        for part in parts {
            let other = &self[part];
            if other.is_any() && other.name.is_none() {
                continue;
            }
            if !merge(node, other) {
                node.all_of.push(part);
            }
        }
    }

    /// Writes "or null" in one way, if the types of the node say it.
    fn hoist_null(&self, node: &mut Node) {
        let excludes_null = |id: &NodeId| !self[*id].nullable && !self[*id].types.contains(Types::NULL);
        if node.types == Types::NULL
            || node.types == Types::ALL
            || !node.types.contains(Types::NULL)
            || node.count_applicators() > node.not.len()
            || !node.not.iter().all(excludes_null)
        {
            return;
        }
        node.types = node.types & !Types::NULL;
        node.nullable = node.values.as_ref().is_none_or(|values| values.iter().any(Value::is_null));
        if let Some(values) = &mut node.values {
            values.retain(|value| !value.is_null());
        }
    }

    /// A union of a schema and null is the schema, or null.
    fn hoist_null_of_union(&self, node: &mut Node) {
        let is_only = node.types == Types::ALL
            && node.any_of.len() + node.one_of.len() == 1
            && node.count_applicators() == 1
            && node.values.is_none()
            && node.array.is_none()
            && node.object.is_none();
        if !is_only {
            return;
        }
        let is_one_of = node.any_of.is_empty();
        let union = if is_one_of { &mut node.one_of[0] } else { &mut node.any_of[0] };
        let is_null = |id: &NodeId| self[*id].types == Types::NULL && self[*id].is_types_only();
        let nulls = union.iter().filter(|id| is_null(id)).count();
        // In an exclusive union, null must not fit another alternative.
        let fits_null = |id: &NodeId| !is_null(id) && self.may_accept_null(*id, 0);
        if nulls != 1 || union.len() < 2 || (is_one_of && union.iter().any(fits_null)) {
            return;
        }
        union.retain(|id| !is_null(id));
        node.nullable = true;
        if let [only] = union[..] {
            node.reference = Some(self.resolved(only));
            node.any_of.clear();
            node.one_of.clear();
        }
    }

    fn may_accept_null(&self, id: NodeId, depth: usize) -> bool {
        let node = &self[id];
        depth > 16
            || node.nullable
            || node.types.contains(Types::NULL)
                && node.reference.is_none_or(|target| self.may_accept_null(target, depth + 1))
                && node
                    .any_of
                    .iter()
                    .chain(&node.one_of)
                    .all(|union| union.iter().any(|alternative| self.may_accept_null(*alternative, depth + 1)))
    }

    /// The node behind references that are the only part of their nodes.
    pub fn resolved(&self, mut id: NodeId) -> NodeId {
        for _ in 0..64 {
            let node = &self[id];
            let Some(target) = node.reference else { break };
            let is_only = node.types == Types::ALL && !node.nullable && !node.has_rules();
            if !is_only || node.count_applicators() > 1 {
                break;
            }
            id = target;
        }
        id
    }

    /// Whether it is plain that no value fits both schemas.
    pub fn are_disjoint(&self, one: NodeId, other: NodeId) -> bool {
        self.are_disjoint_within(one, other, 8)
    }

    fn are_disjoint_within(&self, one: NodeId, other: NodeId, depth: usize) -> bool {
        let (one, other) = (&self[self.resolved(one)], &self[self.resolved(other)]);
        if depth == 0 || (one.nullable && (other.nullable || other.types.contains(Types::NULL))) {
            return false;
        }
        if other.nullable && one.types.contains(Types::NULL) {
            return false;
        }
        if !one.types.intersects(other.types) {
            return true;
        }
        if let (Some(one), Some(other)) = (&one.values, &other.values) {
            return !one.iter().any(|value| other.iter().any(|other| equal(value, other)));
        }
        if one.types & other.types != Types::OBJECT {
            return false;
        }
        let (Some(one), Some(other)) = (&one.object, &other.object) else { return false };
        let lacks = |rules: &ObjectRules, name: &str| {
            rules.additional.is_some_and(|more| self[more].is_never())
                && rules.pattern_properties.is_empty()
                && rules.property(name).is_none()
        };
        let differ = |name: &str| match (one.property(name), other.property(name)) {
            (Some(one), Some(other)) => self.are_disjoint_within(one.schema, other.schema, depth - 1),
            _ => false,
        };
        let is_required = |name: &str| other.required_names().any(|required| required == name);
        one.required_names().any(|name| lacks(other, name) || (is_required(name) && differ(name)))
            || other.required_names().any(|name| lacks(one, name))
    }
}

/// The types of values that an `enum` allows are the types that fit.
fn restrict_types(node: &mut Node) {
    if let Some(values) = &mut node.values {
        values.retain(|value| node.types.contains(Types::of(value)));
        node.types = values.iter().fold(Types::NONE, |types, value| types | Types::of(value));
    }
}

/// Merges another schema into a node, if the result is the same as both of them.
pub(super) fn merge(node: &mut Node, other: &Node) -> bool {
    let is_open = |object: &ObjectRules| {
        object.additional.is_none()
            && object.unevaluated.is_none()
            && object.pattern_properties.is_empty()
            && object.names.is_none()
    };
    let is_plain =
        |node: &Node| !node.nullable && node.name.is_none() && node.reference.is_none() && node.all_of.is_empty();
    let has_both = (node.string.format.is_some() && other.string.format.is_some())
        || (node.array.is_some() && other.array.is_some());
    if !is_plain(other) || node.nullable || has_both {
        return false;
    }
    let objects = match (&node.object, &other.object) {
        (_, None) => true,
        (None, Some(object)) => object.unevaluated.is_none(),
        (Some(one), Some(object)) => {
            let is_new = |name: &str| one.property(name).is_none() && !one.required.iter().any(|it| it == name);
            one.additional.is_none()
                && one.pattern_properties.is_empty()
                && is_open(object)
                && object.properties.iter().all(|property| is_new(&property.name))
                && object.dependent_schemas.is_empty()
        }
    };
    // What excludes each other stays apart, so that it can be explained.
    if !objects || !node.types.intersects(other.types) {
        return false;
    }
    node.types = node.types & other.types;
    if let Some(values) = &other.values {
        match &mut node.values {
            Some(known) => known.retain(|known| values.iter().any(|value| equal(known, value))),
            None => node.values = Some(values.clone()),
        }
    }
    if let Some(values) = &mut node.values {
        values.retain(|value| node.types.contains(Types::of(value)));
    }
    let NumberRules { min, max, multiple_of } = &other.number;
    if let Some(limit) = min {
        node.number.restrict_min(*limit);
    }
    if let Some(limit) = max {
        node.number.restrict_max(*limit);
    }
    node.number.multiple_of.extend(multiple_of);
    node.string.min_length = node.string.min_length.max(other.string.min_length);
    node.string.max_length = min_option(node.string.max_length, other.string.max_length);
    for pattern in &other.string.patterns {
        if !node.string.patterns.contains(pattern) {
            node.string.patterns.push(*pattern);
        }
    }
    if other.string.format.is_some() {
        node.string.format.clone_from(&other.string.format);
        node.string.checks_format = other.string.checks_format;
    }
    if other.array.is_some() {
        node.array.clone_from(&other.array);
    }
    match (&mut node.object, &other.object) {
        (_, None) => {}
        (own @ None, Some(object)) => *own = Some(object.clone()),
        (Some(own), Some(object)) => {
            own.properties.extend(object.properties.iter().cloned());
            for name in &object.required {
                match own.properties.iter_mut().find(|property| property.name == *name) {
                    Some(property) => property.required = true,
                    None if own.required.contains(name) => {}
                    None => own.required.push(name.clone()),
                }
            }
            let required = std::mem::take(&mut own.required);
            for name in required {
                match own.properties.iter_mut().find(|property| property.name == name) {
                    Some(property) => property.required = true,
                    None => own.required.push(name),
                }
            }
            own.min_properties = own.min_properties.max(object.min_properties);
            own.max_properties = min_option(own.max_properties, object.max_properties);
            own.dependent_required.extend(object.dependent_required.iter().cloned());
        }
    }
    node.any_of.extend(other.any_of.iter().cloned());
    node.one_of.extend(other.one_of.iter().cloned());
    node.not.extend(&other.not);
    node.conditions.extend(&other.conditions);
    if node.notes.description.is_none() {
        node.notes.description.clone_from(&other.notes.description);
    }
    true
}

fn min_option(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

impl NumberRules {
    /// Adds a lower bound, unless there is a stricter one.
    pub fn restrict_min(&mut self, limit: Limit) {
        let is_stricter = |known: Limit| (known.value, known.exclusive) >= (limit.value, limit.exclusive);
        if !self.min.is_some_and(is_stricter) {
            self.min = Some(limit);
        }
    }

    /// Adds an upper bound, unless there is a stricter one.
    pub fn restrict_max(&mut self, limit: Limit) {
        let is_stricter = |known: Limit| (known.value, !known.exclusive) <= (limit.value, !limit.exclusive);
        if !self.max.is_some_and(is_stricter) {
            self.max = Some(limit);
        }
    }
}
