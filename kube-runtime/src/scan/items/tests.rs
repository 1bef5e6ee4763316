use proptest::prelude::*;

use super::*;

fn scan(body: &str, guesses: &[usize]) -> Result<(Vec<Item>, usize), ScanError> {
    whole(Source::new(body.as_bytes()), 1, guesses, ScanOptions::default())
}

/// An item whose inside looks like items.
fn item(i: usize, nested: usize) -> String {
    let templates = vec![r#"{"metadata":{"name":"inner","uid":"\",{\"metadata\":{"}}"#; nested].join(",");
    format!(r#"{{"metadata":{{"name":"o{i}","resourceVersion":"{i}"}},"templates":[{templates}]}}"#)
}

fn array(nested: &[usize]) -> String {
    let items: Vec<_> = nested.iter().enumerate().map(|(i, nested)| item(i, *nested)).collect();
    format!("[{}],", items.join(","))
}

#[test]
fn a_wrong_guess_costs_no_item() {
    let body = array(&[0, 3, 0, 4, 1]);
    let expected = scan(&body, &[]).unwrap();
    let starts: Vec<_> = body.match_indices(r#"{"metadata""#).map(|(at, _)| at).collect();
    let inner: Vec<_> = body.match_indices(r#"{"metadata":{"name":"inner""#).map(|(at, _)| at).collect();
    for guesses in
        [&starts[1..], &inner, &inner[..1], &inner[2..], &starts[2..4], &[3, 4, 5], &[body.len() - 2]]
    {
        assert_eq!(scan(&body, guesses).unwrap(), expected, "{guesses:?}");
    }
}

#[test]
fn broken_json_is_the_pages_fault_wherever_the_guesses_lie() {
    let good = array(&[0, 1, 2, 0]);
    let starts: Vec<_> = good.match_indices(r#"{"metadata":{"name":"o"#).map(|(at, _)| at).collect();
    for at in [starts[0] + 2, starts[2] + 12, starts[3] + 9] {
        let mut broken = good.clone();
        broken.replace_range(at..=at, "\n");
        let expected = scan(&broken, &[]).unwrap_err();
        for guesses in [&starts[1..], &starts[3..], &starts[1..2]] {
            assert_eq!(scan(&broken, guesses).unwrap_err().is_malformed(), expected.is_malformed());
        }
    }
    assert_eq!(scan(&good[..good.len() - 2], &starts[1..]).unwrap_err().what, ScanFault::UnexpectedEnd);
}

#[test]
fn guesses_are_made_for_large_pages_of_like_items_only() {
    let large = array(&vec![3; 2_000]);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        let found = guesses(large.as_bytes(), 1);
        assert!(found.len() > 2, "{found:?}");
        assert!(found.is_sorted());
        assert!(found.iter().all(|at| large[*at..].starts_with(r#"{"metadata""#)));
        assert_eq!(scan(&large, &found).unwrap(), scan(&large, &[]).unwrap());
        assert!(guesses(array(&[3; 20]).as_bytes(), 1).is_empty());
        assert!(guesses(large.replace(",{", ", {").as_bytes(), 1).is_empty());
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_guess_changes_what_is_found(
        nested in prop::collection::vec(0..4_usize, 1..12),
        guesses in prop::collection::btree_set(2..1_500_usize, 0..8),
    ) {
        let body = array(&nested);
        let guesses: Vec<_> = guesses.into_iter().filter(|at| *at < body.len()).collect();
        prop_assert_eq!(scan(&body, &guesses).unwrap(), scan(&body, &[]).unwrap());
    }
}
