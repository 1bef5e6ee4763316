//! One line of a watch, decoded.

use serde::{Deserialize, Deserializer};

use crate::{Status, object::BookmarkObject};

/// Annotation on the bookmark that ends the initial events of a streaming list (KEP-3157).
pub const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// What a watch says (API concepts, "Efficient detection of changes").
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent<K> {
    /// The object appeared, or came into the selection.
    Added(K),
    /// The object changed.
    Modified(K),
    /// The object is gone, or left the selection. Its last state.
    Deleted(K),
    /// No change: only the version up to which the watch has come.
    Bookmark(Bookmark),
    /// The watch failed; nothing follows.
    Error(Status),
}

/// How far a watch has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bookmark {
    /// The version to resume from.
    pub resource_version: String,
    /// Whether the initial events of a streaming list are complete with it ([`INITIAL_EVENTS_END`]).
    pub initial_events_end: bool,
}

impl<'de, K: Deserialize<'de>> Deserialize<'de> for WatchEvent<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(tag = "type", content = "object", rename_all = "UPPERCASE")]
        enum Line<K> {
            Added(K),
            Modified(K),
            Deleted(K),
            Bookmark(BookmarkObject),
            Error(Status),
        }
        Ok(match Line::deserialize(deserializer)? {
            Line::Added(object) => Self::Added(object),
            Line::Modified(object) => Self::Modified(object),
            Line::Deleted(object) => Self::Deleted(object),
            Line::Bookmark(bookmark) => Self::Bookmark(bookmark.into()),
            Line::Error(status) => Self::Error(status),
        })
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::ResourceExt;

    fn parse(line: &str) -> WatchEvent<ConfigMap> {
        serde_json::from_str(line).unwrap()
    }

    #[test]
    fn every_kind_of_line_decodes() {
        let object = r#"{"metadata":{"name":"a","resourceVersion":"5"}}"#;
        assert!(
            matches!(parse(&format!(r#"{{"type":"ADDED","object":{object}}}"#)), WatchEvent::Added(o) if o.name() == "a")
        );
        assert!(matches!(
            parse(&format!(r#"{{"object":{object},"type":"MODIFIED"}}"#)),
            WatchEvent::Modified(_)
        ));
        assert!(matches!(
            parse(&format!(r#"{{"type":"DELETED","object":{object}}}"#)),
            WatchEvent::Deleted(_)
        ));
        assert!(
            matches!(parse(r#"{"type":"ERROR","object":{"kind":"Status","code":410}}"#), WatchEvent::Error(s) if s.is_gone())
        );
    }

    #[test]
    fn a_bookmark_may_end_the_initial_events() {
        for (annotations, end) in [
            ("", false),
            (r#","annotations":{"k8s.io/initial-events-end":"true"}"#, true),
            (r#","annotations":null"#, false),
        ] {
            let line = format!(
                r#"{{"type":"BOOKMARK","object":{{"kind":"ConfigMap","metadata":{{"resourceVersion":"0009"{annotations}}}}}}}"#
            );
            let expected = Bookmark { resource_version: "0009".into(), initial_events_end: end };
            assert_eq!(parse(&line), WatchEvent::Bookmark(expected));
        }
    }
}
