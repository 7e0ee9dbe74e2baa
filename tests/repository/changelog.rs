//! `CHANGELOG.md` keeps to the format of Keep a Changelog, and its newest version is that of the workspace.

use crate::markdown::{prose, read};

/// The groups of changes, in the order of keepachangelog.com.
const GROUPS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

/// A version in the log: its number, and its date unless it is unreleased.
#[derive(Debug)]
struct Release<'a> {
    version: &'a str,
    date: Option<&'a str>,
    groups: Vec<&'a str>,
}

/// `## [0.1.0] - 2026-11-17` or `## [Unreleased]`.
fn release(heading: &str) -> Option<Release<'_>> {
    let (version, rest) = heading.strip_prefix("## [")?.split_once(']')?;
    let date = match rest {
        "" => None,
        rest => Some(rest.strip_prefix(" - ")?),
    };
    Some(Release { version, date, groups: Vec::new() })
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let number = |text: &str, digits: usize| text.parse::<u32>().ok().filter(|_| text.len() == digits);
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2)) else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    (1..=12).contains(&month) && (1..=days).contains(&day)
}

/// What is wrong with a log, if the workspace has this version.
fn problems(log: &str, version_of_workspace: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut releases: Vec<Release<'_>> = Vec::new();
    if !log.starts_with("# Changelog\n") {
        problems.push("the title is not `# Changelog`".to_owned());
    }
    for (number, line) in prose(log).into_iter().filter(|(_, line)| line.starts_with("##")) {
        if let Some(group) = line.strip_prefix("### ") {
            let Some(release) = releases.last_mut() else {
                problems.push(format!("line {number}: a group belongs to a version"));
                continue;
            };
            if !GROUPS.contains(&group) {
                problems.push(format!("line {number}: `{group}` is not one of {GROUPS:?}"));
            }
            if release.groups.contains(&group) {
                problems.push(format!("line {number}: `{group}` is there twice"));
            }
            release.groups.push(group);
        } else if let Some(release) = release(line) {
            releases.push(release);
        } else {
            problems.push(format!("line {number}: write `## [Unreleased]` or `## [1.2.3] - 2026-11-17`"));
        }
    }
    let (is_unreleased, versioned) = match releases.split_first() {
        Some((first, rest)) if first.version == "Unreleased" && first.date.is_none() => (true, rest),
        _ => (false, &releases[..]),
    };
    if !is_unreleased {
        problems.push("the first section is not `## [Unreleased]`".to_owned());
    }
    let mut versions = Vec::new();
    for Release { version, date, .. } in versioned {
        if !date.is_some_and(is_date) {
            problems.push(format!("{version} has no date like `2026-11-17`"));
        }
        match semver::Version::parse(version) {
            Ok(version) => versions.push((version, *date)),
            Err(error) => problems.push(format!("`{version}` is not a version: {error}")),
        }
    }
    for pair in versions.windows(2) {
        if pair[0].0 <= pair[1].0 || pair[0].1 < pair[1].1 {
            problems.push(format!("{} comes before {}: put the newest version first", pair[0].0, pair[1].0));
        }
    }
    if versions.first().map(|(version, _)| version.to_string()).as_deref() != Some(version_of_workspace) {
        problems.push(format!("the newest version is not {version_of_workspace}, that of the workspace"));
    }
    problems
}

#[test]
fn the_changelog_keeps_to_its_format_and_has_the_version_of_the_workspace() {
    let problems = problems(&read("CHANGELOG.md"), env!("CARGO_PKG_VERSION"));
    assert!(problems.is_empty(), "CHANGELOG.md: {}", problems.join("\n"));
}

const GOOD: &str = "# Changelog\n\n## [Unreleased]\n\n### Fixed\n\n- A bug.\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- More.\n\n\
                    ### Removed\n\n- Less.\n\n## [0.1.0] - 2026-11-17\n\n### Added\n\n- All.\n";

#[test]
fn a_changelog_that_keeps_to_the_format_has_no_problems() {
    assert_eq!(problems(GOOD, "0.2.0"), [""; 0]);
}

#[test]
fn a_changelog_that_does_not_keep_to_the_format_is_found() {
    for (before, after) in [
        ("# Changelog\n", "# Changes\n"),
        ("## [Unreleased]", "## Unreleased"),
        ("## [Unreleased]\n\n### Fixed\n\n- A bug.\n\n", ""),
        ("### Fixed", "### Bugs"),
        ("### Removed", "### Added"),
        ("2026-12-01", "2026-11-31"),
        ("2026-12-01", "1.12.2026"),
        (" - 2026-12-01", ""),
        ("[0.1.0] - 2026-11-17", "[0.3.0] - 2026-11-17"),
        ("[0.1.0] - 2026-11-17", "[0.1.0] - 2027-01-01"),
        ("[0.1.0]", "[0.1]"),
    ] {
        let log = GOOD.replacen(before, after, 1);
        assert_ne!(log, GOOD);
        assert!(!problems(&log, "0.2.0").is_empty(), "{before:?} → {after:?}");
    }
    assert_eq!(problems(GOOD, "0.3.0"), ["the newest version is not 0.3.0, that of the workspace"]);
}

#[test]
fn dates_are_those_of_the_calendar() {
    for (date, is_one) in
        [("2026-11-17", true), ("2028-02-29", true), ("2026-02-29", false), ("2026-13-01", false), ("2026-1-1", false)]
    {
        assert_eq!(is_date(date), is_one, "{date}");
    }
}
