//! Objects in forms other than a type of their own: lists, dynamic objects, metadata only.

use std::{collections::BTreeMap, marker::PhantomData};

use serde::{Deserialize, Serialize};

use crate::{
    ApiResource, Bookmark, DynamicScope, INITIAL_EVENTS_END, ObjectMeta, Resource, status::null_as_default,
};

/// `apiVersion` and `kind` of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TypeMeta {
    /// `group/version`, or `version` in the core group.
    #[serde(deserialize_with = "null_as_default")]
    pub api_version: String,
    /// The kind.
    #[serde(deserialize_with = "null_as_default")]
    pub kind: String,
}

impl TypeMeta {
    /// The type of objects of this kind.
    pub fn of(resource: &ApiResource) -> Self {
        Self { api_version: resource.api_version().into_owned(), kind: resource.kind.clone().into_owned() }
    }
}

/// Metadata of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListMeta {
    /// The version of the collection: what to start a watch from. Opaque.
    #[serde(deserialize_with = "null_as_default")]
    pub resource_version: String,
    /// The token that the next page is asked for with; empty on the last page.
    #[serde(
        rename = "continue",
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub continue_token: String,
    /// How many objects are left after this page, where the server knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_item_count: Option<i64>,
}

/// A page of a list. Decodes what servers are known to leave out: absent or null items and metadata, an absent kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, bound(deserialize = "K: Deserialize<'de>"))]
pub struct ObjectList<K> {
    /// The list's own type.
    #[serde(flatten)]
    pub types: TypeMeta,
    /// Version and continue token.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: ListMeta,
    /// The objects.
    #[serde(deserialize_with = "null_as_default")]
    pub items: Vec<K>,
}

impl<K> Default for ObjectList<K> {
    fn default() -> Self {
        Self { types: TypeMeta::default(), metadata: ListMeta::default(), items: Vec::new() }
    }
}

impl<K> IntoIterator for ObjectList<K> {
    type Item = K;
    type IntoIter = std::vec::IntoIter<K>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

/// An object of any kind: metadata typed, the rest as JSON.
///
/// ```
/// use kube_core::{ApiResource, DynamicObject, ResourceExt};
///
/// let certificates = ApiResource::new("cert.example.dev", "v1", "Certificate", "certificates", true);
/// let mut object = DynamicObject::new("web", &certificates);
/// object.data["spec"] = serde_json::json!({ "hosts": ["example.test"] });
/// assert_eq!(object.name(), "web");
/// assert_eq!(serde_json::to_value(&object)?["kind"], "Certificate");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DynamicObject {
    /// `apiVersion` and `kind`; empty in list items, where the server leaves them out.
    #[serde(flatten)]
    pub types: TypeMeta,
    /// The metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// Everything else.
    #[serde(flatten)]
    pub data: serde_json::Value,
}

impl DynamicObject {
    /// An object of this kind, with a name and nothing else.
    pub fn new(name: impl Into<String>, resource: &ApiResource) -> Self {
        Self {
            types: TypeMeta::of(resource),
            metadata: ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() },
            data: serde_json::Value::Object(serde_json::Map::new()),
        }
    }

    /// The same object in a namespace.
    #[must_use]
    pub fn within(mut self, namespace: impl Into<String>) -> Self {
        self.metadata.namespace = Some(namespace.into());
        self
    }
}

impl Resource for DynamicObject {
    type Dynamic = ApiResource;
    type Scope = DynamicScope;

    fn api_resource(dynamic: &ApiResource) -> ApiResource {
        dynamic.clone()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// The metadata of an object of kind `K`, and nothing else: what the server sends when asked for metadata only
/// (`meta.k8s.io/v1`, `PartialObjectMetadata`).
///
/// It does not serialise: the server takes no such object, so a client's `create` of one shall not compile. Change metadata
/// by a patch.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(bound = "")]
pub struct PartialObjectMeta<K> {
    /// `meta.k8s.io/v1`, `PartialObjectMetadata`: the type of the representation, not of the object.
    #[serde(flatten, default)]
    pub types: TypeMeta,
    /// The metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    #[serde(skip)]
    kind: PhantomData<fn() -> K>,
}

impl<K: Resource> Resource for PartialObjectMeta<K> {
    type Dynamic = K::Dynamic;
    type Scope = K::Scope;

    fn api_resource(dynamic: &K::Dynamic) -> ApiResource {
        K::api_resource(dynamic)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// What a bookmark carries: the kind's type with nothing but a version and perhaps an annotation.
#[derive(Deserialize)]
pub(crate) struct BookmarkObject {
    metadata: BookmarkMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMeta {
    resource_version: String,
    #[serde(default, deserialize_with = "null_as_default")]
    annotations: BTreeMap<String, String>,
}

impl From<BookmarkObject> for Bookmark {
    fn from(object: BookmarkObject) -> Self {
        let end = object.metadata.annotations.get(INITIAL_EVENTS_END).is_some_and(|value| value == "true");
        Self { resource_version: object.metadata.resource_version, initial_events_end: end }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};

    use super::*;
    use crate::ResourceExt;

    #[test]
    fn lists_with_gaps_decode_to_empty_ones() {
        for body in [
            r#"{"kind":"WidgetList","apiVersion":"demo.test/v1"}"#,
            r#"{"kind":"WidgetList","apiVersion":"demo.test/v1","items":null,"metadata":null}"#,
            r#"{"items":[]}"#,
            "{}",
        ] {
            let list: ObjectList<DynamicObject> = serde_json::from_str(body).unwrap();
            assert!(list.items.is_empty() && list.metadata == ListMeta::default(), "{body}");
        }
    }

    #[test]
    fn a_null_array_inside_a_typed_item_is_empty() {
        let body = r#"{"items":[{"metadata":{"name":"a"},"spec":{"containers":null}}]}"#;
        let list: ObjectList<Pod> = serde_json::from_str(body).unwrap();
        assert!(list.items[0].spec.as_ref().unwrap().containers.is_empty());
    }

    #[test]
    fn a_dynamic_object_keeps_what_it_does_not_know() {
        let text = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"},"odd":[1,null]}"#;
        let object: DynamicObject = serde_json::from_str(text).unwrap();
        assert_eq!(object.name(), "a");
        let again = serde_json::to_value(&object).unwrap();
        assert_eq!(again, serde_json::from_str::<serde_json::Value>(text).unwrap());
    }

    #[test]
    fn metadata_only_reads_as_its_kind() {
        let object: PartialObjectMeta<ConfigMap> = serde_json::from_str(
            r#"{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"a"},"data":{"k":"v"}}"#,
        )
        .unwrap();
        assert_eq!(object.name(), "a");
        assert_eq!(PartialObjectMeta::<ConfigMap>::api_resource(&()).plural, "configmaps");
    }
}
