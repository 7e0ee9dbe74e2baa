//! Samples of arguments and results: made from the schemas, judged by the registry and by `jsonschema`.

use mcp_core::entry::entries;
use mcp_registry::{Registry, ToolCall};

use crate::golden::validator;

#[test]
fn samples_of_arguments_fit_and_counterexamples_do_not() {
    let golden = entries().filter(|entry| entry.name.starts_with("golden."));
    let registry = Registry::builder_of(golden).build().unwrap();
    let catalog = registry.catalog();
    let (mut found, mut refuted, mut by_type) = (0, 0, 0);
    for tool in catalog.list_registered_tools() {
        let fits = |arguments| registry.check(&ToolCall::new(tool.name(), arguments));
        let sample = tool.sample_arguments().unwrap_or_else(|| panic!("{} has no sample", tool.name()));
        assert!(validator(tool.input_schema()).is_valid(&sample), "{}: {sample}", tool.name());
        if let Err(error) = fits(sample.clone()) {
            // The schema of a time without a zone, for example, is that of a string.
            assert!(error.to_string().contains("is rejected by its type"), "{}: {error}", tool.name());
            by_type += 1;
        }
        found += 1;
        if let Some(invalid) = tool.invalid_arguments() {
            assert!(!invalid.is_object() || fits(invalid.clone()).is_err(), "{}: {invalid}", tool.name());
            refuted += 1;
        }
    }
    assert!(found > 100 && refuted > 95 && by_type < 8, "{found} {refuted} {by_type}");
}

#[test]
fn samples_of_results_fit_and_counterexamples_do_not() {
    let golden = entries().filter(|entry| entry.name.starts_with("golden."));
    let registry = Registry::builder_of(golden).build().unwrap();
    let (mut checked, mut refuted) = (0, 0);
    for tool in registry.catalog().list_registered_tools() {
        let Some(schema) = tool.output_schema() else {
            assert_eq!((tool.sample_result(), tool.invalid_result()), (None, None), "{}", tool.name());
            continue;
        };
        let validator = validator(schema);
        let sample = tool.sample_result().unwrap_or_else(|| panic!("{} has no sample", tool.name()));
        assert!(validator.is_valid(&sample), "{}: {sample}", tool.name());
        checked += 1;
        if let Some(invalid) = tool.invalid_result() {
            assert!(!validator.is_valid(&invalid), "{}: {invalid}", tool.name());
            refuted += 1;
        }
    }
    assert!(checked > 80 && refuted > 80, "{checked} {refuted}");
}
