//! The status of a definition: which names it got, and whether it is served.
//!
//! Names are given to the first that asks, within a group. A definition whose names are taken is stored and not served.

use serde_json::{Map, Value, json};

use crate::embedded::errors::quoted;

/// Decides on names and sets `acceptedNames` and the conditions `NamesAccepted` and `Established`. `others` are the other
/// definitions, `now` the time in RFC 3339 for conditions that change.
pub(in crate::embedded) fn accept_names(definition: &mut Value, others: &[Value], now: &str) {
    let group = definition["spec"]["group"].clone();
    let others: Vec<_> = others
        .iter()
        .filter(|other| {
            other["spec"]["group"] == group && other["metadata"]["name"] != definition["metadata"]["name"]
        })
        .map(|other| other["status"]["acceptedNames"].clone())
        .collect();
    let requested = definition["spec"]["names"].clone();
    let mut accepted = definition["status"]["acceptedNames"].as_object().cloned().unwrap_or_default();
    let trouble = grant(&requested, &mut accepted, &others);
    for key in ["plural", "kind"] {
        accepted.entry(key).or_insert_with(|| json!(""));
    }
    definition["status"]["acceptedNames"] = Value::Object(accepted);
    let established = condition(definition, "Established").is_some_and(|found| found["status"] == "True");
    if let Some((reason, message)) = trouble {
        set_condition(definition, ["NamesAccepted", "False", reason, &message], now);
        if !established {
            let no = ["Established", "False", "NotAccepted", "not all names are accepted"];
            set_condition(definition, no, now);
        }
        return;
    }
    set_condition(definition, ["NamesAccepted", "True", "NoConflicts", "no conflicts found"], now);
    if !established {
        let yes = ["Established", "True", "InitialNamesAccepted", "the initial names have been accepted"];
        set_condition(definition, yes, now);
    }
}

/// Moves the names that are free to the accepted ones. Returns reason and message of the last that is not.
fn grant(
    requested: &Value,
    accepted: &mut Map<String, Value>,
    others: &[Value],
) -> Option<(&'static str, String)> {
    let short_names = |names: &Value| names["shortNames"].as_array().cloned().unwrap_or_default();
    let resources: Vec<Value> = others
        .iter()
        .flat_map(|names| {
            let mut all = vec![names["plural"].clone(), names["singular"].clone()];
            all.extend(short_names(names));
            all
        })
        .collect();
    let kinds: Vec<Value> =
        others.iter().flat_map(|names| [names["kind"].clone(), names["listKind"].clone()]).collect();
    let in_use = |name: &Value| format!("{} is already in use", quoted(name.as_str().unwrap_or_default()));
    let mut trouble = None;
    for (key, reason, taken) in [
        ("plural", "PluralConflict", &resources),
        ("singular", "SingularConflict", &resources),
        ("shortNames", "ShortNamesConflict", &resources),
        ("kind", "KindConflict", &kinds),
        ("listKind", "ListKindConflict", &kinds),
    ] {
        let Some(name) = requested.get(key) else {
            accepted.remove(key);
            continue;
        };
        let wanted = if key == "shortNames" { short_names(requested) } else { vec![name.clone()] };
        let clashes: Vec<_> = wanted.iter().filter(|name| taken.contains(name)).map(in_use).collect();
        match clashes.as_slice() {
            [] => {
                accepted.insert(key.to_owned(), name.clone());
            }
            [one] => trouble = Some((reason, one.clone())),
            several => trouble = Some((reason, format!("[{}]", several.join(", ")))),
        }
    }
    match requested.get("categories") {
        Some(categories) => accepted.insert("categories".into(), categories.clone()),
        None => accepted.remove("categories"),
    };
    trouble
}

fn condition<'a>(definition: &'a Value, kind: &str) -> Option<&'a Value> {
    definition["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

/// Sets a condition: type, status, reason, message. The time stays if the status does.
fn set_condition(definition: &mut Value, [kind, status, reason, message]: [&str; 4], now: &str) {
    let since = condition(definition, kind)
        .filter(|found| found["status"] == status)
        .map_or_else(|| json!(now), |found| found["lastTransitionTime"].clone());
    let new = json!({
        "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since,
    });
    let conditions = &mut definition["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Value::Array(conditions) = conditions else { return };
    match conditions.iter_mut().find(|condition| condition["type"] == kind) {
        Some(found) => *found = new,
        None => conditions.push(new),
    }
}
