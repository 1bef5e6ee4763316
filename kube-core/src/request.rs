//! Requests as values: one builder for each verb, on one [`Endpoint`].
//!
//! In: a kind, a namespace, a name, parameters, a body. Out: an [`http::Request`] with a relative URI, or a
//! [`RequestError`] for what would not mean what it says. The rule that holds everywhere: a name is one path segment.
//! An empty name would address the collection (and delete it), `..` another kind, and a slash something below the object,
//! so all of them are refused here, before anything is sent. Escaping a slash is no way out: the server decodes the path
//! before it splits it, so that `a%2Fstatus` is the status of `a`. Does not send, retry or add credentials.

mod body;

use std::{borrow::Cow, fmt::Write as _};

use http::{Method, Request, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use crate::{
    ApiResource, DeleteParams, FieldValidation, GetParams, ListParams, Patch, PatchParams,
    ResourceVersionMatch, WatchParams, WriteParams,
};

/// What is not escaped in a path segment: the unreserved characters (RFC 3986, 2.3).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

const JSON: &str = "application/json";

/// A request that would not mean what it says. Nothing was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The name is empty: the request would address the whole collection.
    #[error("{verb} {resource}: the name is empty; give the object's metadata.name")]
    EmptyName {
        /// The verb.
        verb: &'static str,
        /// The kind.
        resource: Box<ApiResource>,
    },
    /// The name is `.` or `..`, or has a slash or a percent sign, which no object's name has (API conventions, "Names and
    /// IDs"): the request would address something else.
    #[error("{verb} {resource}: {name:?} cannot be the name of an object")]
    BadName {
        /// The verb.
        verb: &'static str,
        /// The kind.
        resource: Box<ApiResource>,
        /// The name.
        name: String,
    },
    /// The namespace is empty, or cannot be the name of one.
    #[error(
        "{resource}: {namespace:?} cannot be the name of a namespace; leave it out to mean all namespaces"
    )]
    BadNamespace {
        /// The kind.
        resource: Box<ApiResource>,
        /// The namespace.
        namespace: String,
    },
    /// A part of the kind's place in the API, or the name of a subresource, cannot be one: it is empty, `.` or `..`, or has
    /// a slash or a percent sign. The request would address something else.
    #[error("{value:?} cannot be the {part} of a kind in the API")]
    BadPart {
        /// `group`, `version`, `plural` or `subresource`.
        part: &'static str,
        /// What it is.
        value: String,
    },
    /// The kind is cluster-scoped and a namespace was given.
    #[error("{resource} is cluster-scoped: it has no namespace {namespace:?}")]
    ClusterScoped {
        /// The kind.
        resource: Box<ApiResource>,
        /// The namespace.
        namespace: String,
    },
    /// The verb needs one object, or a place for it, and the endpoint means all namespaces.
    #[error("{verb} {resource}: objects of this kind live in a namespace; name it")]
    NoNamespace {
        /// The verb.
        verb: &'static str,
        /// The kind.
        resource: Box<ApiResource>,
    },
    /// The verb does not fit the endpoint: a collection verb on a subresource, or the other way round.
    #[error("{verb} {resource}: not for {place}")]
    WrongPlace {
        /// The verb.
        verb: &'static str,
        /// The kind.
        resource: Box<ApiResource>,
        /// Where it was tried.
        place: &'static str,
    },
    /// `force` was asked for with a patch that is no server-side apply; the server would answer 422.
    #[error("patch {resource}: force is for server-side apply only")]
    ForceWithoutApply {
        /// The kind.
        resource: Box<ApiResource>,
    },
    /// A server-side apply without a field manager.
    #[error(
        "apply {resource}: server-side apply needs a field manager, the name under which your program writes"
    )]
    ApplyWithoutManager {
        /// The kind.
        resource: Box<ApiResource>,
    },
    /// The body of a JSON patch is not a list, that of another patch not an object.
    #[error("patch {resource}: the body of a {media_type} patch must be {expected}")]
    PatchShape {
        /// The kind.
        resource: Box<ApiResource>,
        /// The patch's media type.
        media_type: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// The body does not serialise.
    #[error("{verb} {resource}: the body does not serialise")]
    Serialize {
        /// The verb.
        verb: &'static str,
        /// The kind.
        resource: Box<ApiResource>,
        /// Why.
        source: serde_json::Error,
    },
    /// The parts do not make an HTTP request.
    #[error("{verb} {resource}: not a valid HTTP request")]
    Http {
        /// The verb.
        verb: &'static str,
        /// The kind.
        resource: Box<ApiResource>,
        /// Why.
        source: http::Error,
    },
}

/// A collection of the API, or a subresource of its objects, to which requests are addressed.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kube_core::{ApiResource, Endpoint, Patch, PatchParams};
///
/// let deployments = Endpoint::new(&ApiResource::of::<Deployment>(), Some("shop"))?;
/// let request = deployments.subresource("status").patch(
///     "web",
///     &Patch::Merge(serde_json::json!({ "status": { "replicas": 1 } })),
///     &PatchParams::default(),
/// )?;
/// assert_eq!(request.uri(), "/apis/apps/v1/namespaces/shop/deployments/web/status");
/// # Ok::<(), kube_core::RequestError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Endpoint {
    resource: ApiResource,
    /// Path of the collection, escaped.
    path: String,
    /// The kind is namespaced and the endpoint means all namespaces.
    everywhere: bool,
    subresource: Option<Cow<'static, str>>,
    metadata_only: bool,
}

impl Endpoint {
    /// The objects of a kind in a namespace, or in all of them (`None`), or in the cluster for cluster-scoped kinds.
    ///
    /// # Errors
    /// A namespace that cannot be one, or one for a cluster-scoped kind; a kind whose group, version or plural cannot be
    /// a part of a path.
    pub fn new(resource: &ApiResource, namespace: Option<&str>) -> Result<Self, RequestError> {
        // The core group has no name.
        let group = if resource.group.is_empty() { "core" } else { &resource.group };
        for (part, value) in [("group", group), ("version", &resource.version), ("plural", &resource.plural)]
        {
            check_part(part, value)?;
        }
        let mut path = String::with_capacity(96);
        if resource.group.is_empty() {
            path.push_str("/api/");
        } else {
            path.push_str("/apis/");
            push_segment(&mut path, &resource.group);
            path.push('/');
        }
        push_segment(&mut path, &resource.version);
        if let Some(namespace) = namespace {
            let owned = || namespace.to_owned();
            if !resource.namespaced {
                return Err(RequestError::ClusterScoped {
                    resource: Box::new(resource.clone()),
                    namespace: owned(),
                });
            }
            if !is_segment(namespace) {
                return Err(RequestError::BadNamespace {
                    resource: Box::new(resource.clone()),
                    namespace: owned(),
                });
            }
            path.push_str("/namespaces/");
            push_segment(&mut path, namespace);
        }
        path.push('/');
        push_segment(&mut path, &resource.plural);
        Ok(Self {
            everywhere: resource.namespaced && namespace.is_none(),
            resource: resource.clone(),
            path,
            subresource: None,
            metadata_only: false,
        })
    }

    /// A subresource of the objects: `status`, `scale`, `eviction`, ... A name that cannot be one is an error of the verb.
    #[must_use]
    pub fn subresource(&self, name: impl Into<Cow<'static, str>>) -> Self {
        Self { subresource: Some(name.into()), ..self.clone() }
    }

    /// The same objects, of which get, list and watch bring the metadata only ([`crate::PartialObjectMeta`]).
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.metadata_only = true;
        self
    }

    /// The kind.
    pub fn resource(&self) -> &ApiResource {
        &self.resource
    }

    /// The path of the collection.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Lists a page.
    pub fn list(&self, params: &ListParams) -> Result<Request<Vec<u8>>, RequestError> {
        let target = Query::list(params).after(self.collection("list")?);
        self.build("list", Method::GET, target, self.accept("PartialObjectMetadataList"), None, Vec::new())
    }

    /// Watches from a resource version; an empty one means "from the most recent state", `0` "from any state" (API
    /// concepts, "Semantics for watch"); both begin with the present objects as added. Asks for an uncompressed stream: a compressed one is held back in blocks.
    pub fn watch(
        &self,
        params: &WatchParams,
        resource_version: &str,
    ) -> Result<Request<Vec<u8>>, RequestError> {
        let mut query = Query::default();
        query.text("watch", Some("true"));
        query.selectors(params.label_selector.as_deref(), params.field_selector.as_deref());
        query.text("resourceVersion", Some(resource_version).filter(|version| !version.is_empty()));
        query.display("timeoutSeconds", params.timeout_seconds);
        // Without bookmarks the end of the initial events would not be told, and waited for without end.
        let bookmarks = params.bookmarks || params.send_initial_events;
        query.text("allowWatchBookmarks", bookmarks.then_some("true"));
        if params.send_initial_events {
            query.text("sendInitialEvents", Some("true"));
            query.text("resourceVersionMatch", Some("NotOlderThan"));
        }
        let target = query.after(self.collection("watch")?);
        let mut request =
            self.build("watch", Method::GET, target, self.accept("PartialObjectMetadata"), None, Vec::new())?;
        request.headers_mut().insert(header::ACCEPT_ENCODING, header::HeaderValue::from_static("identity"));
        Ok(request)
    }

    /// Gets one object, or a subresource of it.
    pub fn get(&self, name: &str, params: &GetParams) -> Result<Request<Vec<u8>>, RequestError> {
        let mut query = Query::default();
        query.text("resourceVersion", params.resource_version.as_deref());
        let target = query.after(self.object("get", name)?);
        self.build("get", Method::GET, target, self.accept("PartialObjectMetadata"), None, Vec::new())
    }

    /// The JSON of an object, with the kind's `apiVersion` and `kind` where it has none: types without these fields, and
    /// items of a list. For the body of [`Endpoint::create`] and [`Endpoint::replace`]; `verb` is for the error.
    ///
    /// # Errors
    /// One that does not serialise, or not to an object.
    pub fn body<T: Serialize>(&self, verb: &'static str, object: &T) -> Result<Vec<u8>, RequestError> {
        let serialize = |source| RequestError::Serialize { verb, resource: self.boxed(), source };
        body::typed(&self.resource, object).map_err(serialize)
    }

    /// Creates an object from its JSON ([`Endpoint::body`]).
    pub fn create(&self, body: Vec<u8>, params: &WriteParams) -> Result<Request<Vec<u8>>, RequestError> {
        let collection = self.collection("create")?;
        if self.everywhere {
            return Err(RequestError::NoNamespace { verb: "create", resource: self.boxed() });
        }
        let target = Query::write(params).after(collection);
        self.build("create", Method::POST, target, JSON, Some(JSON), body)
    }

    /// Posts to a subresource of an object: an eviction, a binding, a token request.
    pub fn create_subresource(
        &self,
        name: &str,
        body: Vec<u8>,
        params: &WriteParams,
    ) -> Result<Request<Vec<u8>>, RequestError> {
        const VERB: &str = "create";
        if self.subresource.is_none() {
            let resource = self.boxed();
            return Err(RequestError::WrongPlace {
                verb: VERB,
                resource,
                place: "an object without a subresource",
            });
        }
        let target = Query::write(params).after(self.object(VERB, name)?);
        self.build(VERB, Method::POST, target, JSON, Some(JSON), body)
    }

    /// Replaces an object, or a subresource of it, from its JSON ([`Endpoint::body`]). With the resource version inside, only if it is
    /// still current.
    pub fn replace(
        &self,
        name: &str,
        body: Vec<u8>,
        params: &WriteParams,
    ) -> Result<Request<Vec<u8>>, RequestError> {
        let target = Query::write(params).after(self.object("replace", name)?);
        self.build("replace", Method::PUT, target, JSON, Some(JSON), body)
    }

    /// Patches an object, or a subresource of it. An apply patch gets the kind's `apiVersion` and `kind` where it has
    /// none, and loses `metadata.managedFields`, as the server wants it.
    ///
    /// # Errors
    /// Apply without a field manager; force without apply; a body of the wrong shape; and as [`Endpoint::get`].
    pub fn patch<T: Serialize>(
        &self,
        name: &str,
        patch: &Patch<T>,
        params: &PatchParams,
    ) -> Result<Request<Vec<u8>>, RequestError> {
        let target = self.object("patch", name)?;
        let resource = || self.boxed();
        let apply = matches!(patch, Patch::Apply(_));
        if apply && params.write.field_manager.as_deref().unwrap_or_default().is_empty() {
            return Err(RequestError::ApplyWithoutManager { resource: resource() });
        }
        if params.force && !apply {
            return Err(RequestError::ForceWithoutApply { resource: resource() });
        }
        let serialize = |source| RequestError::Serialize { verb: "patch", resource: resource(), source };
        let (body, expected) = match patch {
            Patch::Apply(object) => {
                (body::applied(&self.resource, object).map_err(serialize)?, ("an object", b'{'))
            }
            Patch::Json(operations) => {
                (serde_json::to_vec(operations).map_err(serialize)?, ("a list of operations", b'['))
            }
            Patch::Merge(object) | Patch::Strategic(object) => {
                (serde_json::to_vec(object).map_err(serialize)?, ("an object", b'{'))
            }
        };
        if body.first() != Some(&expected.1) {
            let media_type = patch.media_type();
            return Err(RequestError::PatchShape { resource: resource(), media_type, expected: expected.0 });
        }
        let mut query = Query::write(&params.write);
        query.text("force", params.force.then_some("true"));
        self.build("patch", Method::PATCH, query.after(target), JSON, Some(patch.media_type()), body)
    }

    /// Deletes one object.
    pub fn delete(&self, name: &str, params: &DeleteParams) -> Result<Request<Vec<u8>>, RequestError> {
        let target = self.object("delete", name)?;
        self.build("delete", Method::DELETE, target, JSON, Some(JSON), self.delete_options(params)?)
    }

    /// Deletes every object of the collection that the list parameters select.
    pub fn delete_collection(
        &self,
        params: &DeleteParams,
        list: &ListParams,
    ) -> Result<Request<Vec<u8>>, RequestError> {
        const VERB: &str = "delete collection of";
        let collection = self.collection(VERB)?;
        if self.everywhere {
            return Err(RequestError::NoNamespace { verb: VERB, resource: self.boxed() });
        }
        self.build(
            VERB,
            Method::DELETE,
            Query::list(list).after(collection),
            JSON,
            Some(JSON),
            self.delete_options(params)?,
        )
    }

    /// The kind, for an error. Boxed, so that a `Result` of a request stays small.
    fn boxed(&self) -> Box<ApiResource> {
        Box::new(self.resource.clone())
    }

    fn delete_options(&self, params: &DeleteParams) -> Result<Vec<u8>, RequestError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct DeleteOptions<'a> {
            kind: &'static str,
            api_version: &'static str,
            #[serde(flatten)]
            params: &'a DeleteParams,
        }
        let options = DeleteOptions { kind: "DeleteOptions", api_version: "v1", params };
        serde_json::to_vec(&options).map_err(|source| RequestError::Serialize {
            verb: "delete",
            resource: self.boxed(),
            source,
        })
    }

    fn collection(&self, verb: &'static str) -> Result<String, RequestError> {
        if self.subresource.is_some() {
            return Err(RequestError::WrongPlace { verb, resource: self.boxed(), place: "a subresource" });
        }
        Ok(self.path.clone())
    }

    fn object(&self, verb: &'static str, name: &str) -> Result<String, RequestError> {
        if name.is_empty() {
            return Err(RequestError::EmptyName { verb, resource: self.boxed() });
        }
        if !is_segment(name) {
            return Err(RequestError::BadName { verb, resource: self.boxed(), name: name.to_owned() });
        }
        if self.everywhere {
            return Err(RequestError::NoNamespace { verb, resource: self.boxed() });
        }
        let mut path = self.path.clone();
        path.push('/');
        push_segment(&mut path, name);
        if let Some(subresource) = &self.subresource {
            check_part("subresource", subresource)?;
            path.push('/');
            push_segment(&mut path, subresource);
        }
        Ok(path)
    }

    fn accept(&self, representation: &'static str) -> &'static str {
        match (self.metadata_only, representation) {
            (false, _) => JSON,
            (true, "PartialObjectMetadataList") => {
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
            }
            (true, _) => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        }
    }

    fn build(
        &self,
        verb: &'static str,
        method: Method,
        target: String,
        accept: &'static str,
        content_type: Option<&'static str>,
        body: Vec<u8>,
    ) -> Result<Request<Vec<u8>>, RequestError> {
        let mut request = Request::builder().method(method).uri(target).header(header::ACCEPT, accept);
        if let Some(content_type) = content_type {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        request.body(body).map_err(|source| RequestError::Http { verb, resource: self.boxed(), source })
    }
}

/// Whether the server, which decodes a path and then splits it, and any proxy before it, which may tidy it up, see one
/// segment in it.
fn is_segment(text: &str) -> bool {
    !matches!(text, "" | "." | "..") && !text.contains(['/', '%'])
}

fn check_part(part: &'static str, value: &str) -> Result<(), RequestError> {
    if is_segment(value) { Ok(()) } else { Err(RequestError::BadPart { part, value: value.to_owned() }) }
}

fn push_segment(path: &mut String, segment: &str) {
    // Writing into a String cannot fail.
    let _ = write!(path, "{}", utf8_percent_encode(segment, SEGMENT));
}

/// A query string in the making; absent values add nothing.
#[derive(Default)]
struct Query(Option<form_urlencoded::Serializer<'static, String>>);

impl Query {
    fn write(params: &WriteParams) -> Self {
        let mut query = Self::default();
        query.text("dryRun", params.dry_run.then_some("All"));
        query.text("fieldManager", params.field_manager.as_deref());
        query.text("fieldValidation", params.field_validation.map(FieldValidation::as_str));
        query
    }

    fn list(params: &ListParams) -> Self {
        let mut query = Self::default();
        query.selectors(params.label_selector.as_deref(), params.field_selector.as_deref());
        query.display("limit", params.limit);
        query.text("continue", params.continue_token.as_deref());
        query.text("resourceVersion", params.resource_version.as_deref());
        query.text("resourceVersionMatch", params.resource_version_match.map(ResourceVersionMatch::as_str));
        query.display("timeoutSeconds", params.timeout_seconds);
        query
    }

    fn text(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.0
                .get_or_insert_with(|| form_urlencoded::Serializer::new(String::new()))
                .append_pair(key, value);
        }
    }

    fn display(&mut self, key: &str, value: Option<u32>) {
        self.text(key, value.map(|value| value.to_string()).as_deref());
    }

    fn selectors(&mut self, labels: Option<&str>, fields: Option<&str>) {
        self.text("labelSelector", labels);
        self.text("fieldSelector", fields);
    }

    fn after(self, mut path: String) -> String {
        if let Some(mut serializer) = self.0 {
            path.push('?');
            path.push_str(&serializer.finish());
        }
        path
    }
}

#[cfg(test)]
mod tests;
