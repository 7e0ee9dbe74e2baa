//! Parameters that have another name, or none.

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeSet, HashSet};

use mcp_core::support::faults::escaped;
use mcp_core::support::schema::{Model, Node, NodeId, Property, Types};

use crate::validate::check::Schema;
use crate::validate::include::{Comparison, Gap, Kind, gaps};

/// How many members are compared by name.
const MAX_COMPARED: usize = 1 << 12;

/// How many pairs of a removed and an added parameter are compared.
const MAX_PAIRS: usize = 1 << 10;

/// How many nodes the schemas have that are compared for that.
const MAX_NODES: usize = 1 << 18;

/// Values of each type. Schemas that do not accept the same ones are not the same.
const PROBES: [&str; 12] =
    ["null", "true", "-1", "0", "1", "1000", "0.5", r#""""#, r#""text""#, "[]", r#"["text"]"#, "{}"];

/// A comparison of all that two schemas say.
pub(super) const STRICT: Comparison =
    Comparison { null_is_absent: false, may_name_members: false, with_witness: false };

/// The pointer to a parameter.
pub(super) fn pointer_to(name: &str) -> String {
    format!("/{}", escaped(name))
}

/// The parameters that were removed while one like it was added, with the same schema: the old and the new name. Optional
/// parameters often have the same schema by chance, so that their descriptions must be the same, too, or there must be only one
/// of each.
pub(super) fn renamed<'m>(
    old: &'m Model,
    new: &'m Model,
    breaking: &[Gap],
    ignored: &BTreeSet<String>,
) -> Vec<(&'m str, &'m str)> {
    let (Some(before), Some(after)) = (&old[old.root()].object, &new[new.root()].object) else { return Vec::new() };
    let was_removed = |name: &str| {
        let is_refused =
            |gap: &Gap| gap.pointer.is_empty() && matches!(&gap.kind, Kind::Forbidden(lost) if lost == name);
        ignored.contains(&pointer_to(name)) || breaking.iter().any(is_refused)
    };
    let is_new = |name: &str| !before.properties.iter().any(|property| property.name == name);
    let removed: Vec<&Property> = before.properties.iter().filter(|property| was_removed(&property.name)).collect();
    let added: Vec<&Property> = after.properties.iter().filter(|property| is_new(&property.name)).collect();
    let is_only_one = removed.len() == 1 && added.len() == 1;
    let is_described_alike = |removed: &Property, added: &Property| {
        let (one, other) = (&old[removed.schema].notes.description, &new[added.schema].notes.description);
        if one.is_some() && other.is_some() { one == other } else { is_only_one }
    };
    if removed.len() * added.len() > MAX_PAIRS {
        return Vec::new();
    }
    let cost = Cell::new(0);
    let is_affordable = |one: &Model, other: &Model| {
        cost.set(cost.get() + one.nodes().count() + other.nodes().count());
        cost.get() <= MAX_NODES
    };
    let part = |model: &Model, property: &Property| {
        let model = model.part(property.schema);
        let schema = is_affordable(&model, &model).then(|| Schema::comparable(model.clone()));
        let fits = schema.iter().flat_map(|it| PROBES.map(|probe| it.accepts(it.model().root(), probe))).collect();
        (model, fits)
    };
    let is_within = |one: &Model, other: &Model| gaps(one, other, STRICT).is_empty();
    let is_same = |(one, fits): &(Model, Vec<bool>), (other, others): &(Model, Vec<bool>)| {
        fits == others && is_affordable(one, other) && is_within(one, other) && is_within(other, one)
    };
    let after: Vec<OnceCell<_>> = added.iter().map(|_| OnceCell::new()).collect();
    let mut pairs = Vec::new();
    for removed in removed {
        let before = OnceCell::new();
        let mut alike = added.iter().zip(&after).filter(|(added, after)| {
            added.required == removed.required
                && (added.required || is_described_alike(removed, added))
                && !pairs.iter().any(|(_, to)| *to == added.name)
                && is_same(before.get_or_init(|| part(old, removed)), after.get_or_init(|| part(new, added)))
        });
        let only = alike.next().filter(|_| alike.next().is_none());
        pairs.extend(only.map(|(added, _)| (removed.name.as_str(), added.name.as_str())));
    }
    // Where some were not compared, nothing is known about the others.
    if cost.get() > MAX_NODES { Vec::new() } else { pairs }
}

/// The members that are no longer named, while anything is accepted under their names. Where there are alternatives, they may
/// be named in another one, and the members of a map have no names.
pub(super) fn ignored(old: &Model, new: &Model) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (pointer, before, after) in pairs(old, new) {
        let rules = after.object.as_deref();
        let is_map = rules.map_or(!pointer.is_empty(), |rules| {
            let others = rules.additional.or(rules.unevaluated).map(|others| &new[new.resolved(others)]);
            !rules.pattern_properties.is_empty()
                || others.is_some_and(|others| !others.is_any() && !others.is_never())
                || (rules.properties.is_empty() && !pointer.is_empty())
        });
        let is_closed = rules.and_then(|rules| rules.additional).is_some_and(|more| new[new.resolved(more)].is_never());
        let is_object = after.types.contains(Types::OBJECT) && !is_map && !is_closed && after.values.is_none();
        let can_be_there = |property: &&Property| is_object && !old[old.resolved(property.schema)].is_never();
        let properties = before.object.iter().flat_map(|rules| &rules.properties).filter(can_be_there);
        let names = properties.flat_map(|property| std::iter::once(&property.name).chain(&property.aliases));
        let is_named = |name: &str| rules.is_some_and(|rules| rules.property(name).is_some());
        found.extend(names.filter(|name| !is_named(name)).map(|name| pointer.clone() + &pointer_to(name)));
    }
    found
}

/// Names of members that came or went while the members are the same.
#[derive(Default)]
pub(super) struct Aliases<'m> {
    /// Members with a new name that are accepted under the old one: where the object is, the old name, the new one.
    pub(super) renamed: Vec<(String, &'m str, &'m str)>,
    /// Members with an additional name: where the object is, the name, the other one.
    pub(super) added: Vec<(String, &'m str, &'m str)>,
    /// Where the names are. Whether a member is there under one of them is no other change.
    pub(super) places: BTreeSet<String>,
    /// Where a required member is, and where it was accepted under a name that is gone.
    pub(super) removed: Vec<(String, String)>,
}

pub(super) fn aliases<'m>(old: &'m Model, new: &'m Model) -> Aliases<'m> {
    let mut found = Aliases::default();
    for (pointer, before, after) in pairs(old, new) {
        let (Some(before), Some(after)) = (&before.object, &after.object) else { continue };
        let has_own = |name: &str| before.properties.iter().any(|property| property.name == name);
        let at = |name: &str| pointer.clone() + &pointer_to(name);
        for property in &before.properties {
            let Some(same) = after.property(&property.name) else { continue };
            if same.name != property.name && !has_own(&same.name) {
                found.renamed.push((pointer.clone(), &property.name, &same.name));
                found.places.extend([at(&property.name), at(&same.name)]);
            }
            for alias in same.aliases.iter().filter(|alias| before.property(alias).is_none()) {
                found.added.push((pointer.clone(), &same.name, alias));
                found.places.extend(std::iter::once(at(alias)).chain(same.required.then(|| at(&same.name))));
            }
            let removed = property.aliases.iter().filter(|alias| property.required && after.property(alias).is_none());
            found.removed.extend(removed.map(|alias| (at(&property.name), at(alias))));
        }
    }
    found
}

/// The parts of values that both schemas speak about, with their places.
fn pairs<'m>(old: &'m Model, new: &'m Model) -> Vec<(String, &'m Node, &'m Node)> {
    let target = |model: &Model, id: NodeId| {
        let node = &model[model.resolved(id)];
        let is_only = node.reference.is_some() && node.in_place().count() == 1;
        if is_only { node.reference.map_or(id, |target| model.resolved(target)) } else { model.resolved(id) }
    };
    let (mut found, mut compared) = (Vec::new(), HashSet::new());
    let mut left = vec![(old.root(), new.root(), String::new())];
    while let Some((one, other, pointer)) = left.pop() {
        let (one, other) = (target(old, one), target(new, other));
        let (before, after) = (&old[one], &new[other]);
        if compared.len() > MAX_COMPARED || !compared.insert((one, other)) || after.has_applicators() {
            continue;
        }
        if let (Some(before), Some(after)) = (&before.array, &after.array) {
            left.extend(before.items.zip(after.items).map(|(one, other)| (one, other, format!("{pointer}/0"))));
        }
        if let (Some(before), Some(after)) = (&before.object, &after.object) {
            let same =
                before.properties.iter().filter_map(|property| Some((property, after.property(&property.name)?)));
            left.extend(same.map(|(one, other)| (one.schema, other.schema, pointer.clone() + &pointer_to(&one.name))));
        }
        found.push((pointer, before, after));
    }
    found
}

#[cfg(test)]
mod tests {
    use mcp_core::name::Version;
    use mcp_core::support::faults::ARGUMENTS;
    use serde_json::{Map, Value, json};

    use super::super::change::{Verdict, Witness};
    use super::super::schemas::arguments;
    use super::super::{Contract, ToolContract};
    use crate::validate::check::{How, Schema, Secrets};

    const NAMES: [&str; 4] = ["a", "b", "c", "d"];

    /// Numbers that look random, and are the same in each run.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(self.0 >> 33).unwrap() % limit
        }

        /// An object whose members have the names, each as a member or as the alias of one.
        fn schema(&mut self, depth: usize) -> Value {
            let (mut properties, mut aliases, mut required) = (Map::new(), Map::new(), Vec::new());
            for name in NAMES {
                match (self.below(3), properties.keys().next_back().cloned()) {
                    (0, _) => {}
                    (1, Some(owner)) => {
                        let names = aliases.entry(owner).or_insert_with(|| json!([]));
                        names.as_array_mut().unwrap().push(name.into());
                    }
                    _ => {
                        let schema = match self.below(4) {
                            0 if depth > 0 => self.schema(depth - 1),
                            1 => json!({ "type": "string" }),
                            2 => json!({ "type": ["integer", "null"] }),
                            _ => json!({ "type": "integer" }),
                        };
                        properties.insert(name.to_owned(), schema);
                        required.extend((self.below(2) == 0).then_some(name));
                    }
                }
            }
            let mut schema =
                json!({ "type": "object", "properties": properties, "x-mcp-aliases": aliases, "required": required });
            match self.below(4) {
                0 => schema["additionalProperties"] = json!({ "type": "integer" }),
                1 => {}
                _ => schema["additionalProperties"] = json!(false),
            }
            schema
        }

        /// The schema with other names of a member, or with more that is accepted.
        fn changed(&mut self, schema: &Value) -> Value {
            let mut schema = schema.clone();
            let names: Vec<String> = schema["properties"].as_object().unwrap().keys().cloned().collect();
            if names.is_empty() {
                return schema;
            }
            let name = names[self.below(names.len())].as_str();
            let mut aliases = schema["x-mcp-aliases"][name].as_array().cloned().unwrap_or_default();
            let unused = NAMES.iter().find(|unused| !schema.to_string().contains(&format!("\"{unused}\"")));
            match (self.below(5), unused) {
                (0, Some(unused)) => aliases.push((*unused).into()),
                (1, Some(unused)) => {
                    let member = schema["properties"].as_object_mut().unwrap().remove(name).unwrap();
                    schema["properties"][unused] = member;
                    aliases.extend((self.below(2) == 0).then(|| name.into()));
                    schema["x-mcp-aliases"].as_object_mut().unwrap().remove(name);
                    schema["x-mcp-aliases"][unused] = aliases.into();
                    let required = schema["required"].as_array_mut().unwrap();
                    required.iter_mut().filter(|required| *required == name).for_each(|it| *it = (*unused).into());
                    return schema;
                }
                (2, _) => drop(aliases.pop()),
                (3, _) => drop(schema.as_object_mut().unwrap().remove("additionalProperties")),
                _ => schema["required"] = json!([]),
            }
            schema["x-mcp-aliases"][name] = aliases.into();
            schema
        }

        /// A value in which the schema names every member.
        fn value(&mut self, schema: &Value) -> Value {
            let mut value = Map::new();
            for (name, member) in schema["properties"].as_object().into_iter().flatten() {
                let others = schema["x-mcp-aliases"][name].as_array().map_or(&[][..], Vec::as_slice);
                let names: Vec<&str> =
                    std::iter::once(name.as_str()).chain(others.iter().filter_map(Value::as_str)).collect();
                let name = names[self.below(names.len())];
                if self.below(4) > 0 {
                    let inner = match self.below(8) {
                        0 => Value::Null,
                        _ if member["type"] == "object" => self.value(member),
                        _ if member["type"] == "string" => json!("x"),
                        _ => json!(1),
                    };
                    value.insert(name.to_owned(), inner);
                }
            }
            value.into()
        }
    }

    fn contract(schema: &Value) -> Contract {
        let list = json!([{ "name": "a", "inputSchema": schema }]).to_string();
        let tool = Contract::from_tools_list(&list).unwrap().tools.remove(0);
        Contract::new(vec![ToolContract { version: Some(Version::new(1, 0, 0)), ..tool }])
    }

    #[test]
    fn a_call_that_breaks_is_never_compatible_whatever_the_names_of_its_members() {
        let numbers = &mut Numbers(7);
        let (mut broken, mut compatible, mut shown) = (0, 0, 0);
        for _ in 0..500 {
            let old = numbers.schema(1);
            let new = if numbers.below(4) == 0 { numbers.schema(1) } else { numbers.changed(&old) };
            let diff = contract(&old).diff(&contract(&new));
            let [accepts_old, accepts_new] = [(&old, false), (&new, true)].map(|(schema, lenient)| {
                let schema = Schema::new(arguments(schema).unwrap()).unwrap();
                move |value: &Value| {
                    let how = How { document: ARGUMENTS, lenient, secrets: Secrets::None };
                    schema.check(&value.to_string(), &how).is_ok()
                }
            });
            for _ in 0..20 {
                let value = numbers.value(&old);
                if accepts_old(&value) && !accepts_new(&value) {
                    broken += 1;
                    assert_ne!(diff.verdict(), Verdict::Compatible, "{value}\n{old}\n{new}\n{diff}");
                }
            }
            for change in diff.changes.iter().filter(|change| change.breaking) {
                let Some(Witness::Arguments(value)) = &change.witness else { continue };
                shown += 1;
                assert!(accepts_old(value) && !accepts_new(value), "{value}\n{old}\n{new}\n{diff}");
            }
            compatible += usize::from(diff.verdict() == Verdict::Compatible);
        }
        assert!(broken > 500 && compatible > 100 && shown > 300, "{broken} {compatible} {shown}");
    }
}
