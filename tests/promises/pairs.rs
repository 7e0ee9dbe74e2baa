//! Few combinations of values which together have every pair.

use std::collections::BTreeSet;

/// A dimension and one of its values.
type Choice = (usize, usize);

/// Combinations of one value of each dimension, such that each pair of values that go together is in one of them.
/// `sizes` are the numbers of values.
pub(crate) fn cover(sizes: &[usize], go_together: impl Fn(Choice, Choice) -> bool) -> Vec<Vec<usize>> {
    let choices = |dimension: usize| (0..sizes[dimension]).map(move |value| (dimension, value));
    let pairs = |one| (one + 1..sizes.len()).map(move |two| (one, two));
    let mut left: BTreeSet<(Choice, Choice)> = (0..sizes.len())
        .flat_map(pairs)
        .flat_map(|(one, two)| choices(one).flat_map(move |one| choices(two).map(move |two| (one, two))))
        .filter(|(one, two)| go_together(*one, *two))
        .collect();
    let mut found = Vec::new();
    while let Some((one, two)) = left.first().copied() {
        let mut chosen = vec![one, two];
        for (dimension, size) in sizes.iter().enumerate() {
            if chosen.iter().any(|(known, _)| *known == dimension) {
                continue;
            }
            let new = |choice: Choice| chosen.iter().filter(|known| left.contains(&ordered(**known, choice))).count();
            let fits = |choice: &Choice| chosen.iter().all(|known| go_together(*known, *choice));
            // Of equally good values, another one each time, so that triples differ.
            let turn = |(_, value): Choice| (value + (found.len() >> (dimension % 5))) % size;
            let best = choices(dimension).filter(fits).max_by_key(|choice| (new(*choice), turn(*choice)));
            chosen.push(best.unwrap_or_else(|| panic!("nothing goes with {chosen:?} in dimension {dimension}")));
        }
        chosen.sort_unstable();
        left.retain(|(one, two)| !(chosen.contains(one) && chosen.contains(two)));
        found.push(chosen.into_iter().map(|(_, value)| value).collect());
    }
    found
}

fn ordered(one: Choice, two: Choice) -> (Choice, Choice) {
    if one < two { (one, two) } else { (two, one) }
}

#[test]
fn each_pair_that_goes_together_is_covered_and_no_other() {
    let sizes = [5, 4, 3, 2, 2];
    let go_together = |one: Choice, two: Choice| ordered(one, two) != ((0, 1), (2, 2));
    let found = cover(&sizes, go_together);
    let has = |one: Choice, two: Choice| found.iter().any(|cell| cell[one.0] == one.1 && cell[two.0] == two.1);
    for (one, two) in (0..sizes.len()).flat_map(|one| (0..one).map(move |two| (two, one))) {
        for (first, second) in (0..sizes[one]).flat_map(|first| (0..sizes[two]).map(move |second| (first, second))) {
            let (one, two) = ((one, first), (two, second));
            assert_eq!(has(one, two), go_together(one, two), "{one:?} {two:?}");
        }
    }
    assert!(found.len() <= 30, "few of 240: {}", found.len());
}
