//! `scale(...)`: the paths of the scale subresource. Their form is checked here, their fields by `try_crd`, which has the
//! schema.

use darling::{Error, FromMeta, Result, util::SpannedValue};

/// The paths as written.
#[derive(FromMeta)]
#[expect(clippy::struct_field_names, reason = "the names of the attributes")]
pub(super) struct Written {
    spec_replicas_path: SpannedValue<String>,
    status_replicas_path: SpannedValue<String>,
    label_selector_path: Option<SpannedValue<String>>,
}

/// The paths, checked.
#[expect(clippy::struct_field_names, reason = "the names of the attributes")]
pub(crate) struct Scale {
    pub(crate) spec_replicas_path: String,
    pub(crate) status_replicas_path: String,
    pub(crate) label_selector_path: Option<String>,
}

pub(super) fn checked(written: &SpannedValue<Written>, has_status: bool) -> Result<Scale> {
    if !has_status {
        let text = "the scale subresource reports replicas from the status: give it a type (`status = WebsiteStatus`)";
        return Err(Error::custom(text).with_span(&written.span()));
    }
    let mut errors = Error::accumulator();
    let mut path =
        |value: &SpannedValue<String>, under: &[&str]| errors.handle(path(value, under)).unwrap_or_default();
    let scale = Scale {
        spec_replicas_path: path(&written.spec_replicas_path, &[".spec."]),
        status_replicas_path: path(&written.status_replicas_path, &[".status."]),
        label_selector_path: written
            .label_selector_path
            .as_ref()
            .map(|value| path(value, &[".status.", ".spec."])),
    };
    errors.finish_with(scale)
}

fn path(value: &SpannedValue<String>, under: &[&str]) -> Result<String> {
    let fields = under.iter().find_map(|prefix| value.strip_prefix(prefix));
    let plain =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    match fields {
        Some(fields) if fields.split('.').all(plain) => Ok(value.to_string()),
        _ => {
            let places = under.join("` or `");
            let text = format!(
                "`{}` is no path of a field: it must start with `{places}` and name one field after another, \
                 such as `{}replicas`",
                **value,
                under.first().unwrap_or(&"")
            );
            Err(Error::custom(text).with_span(&value.span()))
        }
    }
}
