//! The table of rules, from which everything about a rule except its check is derived.

use self::Level::{Always, Depends};
use super::Severity::{self, Error, Note, Warning};

/// A rule of the lint.
pub(super) struct Rule {
    pub(super) id: &'static str,
    pub(super) level: Level,
    /// The hosts that are affected; every host if the list is empty.
    pub(super) hosts: &'static [&'static str],
    /// What happens if the rule is broken.
    pub(super) why: &'static str,
    pub(super) fix: &'static str,
}

/// How bad it is to break a rule.
pub(super) enum Level {
    Always(Severity),
    /// It depends on the tool, as the text says.
    Depends(#[cfg_attr(not(test), expect(dead_code, reason = "the documentation is compared with it"))] &'static str),
}

pub(super) static RULES: [Rule; 26] = [
    Rule {
        id: "missing-description",
        level: Always(Error),
        hosts: &[],
        why: "a model cannot choose a tool that does not say what it does",
        fix: "write a doc comment",
    },
    Rule {
        id: "missing-parameter-description",
        level: Always(Warning),
        hosts: &[],
        why: "a model guesses what to send",
        fix: "write a doc comment on the parameter",
    },
    Rule {
        id: "missing-effect-hints",
        level: Always(Warning),
        hosts: &["chatgpt", "claude"],
        why: "`ChatGPT` assumes that the tool writes, and Anthropic's directory requires a hint",
        fix: "add `read_only` or `destructive`",
    },
    Rule {
        id: "missing-title",
        level: Always(Warning),
        hosts: &["claude"],
        why: "Anthropic's directory requires a title, and hosts show it to people",
        fix: "add `title`",
    },
    Rule {
        id: "missing-output-schema",
        level: Depends("warning; note if the tool returns no data; error under `LintPolicy::Strict`"),
        hosts: &[],
        why: "programs that read results cannot know what they get",
        fix: "return a type with `JsonSchema`, write `output_schema`, or `allow` it if there is no data to describe",
    },
    Rule {
        id: "missing-properties",
        level: Always(Warning),
        hosts: &["copilot", "openai"],
        why: "OpenAI refuses an object without `properties`",
        fix: "write `\"properties\": {}`",
    },
    Rule {
        id: "name-length",
        level: Always(Warning),
        hosts: &["claude", "claude-desktop", "cursor", "gemini", "openai", "vscode"],
        why: "hosts put a prefix before the name, and refuse what is then longer than 60 or 64 characters",
        fix: "use at most 40 characters",
    },
    Rule {
        id: "name-characters",
        level: Always(Warning),
        hosts: &["cursor", "gemini"],
        why: "Cursor refuses `-`, Gemini a digit at the beginning, and hosts use `__` as a separator",
        fix: "begin with a letter, use no `-` and no `__`",
    },
    Rule {
        id: "name-form",
        level: Always(Error),
        hosts: &[],
        why: "people and models expect `module.tool` in lower case",
        fix: "rename the tool",
    },
    Rule {
        id: "dotted-name",
        level: Always(Warning),
        hosts: &["claude", "claude-desktop", "copilot", "cursor", "openai", "vscode"],
        why: "Claude Desktop, Cursor, Copilot and the APIs of Anthropic and OpenAI refuse dots; VS Code warns",
        fix: "use `NamePolicy::HostSafe`",
    },
    Rule {
        id: "root-union",
        level: Always(Error),
        hosts: &["claude", "openai"],
        why: "Anthropic and OpenAI refuse a union at the root",
        fix: "put the enum into a field",
    },
    Rule {
        id: "schema-size",
        level: Always(Warning),
        hosts: &[],
        why: "a schema of more than 8 KiB takes many tokens in every conversation",
        fix: "make it smaller",
    },
    Rule {
        id: "schema-references",
        level: Depends("error for recursive types, else warning"),
        hosts: &["autogen", "claude-desktop", "copilot", "cursor", "gemini", "llama-index", "mcp-use", "smolagents"],
        why: "llama-index and mcp-use for Python lose all tools of the server if a type is recursive, smolagents and \
              autogen lose that tool; Gemini, Cursor, Copilot and Claude Desktop do not follow `$ref`",
        fix: "use a type for each level, or a flat list that refers by ID",
    },
    Rule {
        id: "null-type",
        level: Always(Warning),
        hosts: &["gemini"],
        why: "Gemini refuses null in a list of types",
        fix: "remove null from its type; an argument that is not `required` can be null all the same",
    },
    Rule {
        id: "any-value",
        level: Depends("error for an argument or a field, else warning"),
        hosts: &["autogen", "claude", "gemini", "smolagents"],
        why: "autogen loses all tools; Anthropic's `transform_schema` fails; Gemini and smolagents treat it as a string",
        fix: "use a more specific type, or `allow` it if any JSON is meant",
    },
    Rule {
        id: "map",
        level: Always(Warning),
        hosts: &["openai"],
        why: "OpenAI's strict mode is off for the tool",
        fix: "use a list of structs with a key, if you need it",
    },
    Rule {
        id: "one-of",
        level: Always(Warning),
        hosts: &["gemini", "inspector", "openai"],
        why: "converters for Gemini drop `oneOf` and `const`, OpenAI's strict mode is off, and the Inspector does not \
              show the values",
        fix: "write `anyOf`, and an `enum` of one value",
    },
    Rule {
        id: "tuple",
        level: Always(Warning),
        hosts: &["gemini", "openai"],
        why: "Gemini gets a list without items, and OpenAI's strict mode refuses it",
        fix: "use a struct",
    },
    Rule {
        id: "bytes",
        level: Always(Warning),
        hosts: &[],
        why: "a list of bytes takes a model many tokens",
        fix: "use base64 in a string",
    },
    Rule {
        id: "wide-integer-id",
        level: Always(Warning),
        hosts: &["typescript"],
        why: "clients in TypeScript lose digits beyond 2^53",
        fix: "use a string",
    },
    Rule {
        id: "unknown-format",
        level: Always(Warning),
        hosts: &["typescript"],
        why: "Ajv, which clients in TypeScript use, warns of each format that JSON Schema does not define",
        fix: "use `pattern`",
    },
    Rule {
        id: "slow-union",
        level: Always(Warning),
        hosts: &[],
        why: "each level of nesting multiplies the time to read an untagged enum that contains itself, and calls wait for each \
              other",
        fix: "give the enum a tag",
    },
    Rule {
        id: "closed-arguments",
        level: Always(Note),
        hosts: &["gemini"],
        why: "google-genai for Python (up to 3.3) fails to convert `additionalProperties: false`, which tools have by \
              default",
        fix: "pass the schema as `parameters_json_schema` there, or set `allow_unknown_arguments`; externally tagged \
              enums and `deny_unknown_fields` stay closed",
    },
    Rule {
        id: "optional-arguments",
        level: Always(Note),
        hosts: &["openai"],
        why: "openai-agents makes optional arguments required and not null if `convert_schemas_to_strict` is on",
        fix: "leave it off there, or give the arguments a default",
    },
    Rule {
        id: "unknown-rule",
        level: Always(Warning),
        hosts: &[],
        why: "`allow` of a rule that does not exist has no effect",
        fix: "correct it",
    },
    Rule {
        id: "too-many-tools",
        level: Always(Warning),
        hosts: &["copilot", "vscode"],
        why: "VS Code and Copilot take at most 128 tools",
        fix: "serve a `subset`, or hide some",
    },
];

/// The rule with an ID.
pub(super) fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// The hosts that some rule is about, sorted.
#[cfg(any(feature = "cli", test))]
pub(crate) fn hosts() -> Vec<&'static str> {
    let mut hosts: Vec<&str> = RULES.iter().flat_map(|rule| rule.hosts).copied().collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Level, RULES, Rule, hosts};

    fn level(rule: &Rule) -> &'static str {
        match rule.level {
            Level::Always(severity) => severity.as_str(),
            Level::Depends(text) => text,
        }
    }

    fn named(hosts: &[&str]) -> String {
        if hosts.is_empty() { "every host".to_owned() } else { hosts.join(", ") }
    }

    /// Compares the part of a page from a line to the end of the page or another line. `UPDATE_GOLDEN=1` writes it again.
    fn compare(path: &str, start: &str, end: &str, expected: &str) {
        let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
        let page = fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once(start).unwrap();
        let (kept, after) = rest.split_at(rest.find(end).unwrap_or(rest.len()));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, format!("{before}{start}{expected}{after}")).unwrap();
        } else {
            assert_eq!(kept, expected, "{path} differs; write it again with UPDATE_GOLDEN=1");
        }
    }

    #[test]
    fn every_rule_is_documented_as_in_the_table() {
        let row = |rule: &Rule| {
            let Rule { id, hosts, why, fix, .. } = rule;
            format!("| `{id}` | {} | {} | {why} | {fix} |\n", level(rule), named(hosts))
        };
        let rows: String = RULES.iter().map(row).collect();
        compare("src/catalog/lint/rules.md", "|---|---|---|---|---|\n", "\n\n", &rows);

        let entry = |rule: &Rule| {
            let Rule { id, hosts, why, fix, .. } = rule;
            format!("\n### `{id}`\n\n{} · {}\n\n- Why: {why}.\n- Fix: {fix}.\n", level(rule), named(hosts))
        };
        let entries: String = RULES.iter().map(entry).collect();
        compare("docs/hosts-and-models.md", "<!-- The table of rules -->\n", "\n## ", &entries);
    }

    #[test]
    fn rules_have_one_row_each_and_hosts_are_sorted() {
        for (index, rule) in RULES.iter().enumerate() {
            assert!(RULES[..index].iter().all(|other| other.id != rule.id), "{}", rule.id);
            assert!(rule.hosts.is_sorted(), "{}", rule.id);
        }
        let hosts = hosts();
        for host in ["claude", "claude-desktop", "copilot", "cursor", "gemini", "openai", "vscode"] {
            assert!(hosts.contains(&host), "{host}");
        }
    }
}
