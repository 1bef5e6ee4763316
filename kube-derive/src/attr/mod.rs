//! What the attributes say, checked. One file for each group of them; every fault is collected, each at its own place.

mod column;
mod crates;
mod derives;
mod names;
mod scale;
mod shape;
mod status;

use darling::{
    Error, FromDeriveInput, Result,
    util::{Flag, SpannedValue},
};
use syn::{DeriveInput, Ident, Path, Type, Visibility};

pub(crate) use self::{column::Column, scale::Scale};
use crate::plural::plural;

/// The attributes as written. A field is optional here also where it is required: the error is ours, with an example.
#[derive(FromDeriveInput)]
#[darling(attributes(kube))]
struct Written {
    group: Option<SpannedValue<String>>,
    version: Option<SpannedValue<String>>,
    kind: Option<SpannedValue<String>>,
    namespaced: Flag,
    plural: Option<SpannedValue<String>>,
    singular: Option<SpannedValue<String>>,
    #[darling(multiple)]
    shortname: Vec<SpannedValue<String>>,
    #[darling(multiple)]
    category: Vec<SpannedValue<String>>,
    status: Option<status::Status>,
    #[darling(multiple)]
    printcolumn: Vec<column::Written>,
    scale: Option<SpannedValue<scale::Written>>,
    served: Option<bool>,
    storage: Option<bool>,
    doc: Option<String>,
    #[darling(multiple)]
    derive: Vec<derives::Derives>,
    #[darling(default)]
    crates: crates::Crates,
}

/// The attributes, complete and checked.
pub(crate) struct Attributes {
    pub(crate) visibility: Visibility,
    pub(crate) spec: Ident,
    pub(crate) kind: Ident,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespaced: bool,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) status: Option<Type>,
    pub(crate) columns: Vec<Column>,
    pub(crate) scale: Option<Scale>,
    pub(crate) served: bool,
    pub(crate) storage: bool,
    pub(crate) doc: String,
    pub(crate) derives: Vec<Path>,
    pub(crate) kube_core: Path,
}

impl Attributes {
    /// Reads them.
    ///
    /// # Errors
    /// All that is wrong, at once.
    pub(crate) fn read(input: &DeriveInput) -> Result<Self> {
        let mut errors = Error::accumulator();
        errors.handle(shape::check(input));
        let Some(written) = errors.handle(Written::from_derive_input(input)) else {
            return Err(finished(errors));
        };
        let required = |name, example, value| names::required(name, example, value, input);
        let group = required("group", "example.dev", written.group.as_ref()).and_then(names::group);
        let version = required("version", "v1", written.version.as_ref());
        let version = version.and_then(|version| names::label("version", version));
        let kind = required("kind", "Website", written.kind.as_ref())
            .and_then(|kind| names::kind(kind, &input.ident));
        let (group, version, kind) = (errors.handle(group), errors.handle(version), errors.handle(kind));

        let mut label = |attribute, value: &Option<SpannedValue<String>>| {
            value.as_ref().and_then(|value| errors.handle(names::label(attribute, value)))
        };
        let given = (label("plural", &written.plural), label("singular", &written.singular));
        let mut labels = |attribute, values: &[SpannedValue<String>]| -> Vec<String> {
            values.iter().filter_map(|value| errors.handle(names::label(attribute, value))).collect()
        };
        let short_names = labels("shortname", &written.shortname);
        let categories = labels("category", &written.category);
        let columns =
            written.printcolumn.into_iter().filter_map(|column| errors.handle(column.checked())).collect();
        let scale =
            written.scale.and_then(|scale| errors.handle(scale::checked(&scale, written.status.is_some())));
        errors.finish()?;

        // All three are there: what was missing has been reported.
        let (Some(group), Some(version), Some(kind)) = (group, version, kind) else {
            return Err(Error::custom("group, version and kind are required"));
        };
        let name = kind.to_string();
        Ok(Self {
            visibility: input.vis.clone(),
            spec: input.ident.clone(),
            group,
            version,
            namespaced: written.namespaced.is_present(),
            plural: given.0.unwrap_or_else(|| plural(&name)),
            singular: given.1.unwrap_or_else(|| name.to_lowercase()),
            kind,
            short_names,
            categories,
            status: written.status.map(|status| status.0),
            columns,
            scale,
            served: written.served.unwrap_or(true),
            storage: written.storage.unwrap_or(true),
            doc: written.doc.unwrap_or_else(|| shape::doc_comment(&input.attrs)),
            derives: written.derive.into_iter().flat_map(|derives| derives.0).collect(),
            kube_core: written.crates.kube_core(),
        })
    }
}

fn finished(errors: darling::error::Accumulator) -> Error {
    errors.finish().err().unwrap_or_else(|| Error::custom("the attributes could not be read"))
}
