//! The generated code. Every path in it starts at `kube-core`, so that nothing else needs to be in scope.

mod definition;
mod serde;
mod types;

use proc_macro2::TokenStream;
use quote::quote;

use crate::attr::Attributes;

/// All that the macro makes.
pub(crate) fn resource(attributes: &Attributes) -> TokenStream {
    let parts =
        [types::resource(attributes), serde::both_ways(attributes), definition::definition(attributes)];
    quote!(#(#parts)*)
}
