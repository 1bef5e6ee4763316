//! Decides what a request is about.
//!
//! In: method, path and query. Out: a [`Route`]: a verb on a place in the API, or a path that is no resource. Whether there is such a
//! kind, and who may do it, is for others. The grammar is that of the API concepts ("Resource URIs").

use std::collections::BTreeMap;

use http::{Method, Uri};
use percent_encoding::percent_decode_str;

/// What a request is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// Objects of a kind.
    Resource(Box<Place>),
    /// Anything else: discovery, health, version.
    Other(String),
}

/// A verb on a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The verb in the words of access rules: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub(super) verb: &'static str,
    pub(super) group: String,
    pub(super) version: String,
    pub(super) plural: String,
    /// Empty: all namespaces, or none.
    pub(super) namespace: String,
    /// Empty: the collection.
    pub(super) name: String,
    /// Empty: the object itself.
    pub(super) subresource: String,
}

/// The query, decoded. Of a key that comes twice the first counts, as it does for the real server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Query(BTreeMap<String, String>);

impl Query {
    pub(super) fn of(uri: &Uri) -> Self {
        let mut values = BTreeMap::new();
        for (key, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
            values.entry(key.into_owned()).or_insert_with(|| value.into_owned());
        }
        Self(values)
    }

    /// The value of a key; empty if it is not there.
    pub(super) fn get(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }

    /// Whether a key says yes, in the words that the real server takes for it.
    pub(super) fn is(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "0" | "false"))
    }
}

/// What this request is about. `None`: the path has the form of a resource and yet names none, or the method is no verb.
pub(super) fn route(method: &Method, uri: &Uri, query: &Query) -> Option<Route> {
    // Decoded first and split then, as the real server does: a slash in a name is a slash of the path, however it is written.
    let path = percent_decode_str(uri.path()).decode_utf8_lossy();
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let (group, version, rest) = match segments.as_slice() {
        ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
        _ => return Some(Route::Other(uri.path().to_owned())),
    };
    let (namespace, rest) = match rest {
        // `namespaces` is a kind as well as a place: `/namespaces/a` is an object, `/namespaces/a/pods` a collection in it, and
        // `/namespaces/a/status` and `finalize` are parts of the object.
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => ("", rest),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
        _ => ("", rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (*plural, "", String::new()),
        [plural, name] => (*plural, *name, String::new()),
        [plural, name, subresource @ ..] => (*plural, *name, subresource.join("/")),
        [] => return None,
    };
    let verb = match (method.as_str(), name.is_empty()) {
        ("GET" | "HEAD", true) if query.is("watch") => "watch",
        ("GET" | "HEAD", true) => "list",
        ("GET" | "HEAD", false) => "get",
        ("POST", _) => "create",
        ("PUT", false) => "update",
        ("PATCH", false) => "patch",
        ("DELETE", false) => "delete",
        ("DELETE", true) => "deletecollection",
        _ => return None,
    };
    let own = str::to_owned;
    Some(Route::Resource(Box::new(Place {
        verb,
        group: own(group),
        version: own(version),
        plural: own(plural),
        namespace: own(namespace),
        name: own(name),
        subresource,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(method: &str, target: &str) -> String {
        let uri: Uri = target.parse().unwrap();
        match route(&method.parse().unwrap(), &uri, &Query::of(&uri)) {
            None => "none".into(),
            Some(Route::Other(path)) => format!("other {path}"),
            Some(Route::Resource(p)) => {
                format!(
                    "{} {}/{}/{} ns={} name={} sub={}",
                    p.verb, p.group, p.version, p.plural, p.namespace, p.name, p.subresource
                )
            }
        }
    }

    #[test]
    fn paths_are_read_as_the_api_means_them() {
        for (method, target, expected) in [
            ("GET", "/api/v1/pods", "list /v1/pods ns= name= sub="),
            ("GET", "/api/v1/pods?watch=1", "watch /v1/pods ns= name= sub="),
            ("GET", "/api/v1/pods?watch=false", "list /v1/pods ns= name= sub="),
            ("GET", "/api/v1/namespaces/d/pods/a", "get /v1/pods ns=d name=a sub="),
            ("PUT", "/api/v1/namespaces/d/pods/a/status", "update /v1/pods ns=d name=a sub=status"),
            ("POST", "/apis/apps/v1/namespaces/d/deployments", "create apps/v1/deployments ns=d name= sub="),
            (
                "DELETE",
                "/apis/apps/v1/namespaces/d/deployments",
                "deletecollection apps/v1/deployments ns=d name= sub=",
            ),
            ("GET", "/api/v1/namespaces/a", "get /v1/namespaces ns= name=a sub="),
            ("PUT", "/api/v1/namespaces/a/finalize", "update /v1/namespaces ns= name=a sub=finalize"),
            ("GET", "/api/v1/namespaces", "list /v1/namespaces ns= name= sub="),
            ("GET", "/api/v1/namespaces/a/status", "get /v1/namespaces ns= name=a sub=status"),
            ("GET", "/api/v1/namespaces/d/pods/a%2Fb", "get /v1/pods ns=d name=a sub=b"),
            ("PATCH", "/api/v1/pods", "none"),
            ("GET", "/api/v1", "other /api/v1"),
            ("GET", "/apis/apps/v1", "other /apis/apps/v1"),
            ("GET", "/healthz", "other /healthz"),
        ] {
            assert_eq!(told(method, target), expected, "{method} {target}");
        }
    }
}
