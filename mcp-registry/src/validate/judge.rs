//! Every question that can be asked about a schema, for the fuzz targets.

use mcp_core::support::faults::ARGUMENTS;
use mcp_core::support::schema::Model;
use serde_json::Value;

use super::check::{How, Schema, Secrets};
use super::sample::{Samples, contradiction};

/// A schema that values can be checked against.
pub struct Judge(Schema);

impl Judge {
    /// Reads a schema. The error says why it is not one.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let model = Model::read(schema, true).map_err(|error| error.to_string())?;
        Schema::new(model).map(Self)
    }

    /// Whether a JSON text fits, exactly as it is written.
    pub fn accepts(&self, json: &str) -> bool {
        self.0.accepts(self.0.model().root(), json)
    }

    /// Checks a JSON text. Returns the edited text if it was edited, or what is wrong with it.
    pub fn check(&self, json: &str, lenient: bool) -> Result<Option<String>, Vec<String>> {
        let how = How { document: ARGUMENTS, lenient, secrets: Secrets::None };
        let shown = |faults: super::Faults| faults.faults.iter().map(|fault| format!("{fault:?}")).collect();
        self.0.check(json, &how).map_err(shown)
    }

    /// A value that fits and one that does not, as far as they are found.
    pub fn samples(&self) -> (Option<Value>, Option<Value>) {
        let accepts = |node, json: &str| self.0.accepts(node, json);
        let (samples, root) = (Samples::new(self.0.model(), &accepts), self.0.model().root());
        (samples.fitting(root), samples.violating(root))
    }

    /// Why nothing fits, if that is plain.
    pub fn contradiction(&self) -> Option<String> {
        contradiction(self.0.model())
    }
}
