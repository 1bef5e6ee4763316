//! The default plural of a kind. The rules are part of the crate's documentation: changing one renames people's resources.

/// Words in `-o` whose plural takes no `e`.
const PLAIN_O: [&str; 7] = ["demo", "logo", "macro", "memo", "photo", "proto", "repo"];

/// The plural name of a kind, in lower case.
pub(crate) fn plural(kind: &str) -> String {
    let singular = kind.to_lowercase();
    let ends = |ends: &[&str]| ends.iter().any(|end| singular.ends_with(end));
    let after_vowel = singular.chars().rev().nth(1).is_none_or(|before| "aeiou".contains(before));
    if let Some(stem) = singular.strip_suffix("sis") {
        return format!("{stem}ses");
    }
    if ends(&["s", "x", "z", "ch", "sh"]) {
        return format!("{singular}es");
    }
    match singular.strip_suffix('y') {
        Some(stem) if !after_vowel => return format!("{stem}ies"),
        _ => {}
    }
    if singular.ends_with('o') && !after_vowel && !ends(&PLAIN_O) {
        return format!("{singular}es");
    }
    format!("{singular}s")
}

#[cfg(test)]
mod tests {
    use super::plural;

    #[test]
    fn each_rule_has_its_words() {
        let rows = [
            ("Website", "websites"),
            ("FieldProbe", "fieldprobes"),
            ("Policy", "policies"),
            ("NetworkPolicy", "networkpolicies"),
            ("Gateway", "gateways"),
            ("Key", "keys"),
            ("Bus", "buses"),
            ("Ingress", "ingresses"),
            ("Index", "indexes"),
            ("Box", "boxes"),
            ("Batch", "batches"),
            ("Mesh", "meshes"),
            ("Analysis", "analyses"),
            ("Potato", "potatoes"),
            ("Hero", "heroes"),
            ("Studio", "studios"),
            ("GitRepo", "gitrepos"),
            ("IPPool", "ippools"),
            ("Y", "ys"),
        ];
        for (kind, expected) in rows {
            assert_eq!(plural(kind), expected);
        }
    }
}
