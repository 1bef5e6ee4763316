//! The JSON of an object as the server wants it: with its type inside, and for an apply without what only the server
//! writes.

use serde::{Serialize, ser::Error as _};
use serde_json::{Map, Value};

use crate::{ApiResource, TypeMeta};

/// The JSON of an object, with the kind's `apiVersion` and `kind` where it has none.
pub(super) fn typed<T: Serialize>(resource: &ApiResource, object: &T) -> serde_json::Result<Vec<u8>> {
    let body = serde_json::to_vec(object)?;
    let types: TypeMeta = serde_json::from_slice(&body)?;
    if !types.api_version.is_empty() && !types.kind.is_empty() {
        return Ok(body);
    }
    let Value::Object(mut fields) = serde_json::to_value(object)? else {
        return Err(serde_json::Error::custom("it is no JSON object"));
    };
    fill(resource, &mut fields);
    serde_json::to_vec(&fields)
}

/// The same for an apply, which must not have `metadata.managedFields`. What is no object stays what it is.
pub(super) fn applied<T: Serialize>(resource: &ApiResource, object: &T) -> serde_json::Result<Vec<u8>> {
    let mut body = serde_json::to_value(object)?;
    if let Value::Object(fields) = &mut body {
        fill(resource, fields);
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            metadata.remove("managedFields");
        }
    }
    serde_json::to_vec(&body)
}

fn fill(resource: &ApiResource, fields: &mut Map<String, Value>) {
    for (key, text) in [("apiVersion", resource.api_version()), ("kind", resource.kind.clone())] {
        let value = fields.entry(key).or_insert(Value::Null);
        if value.as_str().unwrap_or_default().is_empty() {
            *value = Value::String(text.into_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_gets_the_type_that_it_lacks() {
        let resource = ApiResource::new("apps", "v1", "Deployment", "deployments", true);
        let both = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "a": 1 });
        let rows = [
            (json!({ "a": 1 }), both.clone()),
            (json!({ "a": 1, "apiVersion": "", "kind": null }), both.clone()),
            (json!({ "a": 1, "apiVersion": "apps/v1" }), both.clone()),
            (both.clone(), both.clone()),
            // Another type is the server's to refuse.
            (json!({ "apiVersion": "v1", "kind": "Pod" }), json!({ "apiVersion": "v1", "kind": "Pod" })),
            (
                json!({ "apiVersion": "apps/v1beta1" }),
                json!({ "apiVersion": "apps/v1beta1", "kind": "Deployment" }),
            ),
        ];
        for (object, expected) in rows {
            for make in [typed, applied] {
                let body: Value = serde_json::from_slice(&make(&resource, &object).unwrap()).unwrap();
                assert_eq!(body, expected, "{object}");
            }
        }
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        let resource = ApiResource::new("apps", "v1", "Deployment", "deployments", true);
        for object in [json!([]), json!("x"), json!(null), json!(7)] {
            assert!(typed(&resource, &object).is_err(), "{object}");
        }
    }
}
