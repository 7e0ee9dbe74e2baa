//! Workflow commands of GitHub Actions, which show a message beside the line that it is about.

/// An annotation. The level is `error`, `warning` or `notice`.
pub(super) fn annotation(level: &str, file: Option<&str>, line: Option<&str>, title: &str, message: &str) -> String {
    let properties = [("file", file), ("line", file.and(line)), ("title", Some(title))];
    let properties = properties.into_iter().filter_map(|(key, value)| Some(format!("{key}={}", property(value?))));
    let properties: Vec<String> = properties.collect();
    format!("::{level} {}::{}", properties.join(","), data(message))
}

/// Escapes a message, which otherwise ends with its line.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property, which otherwise ends at a colon or a comma.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::annotation;

    #[test]
    fn an_annotation_names_its_place_and_title() {
        assert_eq!(
            annotation("error", Some("src/shop.rs"), Some("41"), "any-value", "`shop.store` takes any JSON: why?"),
            "::error file=src/shop.rs,line=41,title=any-value::`shop.store` takes any JSON: why?"
        );
        assert_eq!(annotation("notice", None, None, "too-many-tools", "a, b"), "::notice title=too-many-tools::a, b");
    }

    #[test]
    fn what_would_end_a_part_is_escaped() {
        assert_eq!(
            annotation("warning", Some("C:\\a,b.rs"), None, "50%: a\r\nb", "100%0A\r\n::error::"),
            "::warning file=C%3A\\a%2Cb.rs,title=50%25%3A a%0D%0Ab::100%250A%0D%0A::error::"
        );
    }
}
