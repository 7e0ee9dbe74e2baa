//! From parameters to the schema of a tool's arguments.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Bound, Constraint, Param, ParamType};
use crate::schema::decimal::Decimal;
use crate::schema::model::{Limit, Model, Node, NodeId, ObjectRules, Property, Types};
use crate::schema::profile::{Side, described, without_nulls};
use crate::schema::read::ReadError;
use crate::schema::{Cache, Shape, settings};
use crate::util::JsonObject;

/// The schema of a tool's arguments.
pub(crate) struct InputSchema {
    /// The model, whose root decides which arguments fit.
    pub(crate) model: Model,
    /// The schema that is published. It may say less than the root.
    published: NodeId,
}

/// The parameters of a tool, as the attribute describes them.
#[derive(Clone, Copy)]
pub(crate) struct Signature<'a> {
    pub(crate) params: &'a [Param],
    /// Whether the only parameter is a struct whose fields are the arguments.
    pub(crate) flatten: bool,
    pub(crate) allow_unknown: bool,
}

/// What schemars and serde know about a type.
struct TypeSchema {
    schema: Value,
    definitions: JsonObject,
    shape: Shape,
}

static TYPES: Cache<TypeSchema> = Cache::new();

impl TypeSchema {
    /// What is known about a type, found out once.
    fn of(ty: &'static ParamType) -> Arc<Self> {
        TYPES.get(std::ptr::from_ref(ty) as usize, || {
            let mut generator = settings().for_deserialize().into_generator();
            let schema = (ty.schema)(&mut generator).to_value();
            Self { schema, definitions: generator.take_definitions(true), shape: (ty.shape)() }
        })
    }
}

impl InputSchema {
    pub(crate) fn new(signature: Signature<'_>) -> Result<Self, ReadError> {
        let Signature { params, flatten, allow_unknown } = signature;
        let types: Vec<Option<Arc<TypeSchema>>> =
            params.iter().map(|param| param.explicit_schema.is_none().then(|| TypeSchema::of(param.ty))).collect();
        let mut model = Model::read(&document(params, &types), false)?;
        let shapes: Vec<&Shape> = types.iter().flatten().map(|of_type| &of_type.shape).collect();
        model.make_host_safe(Side::Input, &shapes);
        let root = model.root();
        let nodes = model[root].array.take().map(|array| array.prefix).unwrap_or_default();
        let mut schema = Self { model, published: NodeId(0) };
        let root = match (params, &nodes[..]) {
            ([only], [node]) if flatten => schema.flattened(only, *node, &types)?,
            _ => schema.listed(params, &nodes)?,
        };
        schema.model.root = root;
        schema.published = if flatten { schema.model.add_without_alternatives(root) } else { root };
        if !allow_unknown {
            let never = schema.model.add(Node::never());
            for root in [root, schema.published] {
                schema.close(root, never);
            }
        }
        Ok(schema)
    }

    /// Appends the schema that is published.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        self.write_root(self.published, false, out);
    }

    /// Appends the schema that decides which arguments fit, with the other names of arguments and values.
    pub(crate) fn write_accepted(&self, out: &mut Vec<u8>) {
        self.write_root(self.model.root(), true, out);
    }

    fn write_root(&self, root: NodeId, with_aliases: bool, out: &mut Vec<u8>) {
        let start = out.len();
        if with_aliases {
            self.model.write_with_aliases(root, out);
        } else {
            self.model.write(root, Side::Input, out);
        }
        // Some hosts expect properties even if there are none.
        let root = &self.model[root];
        let has_properties = root.object.as_ref().is_some_and(|object| !object.properties.is_empty());
        if root.types == Types::OBJECT && !has_properties {
            let rest = out.split_off(start + br#"{"type":"object""#.len());
            out.extend_from_slice(br#","properties":{}"#);
            out.extend_from_slice(&rest);
        }
    }

    /// The names that a struct whose fields are the arguments has; none if it accepts any.
    pub(crate) fn fields(&self) -> Option<Vec<String>> {
        let object = self.model[self.published].object.as_ref()?;
        let is_closed = object.additional.is_some_and(|more| self.model[more].is_never());
        is_closed.then(|| object.properties.iter().map(|property| property.name.clone()).collect())
    }

    /// Rejects arguments that no schema names.
    fn close(&mut self, root: NodeId, never: NodeId) {
        let is_union = self.model[root].has_applicators();
        let object = self.model[root].object.get_or_insert_default();
        if object.additional.is_some() || object.unevaluated.is_some() {
            return;
        }
        if is_union { object.unevaluated = Some(never) } else { object.additional = Some(never) }
    }

    fn listed(&mut self, params: &[Param], types: &[NodeId]) -> Result<NodeId, ReadError> {
        let mut object = ObjectRules::default();
        for (param, ty) in params.iter().zip(types) {
            let schema = self.param(param, *ty)?;
            let property = Property {
                aliases: param.aliases.iter().map(|alias| (*alias).to_owned()).collect(),
                null_is_absent: param.default.is_some(),
                ..Property::new(param.name, schema, param.is_required())
            };
            object.properties.push(property);
        }
        Ok(self.model.add(Node { object: Some(Box::new(object)), ..Node::of(Types::OBJECT) }))
    }

    /// The schema of a struct whose fields are the arguments.
    fn flattened(&mut self, param: &Param, ty: NodeId, types: &[Option<Arc<TypeSchema>>]) -> Result<NodeId, ReadError> {
        let root = if param.explicit_schema.is_some() { self.param(param, ty)? } else { self.model.resolved(ty) };
        let mut node = self.model[root].clone();
        if self.model.is_object(root) {
            // Unions have no type of their own, and every host expects one.
            node.types = Types::OBJECT;
        }
        node.notes.title = None;
        // schemars takes the description of a flattened struct for that of the struct around it, if that has none.
        if types.iter().flatten().any(|of_type| of_type.shape.flattens) {
            node.notes.description = None;
        }
        Ok(self.model.add(node))
    }

    /// The schema of a parameter, with everything that its author says about it.
    fn param(&mut self, param: &Param, ty: NodeId) -> Result<NodeId, ReadError> {
        let mut node = match param.explicit_schema {
            Some(schema) => self.explicit(param, schema())?,
            None if param.constraints.is_empty() => Node { reference: Some(ty), ..Node::any() },
            // The constraints and the type are explained together.
            None => Node { name: None, ..self.model[self.model.resolved(ty)].clone() },
        };
        for constraint in param.constraints {
            constrain(&mut self.model, &mut node, constraint);
        }
        let notes = &mut node.notes;
        if let Some(default) = param.default.map(|default| without_nulls(default())).filter(|value| !value.is_null()) {
            notes.default = Some(default);
        }
        if !param.examples.is_empty() {
            notes.examples = param.examples.iter().map(|example| without_nulls(example())).collect();
        }
        if let Some(header) = param.header {
            notes.other.insert("x-mcp-header".to_owned(), header.into());
        }
        if !param.description.is_empty() {
            node.notes.description = Some(described(&node, param.description));
        }
        if let Some(Value::Object(verbatim)) = &mut node.verbatim {
            annotate(verbatim, param);
        }
        Ok(self.model.add(node))
    }

    /// A schema that the author wrote: it is published as it is written.
    fn explicit(&mut self, param: &Param, mut schema: Value) -> Result<Node, ReadError> {
        let read = Model::read(&schema, true)?;
        let target = self.model.import(read);
        if let Value::Object(object) = &mut schema {
            // What concerns a document, and not a part of one.
            object.shift_remove("$schema");
            object.shift_remove("title");
            let definitions = object.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
            let known = &mut self.model.definitions;
            let is_new = |(name, schema): (&String, &Value)| known.get(name).is_none_or(|known| known == schema);
            // Most hosts look for definitions at the root only.
            let prefixes = if definitions.iter().all(is_new) {
                object.shift_remove("$defs");
                known.extend(definitions);
                &["#/$defs/"][..]
            } else {
                &[]
            };
            move_references(&mut schema, param.name, prefixes);
        }
        Ok(Node { reference: Some(target), verbatim: Some(schema), ..Node::any() })
    }
}

/// The schemas of the types of parameters, as one document.
fn document(params: &[Param], types: &[Option<Arc<TypeSchema>>]) -> Value {
    let mut definitions = JsonObject::new();
    for (name, schema) in types.iter().flatten().flat_map(|of_type| &of_type.definitions) {
        if definitions.get(name).is_some_and(|known| known != schema) {
            // Two types have the same name: schemars has to tell them apart.
            return generated(params);
        }
        definitions.entry(name).or_insert_with(|| schema.clone());
    }
    let schemas =
        types.iter().map(|of_type| of_type.as_ref().map_or(Value::Bool(true), |of_type| of_type.schema.clone()));
    let schemas: Vec<Value> = schemas.collect();
    if schemas.is_empty() { json!({}) } else { json!({ "prefixItems": schemas, "$defs": definitions }) }
}

/// The schemas of the types of parameters, even if there is an explicit schema.
pub(crate) fn type_schemas(params: &[Param]) -> Value {
    let types: Vec<Option<Arc<TypeSchema>>> = params.iter().map(|param| Some(TypeSchema::of(param.ty))).collect();
    document(params, &types)
}

/// The schemas of the types of parameters, from one generator.
fn generated(params: &[Param]) -> Value {
    let mut generator = settings().for_deserialize().into_generator();
    let types: Vec<Value> = params.iter().map(|param| (param.ty.schema)(&mut generator).to_value()).collect();
    json!({ "prefixItems": types, "$defs": generator.definitions() })
}

impl Param {
    /// Generates the model of this parameter alone, without its constraints.
    #[doc(hidden)]
    pub fn generate_model(&self) -> Result<Model, ReadError> {
        let plain = Self { constraints: &[], ..*self };
        let signature = Signature { params: std::slice::from_ref(&plain), flatten: false, allow_unknown: true };
        let InputSchema { mut model, .. } = InputSchema::new(signature)?;
        let object = model[model.root()].object.as_ref();
        let property = object.and_then(|object| object.properties.first()).map(|property| property.schema);
        model.root = property.unwrap_or(model.root);
        Ok(model)
    }
}

/// Lets the references of a schema that was a document lead to the property that it becomes.
fn move_references(schema: &mut Value, property: &str, except: &[&str]) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(path)) = object.get_mut("$ref") {
                let is_kept = except.iter().any(|prefix| path.starts_with(prefix));
                if let Some(rest) = path.strip_prefix('#').filter(|_| !is_kept) {
                    let property = property.replace('~', "~0").replace('/', "~1").replace('%', "%25");
                    *path = format!("#/properties/{property}{rest}");
                }
            }
            object.values_mut().for_each(|value| move_references(value, property, except));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| move_references(value, property, except)),
        _ => {}
    }
}

/// Adds what the author says about a parameter to the schema that the author wrote.
fn annotate(schema: &mut JsonObject, param: &Param) {
    for constraint in param.constraints {
        let (key, value) = keyword(constraint);
        schema.insert(key.to_owned(), value);
    }
    if !param.description.is_empty() {
        schema.shift_remove("description");
        let place = schema.keys().position(|key| key == "type").map_or(0, |place| place + 1);
        schema.shift_insert(place, "description".to_owned(), param.description.into());
    }
    if let Some(default) = param.default.map(|default| without_nulls(default())).filter(|value| !value.is_null()) {
        schema.insert("default".to_owned(), default);
    }
    if !param.examples.is_empty() {
        schema.insert("examples".to_owned(), param.examples.iter().map(|example| without_nulls(example())).collect());
    }
    if let Some(header) = param.header {
        schema.insert("x-mcp-header".to_owned(), header.into());
    }
}

/// A constraint as a keyword of JSON Schema.
fn keyword(constraint: &Constraint) -> (&'static str, Value) {
    match constraint {
        Constraint::Min(bound) => ("minimum", number(*bound)),
        Constraint::Max(bound) => ("maximum", number(*bound)),
        Constraint::MinLength(length) => ("minLength", (*length).into()),
        Constraint::MaxLength(length) => ("maxLength", (*length).into()),
        Constraint::MinItems(count) => ("minItems", (*count).into()),
        Constraint::MaxItems(count) => ("maxItems", (*count).into()),
        Constraint::Pattern(pattern) => ("pattern", (*pattern).into()),
        Constraint::Format(format) => ("format", (*format).into()),
        Constraint::OneOf(values) => ("enum", json!(values)),
    }
}

/// Adds a constraint, unless the type has a stricter one.
fn constrain(model: &mut Model, node: &mut Node, constraint: &Constraint) {
    let limit = |bound: &Bound| {
        let value = match bound {
            Bound::Int(bound) => Decimal::from(*bound),
            Bound::Float(_) => Decimal::parse(&number(*bound).to_string()).unwrap_or(Decimal::ZERO),
        };
        Limit { value, exclusive: false }
    };
    let at_most = |known: Option<u64>, most: u64| Some(known.map_or(most, |known| known.min(most)));
    match constraint {
        Constraint::Min(bound) => node.number.restrict_min(limit(bound)),
        Constraint::Max(bound) => node.number.restrict_max(limit(bound)),
        Constraint::MinLength(least) => node.string.min_length = node.string.min_length.max(*least),
        Constraint::MaxLength(most) => node.string.max_length = at_most(node.string.max_length, *most),
        Constraint::MinItems(least) => {
            let array = node.array.get_or_insert_default();
            array.min_items = array.min_items.max(*least);
        }
        Constraint::MaxItems(most) => {
            let array = node.array.get_or_insert_default();
            array.max_items = at_most(array.max_items, *most);
        }
        Constraint::Pattern(pattern) => node.string.patterns.push(model.add_pattern(pattern)),
        Constraint::Format(format) => {
            node.string.format = Some((*format).to_owned());
            node.string.checks_format = true;
        }
        Constraint::OneOf(values) => {
            node.types = Types::STRING;
            node.values = Some(values.iter().map(|value| Value::from(*value)).collect());
            node.aliases.clear();
        }
    }
}

fn number(bound: Bound) -> Value {
    #[allow(clippy::cast_precision_loss, reason = "JSON has no larger integers that every reader accepts")]
    match bound {
        Bound::Int(bound) => i64::try_from(bound)
            .map(Value::from)
            .or_else(|_| u64::try_from(bound).map(Value::from))
            .unwrap_or_else(|_| Value::from(bound as f64)),
        Bound::Float(bound) => bound.into(),
    }
}
