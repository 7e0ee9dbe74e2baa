fn wrong(a: i32, b: &[&str]) {}
::core::compile_error! {
    "unknown key `readonly`; did you mean `read_only`? the keys are `name`, `module`, `title`, `description`, `version`, `read_only`, `destructive`, `idempotent`, `open_world`, `deprecated_in`, `replaced_by`, `aliases`, `tags`, `meta`, `hidden`, `timeout`, `max_result`, `cache_ttl`, `inline`, `input_schema`, `output_schema`, `allow_unknown_arguments`, `allow` and `crate`"
}
::core::compile_error! {
    "unknown key `minimum`; did you mean `min`? the keys are `default`, `min`, `max`, `min_length`, `max_length`, `min_items`, `max_items`, `pattern`, `format`, `one_of`, `example`, `rename`, `alias`, `header`, `secret`, `description`, `schema` and `flatten`"
}
::core::compile_error! {
    "an argument cannot have a reference inside a reference; use the owned type, such as `String`"
}
