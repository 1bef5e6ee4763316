//! The struct of the resource, its constructor, and its place in the API.

use proc_macro2::TokenStream;
use quote::quote;

use crate::attr::Attributes;

pub(super) fn resource(attributes: &Attributes) -> TokenStream {
    let structure = structure(attributes);
    let place = place(attributes);
    quote!(#structure #place)
}

fn structure(attributes: &Attributes) -> TokenStream {
    let Attributes { visibility, spec, kind, status, derives, kube_core, doc, .. } = attributes;
    let title = format!("The custom resource `{kind}` of `{}/{}`.", attributes.group, attributes.version);
    let doc = (!doc.is_empty()).then(|| quote!(#[doc = ""] #[doc = #doc]));
    let status_field = status.as_ref().map(|status| {
        quote! {
            /// What was last seen.
            #visibility status: ::core::option::Option<#status>,
        }
    });
    let status_value = status.as_ref().map(|_| quote!(status: ::core::option::Option::None,));
    quote! {
        #[doc = #title]
        #doc
        #[derive(::core::clone::Clone, ::core::fmt::Debug #(, #derives)*)]
        #visibility struct #kind {
            /// Name, namespace, labels and what the server keeps about the object.
            #visibility metadata: #kube_core::ObjectMeta,
            /// What is wanted.
            #visibility spec: #spec,
            #status_field
        }

        impl #kind {
            /// An object with this name and spec, and nothing else.
            #[must_use]
            #[allow(dead_code, reason = "whether objects are made is the user's choice")]
            #visibility fn new(name: impl ::core::convert::Into<::std::string::String>, spec: #spec) -> Self {
                Self {
                    metadata: #kube_core::ObjectMeta {
                        name: ::core::option::Option::Some(name.into()),
                        ..::core::default::Default::default()
                    },
                    spec,
                    #status_value
                }
            }
        }
    }
}

fn place(attributes: &Attributes) -> TokenStream {
    let Attributes { kind, kube_core, group, version, plural, namespaced, .. } = attributes;
    let name = kind.to_string();
    let scope = if *namespaced { quote!(NamespaceScope) } else { quote!(ClusterScope) };
    quote! {
        #[automatically_derived]
        impl #kube_core::Resource for #kind {
            type Dynamic = ();
            type Scope = #kube_core::#scope;

            fn api_resource((): &()) -> #kube_core::ApiResource {
                #kube_core::ApiResource::new(#group, #version, #name, #plural, #namespaced)
            }

            fn meta(&self) -> &#kube_core::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut #kube_core::ObjectMeta {
                &mut self.metadata
            }
        }
    }
}
