//! Objects of custom kinds as rows of a table, for people's eyes.
//!
//! In: the columns of a definition and objects. Out: a `Table` (meta.k8s.io/v1), as `kubectl get` asks for. Ages are texts as of now.
//! Built-in kinds have cells that follow from more than a path; they are not here yet, and are answered as plain objects,
//! which clients that ask for a table take as well.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::crd::Column;

const SECONDS: [(&str, i64); 4] = [("y", 365 * 86_400), ("d", 86_400), ("h", 3_600), ("m", 60)];

/// A table with a row for each object. `metadata` is that of the list, or of the one object.
pub(super) fn of(columns: &[Column], metadata: &Value, objects: &[Value], now: Timestamp) -> Value {
    let name =
        json!({ "name": "Name", "type": "string", "format": "name", "description": "", "priority": 0 });
    let definition = |column: &Column| {
        let description = match column.description.as_str() {
            "" => format!("Custom resource definition column (in JSONPath format): {}", column.path),
            own => own.to_owned(),
        };
        json!({
            "name": column.name, "type": column.kind, "format": column.format,
            "description": description, "priority": column.priority
        })
    };
    let definitions: Vec<Value> = [name].into_iter().chain(columns.iter().map(definition)).collect();
    let row = |object: &Value| {
        let own = columns.iter().map(|column| cell(column, object, now));
        let cells: Vec<Value> = [object["metadata"]["name"].clone()].into_iter().chain(own).collect();
        let partial = json!({
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]
        });
        json!({ "cells": cells, "object": partial })
    };
    let rows: Vec<Value> = objects.iter().map(row).collect();
    let mut of_list = json!({});
    for field in ["resourceVersion", "continue", "remainingItemCount"] {
        if let Some(value) = metadata.get(field) {
            of_list[field] = value.clone();
        }
    }
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": of_list,
        "columnDefinitions": definitions, "rows": rows
    })
}

/// What a column shows of an object; null if there is no such thing in it.
fn cell(column: &Column, object: &Value, now: Timestamp) -> Value {
    let found = find(object, &column.path);
    let Some(first) = found.first() else { return Value::Null };
    match column.kind.as_str() {
        "integer" => first.as_i64().map_or(Value::Null, Value::from),
        "number" => first.as_f64().map_or(Value::Null, Value::from),
        "boolean" => first.as_bool().map_or(Value::Null, Value::from),
        "date" => match first.as_str().map(str::parse::<Timestamp>) {
            Some(Ok(then)) => age(now.as_second() - then.as_second()).into(),
            Some(Err(_)) => "<invalid>".into(),
            None => Value::Null,
        },
        _ => {
            let text = |value: &&Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            found.iter().map(text).collect::<Vec<_>>().join(" ").into()
        }
    }
}

/// The values at a path: names, places, `[*]`, and lists filtered by the text of a field (`[?(@.type=="Ready")]`).
fn find<'a>(object: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = vec![object];
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let Some((step, after)) = inside.split_once(']') else { return Vec::new() };
            found = found.into_iter().flat_map(|value| bracket(value, step)).collect();
            rest = after;
        } else {
            let name = rest.strip_prefix('.').unwrap_or(rest);
            let end = name.find(['.', '[']).unwrap_or(name.len());
            found = found.into_iter().filter_map(|value| value.get(&name[..end])).collect();
            rest = &name[end..];
        }
    }
    found.retain(|value| !value.is_null());
    found
}

fn bracket<'a>(value: &'a Value, step: &str) -> Vec<&'a Value> {
    let unquoted = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
    if step == "*" {
        let values = value.as_object().into_iter().flat_map(serde_json::Map::values);
        return list.iter().chain(values).collect();
    }
    if let Some(filter) = step.strip_prefix("?(").and_then(|filter| filter.strip_suffix(')')) {
        let Some((field, wanted)) = filter.split_once("==") else { return Vec::new() };
        let (field, wanted) = (field.trim().trim_start_matches('@'), unquoted(wanted));
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        return list
            .iter()
            .filter(|item| find(item, field).iter().any(|value| text(value) == wanted))
            .collect();
    }
    match step.parse::<usize>() {
        Ok(place) => list.get(place).into_iter().collect(),
        Err(_) => value.get(unquoted(step)).into_iter().collect(),
    }
}

/// A time span as people say it: two units while the second one matters.
fn age(seconds: i64) -> String {
    let unit = |text: &str| SECONDS.iter().find(|(name, _)| *name == text).map_or(1, |(_, length)| *length);
    let two = |first: &str, second: &str| {
        let (whole, rest) = (seconds / unit(first), seconds % unit(first) / unit(second));
        if rest == 0 { format!("{whole}{first}") } else { format!("{whole}{first}{rest}{second}") }
    };
    let one = |name: &str| format!("{}{name}", seconds / unit(name));
    let (minute, hour, day, year) = (unit("m"), unit("h"), unit("d"), unit("y"));
    match seconds {
        ..-1 => "<invalid>".into(),
        -1..0 => "0s".into(),
        _ if seconds < 2 * minute => format!("{seconds}s"),
        _ if seconds < 10 * minute => two("m", "s"),
        _ if seconds < 3 * hour => one("m"),
        _ if seconds < 8 * hour => two("h", "m"),
        _ if seconds < 2 * day => one("h"),
        _ if seconds < 8 * day => two("d", "h"),
        _ if seconds < 2 * year => one("d"),
        _ if seconds < 8 * year => two("y", "d"),
        _ => one("y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_values() {
        let object = json!({
            "spec": { "a": 3, "b.c": "d", "list": ["x", "y"] },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }, { "type": "Other", "status": "False" }] }
        });
        for (path, expected) in [
            (".spec.a", json!([3])),
            (".spec['b.c']", json!(["d"])),
            (".spec.list[1]", json!(["y"])),
            (".spec.list[*]", json!(["x", "y"])),
            (".status.conditions[?(@.type==\"Ready\")].status", json!(["True"])),
            (".status.conditions[?(@.type=='None')].status", json!([])),
            (".spec.none.deeper", json!([])),
        ] {
            assert_eq!(json!(find(&object, path)), expected, "{path}");
        }
    }

    #[test]
    fn ages_are_as_exact_as_people_need_them() {
        for (seconds, expected) in [
            (-5, "<invalid>"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (3_600, "60m"),
            (3 * 3_600 + 60, "3h1m"),
            (30 * 3_600, "30h"),
            (3 * 86_400 + 3_600, "3d1h"),
            (100 * 86_400, "100d"),
            (3 * 365 * 86_400, "3y"),
        ] {
            assert_eq!(age(seconds), expected);
        }
    }
}
