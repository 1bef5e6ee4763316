//! A custom resource, and its definition, from the struct of its spec.
//!
//! ```
//! use kube_core::{CustomResource as _, Resource as _, ResourceExt as _};
//! use kube_derive::CustomResource;
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! /// A website.
//! #[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
//! #[kube(group = "example.dev", version = "v1", kind = "Website", namespaced, status = WebsiteStatus, shortname = "web")]
//! #[kube(printcolumn(name = "Replicas", type = "integer", json_path = ".spec.replicas"))]
//! struct WebsiteSpec {
//!     /// How many pods serve it.
//!     replicas: i32,
//!     html: String,
//! }
//!
//! #[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
//! struct WebsiteStatus {
//!     ready: bool,
//! }
//!
//! let site = Website::new("blog", WebsiteSpec { replicas: 1, html: "hi".into() });
//! assert_eq!(site.name(), "blog");
//! assert_eq!(Website::api_resource(&()).to_string(), "websites.example.dev/v1");
//!
//! let json = serde_json::to_value(&site)?;
//! assert_eq!(json["apiVersion"], "example.dev/v1");
//! assert_eq!(json["kind"], "Website");
//!
//! let definition = serde_json::to_value(Website::crd())?;
//! assert_eq!(definition["metadata"]["name"], "websites.example.dev");
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! # What it makes
//! - `struct Website { metadata, spec, status }` with `Website::new(name, spec)`, `Clone` and `Debug`. It always serialises
//!   its `apiVersion` and `kind`, and reads objects that lack them, as the items of a list do.
//! - `impl kube_core::Resource`, with the scope as a type.
//! - `impl kube_core::CustomResource`: `crd()`, `try_crd()`, `CRD_NAME`. The schema is that of
//!   `kube_core::schema::structural_schema`; a type that has none is reported with the path of the field.
//!
//! The spec and the status derive `Serialize`, `Deserialize`, `JsonSchema` (schemars 1), `Clone` and `Debug`. The crate
//! that uses the macro needs `kube-core` (with its feature `schema`), serde and schemars; nothing else.
//!
//! # Attributes of `#[kube(...)]`
//! | Attribute | Default | What it says |
//! |---|---|---|
//! | `group = "example.dev"` | required | API group |
//! | `version = "v1"` | required | version of the group |
//! | `kind = "Website"` | required | kind, and name of the struct that is made |
//! | `namespaced` | cluster scope | objects live in a namespace |
//! | `status = WebsiteStatus` | none | type of the status; makes the status subresource |
//! | `plural = "websites"` | see below | plural name, path segment, first part of the definition's name |
//! | `singular = "website"` | kind in lower case | singular name |
//! | `shortname = "web"` | none | short name for kubectl; may be repeated |
//! | `category = "all"` | none | category for kubectl; may be repeated |
//! | `printcolumn(name = "Ready", type = "string", json_path = ".status.ready")` | age only | a column of kubectl; also `description`, `format`, `priority`; may be repeated; `jsonpath` is the same as `json_path` |
//! | `scale(spec_replicas_path = ".spec.replicas", status_replicas_path = ".status.replicas")` | none | scale subresource; also `label_selector_path`; the fields are checked by `try_crd` |
//! | `served = false` | true | whether the server serves this version |
//! | `storage = false` | true | whether this is the version that is stored |
//! | `doc = "..."` | doc comment of the spec | description of the kind |
//! | `derive = "PartialEq"` | none | more derives of the resource; may be repeated; also `derive(PartialEq, Default)` |
//! | `crates(kube_core = "my_kube::core")` | `::kube_core` | where `kube-core` is, when it is renamed or re-exported |
//!
//! # The default plural
//! The kind in lower case, then the first rule that fits its end:
//!
//! | End | Plural | Example |
//! |---|---|---|
//! | `sis` | `ses` | Analysis, analyses |
//! | `s`, `x`, `z`, `ch`, `sh` | `+es` | Bus, buses |
//! | consonant and `y` | `ies` | Policy, policies |
//! | `demo`, `logo`, `macro`, `memo`, `photo`, `proto`, `repo` | `+s` | GitRepo, gitrepos |
//! | consonant and `o` | `+es` | Potato, potatoes |
//! | anything else | `+s` | Gateway, gateways |

mod attr;
mod generate;
mod plural;

use proc_macro::TokenStream;

/// Makes a custom resource and its definition from the struct of its spec. See the [crate]'s documentation.
#[proc_macro_derive(CustomResource, attributes(kube))]
pub fn custom_resource(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    match attr::Attributes::read(&input) {
        Ok(attributes) => generate::resource(&attributes).into(),
        Err(errors) => errors.write_errors().into(),
    }
}
