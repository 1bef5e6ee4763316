//! An object that is written several times, and what can be seen of it.

use std::fmt::Write as _;

use serde_json::Value;

use super::{
    super::{
        ApplyError, Typing, Writer, apply, fields_v1, keep_times_of_noop, managed, merge_patch, set::print,
        track,
    },
    kinds,
};
use crate::embedded::shape::Shape;

/// One write.
pub(super) enum Write {
    Create(Value),
    Merge(Value),
    Apply(Value),
    Force(Value),
}

/// An object and its kind.
pub(super) struct Object {
    kind: &'static str,
    api_version: &'static str,
    shape: Shape,
    pub(super) subresource: &'static str,
    live: Option<Value>,
}

impl Object {
    pub(super) fn new(kind: &'static str, api_version: &'static str, shape: Shape) -> Self {
        Self { kind, api_version, shape, subresource: "", live: None }
    }

    pub(super) fn config_map() -> Self {
        Self::new("ConfigMap", "v1", kinds::config_map())
    }

    pub(super) fn deployment() -> Self {
        Self::new("Deployment", "apps/v1", kinds::deployment())
    }

    pub(super) fn custom() -> Self {
        Self::new("Custom", "example.io/v1", kinds::custom())
    }

    /// Writes, as the server does around the functions here: an object has a uid, and its status is written
    /// through its own door.
    pub(super) fn write(&mut self, second: u32, manager: &str, write: Write) -> Result<(), ApplyError> {
        let types = kinds::types();
        let reset: &[&[&str]] =
            if self.subresource.is_empty() { &[&["status"]] } else { &[&["spec"], &["metadata"]] };
        let typing = Typing { kind: self.kind, types: &types, shape: &self.shape, reset };
        let time = format!("2026-01-01T00:00:{second:02}Z");
        let (api_version, subresource) = (self.api_version, self.subresource);
        let writer = Writer { manager, api_version, subresource, time: &time };
        let whole = |mut object: Value| {
            object["apiVersion"] = api_version.into();
            object["kind"] = self.kind.into();
            object["metadata"]["name"] = "o".into();
            object
        };
        let live = self.live.as_ref();
        let mut object = match write {
            Write::Create(object) => {
                let mut object = whole(object);
                track(typing, None, &mut object, writer);
                object
            }
            Write::Merge(patch) => {
                let mut object = live.cloned().expect("created");
                merge_patch(&mut object, patch).expect("a patch");
                track(typing, live, &mut object, writer);
                object
            }
            Write::Apply(object) => apply(typing, live, &whole(object), writer, false)?,
            Write::Force(object) => apply(typing, live, &whole(object), writer, true)?,
        };
        object["metadata"]["uid"] = "u".into();
        if let Some(live) = live {
            keep_times_of_noop(live, &mut object);
        }
        self.live = Some(object);
        Ok(())
    }

    pub(super) fn live(&self) -> &Value {
        self.live.as_ref().expect("created")
    }

    /// The entries, one line each: `manager operation second fields`.
    pub(super) fn owners(&self) -> Vec<String> {
        owners(managed::of(self.live()))
    }
}

pub(super) fn owners(entries: &Value) -> Vec<String> {
    let line = |entry: &Value| {
        let text = |field: &str| entry[field].as_str().unwrap_or_default();
        let door =
            if text("subresource").is_empty() { String::new() } else { format!("/{}", text("subresource")) };
        let second = text("time").get(17..19).unwrap_or("--");
        let mut fields = String::new();
        let set = fields_v1::parse(&entry["fieldsV1"]).expect("a set");
        set.each(&mut |path| write!(fields, " {}", print(path)).expect("a string takes it"));
        format!("{}{door} {} {second}{fields}", text("manager"), text("operation"))
    };
    entries.as_array().into_iter().flatten().map(line).collect()
}
