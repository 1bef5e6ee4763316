//! To and from JSON. Written out: `apiVersion` and `kind` are no fields, yet always written; and they may be missing where an
//! object is read, but not wrong.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::attr::Attributes;

pub(super) fn both_ways(attributes: &Attributes) -> TokenStream {
    let serialize = serialize(attributes);
    let deserialize = deserialize(attributes);
    quote!(#serialize #deserialize)
}

fn serialize(attributes: &Attributes) -> TokenStream {
    let Attributes { kind, kube_core, group, version, status, .. } = attributes;
    let (name, api_version) = (kind.to_string(), format!("{group}/{version}"));
    let (count, status) = if status.is_some() {
        let field = quote! {
            match &self.status {
                ::core::option::Option::Some(status) => object.serialize_field("status", status)?,
                ::core::option::Option::None => object.skip_field("status")?,
            }
        };
        (quote!(4 + ::core::primitive::usize::from(self.status.is_some())), field)
    } else {
        (quote!(4), TokenStream::new())
    };
    quote! {
        #[automatically_derived]
        impl #kube_core::__derive::serde::Serialize for #kind {
            fn serialize<S>(&self, serializer: S) -> ::core::result::Result<S::Ok, S::Error>
            where
                S: #kube_core::__derive::serde::Serializer,
            {
                use #kube_core::__derive::serde::ser::SerializeStruct as _;

                let mut object = serializer.serialize_struct(#name, #count)?;
                object.serialize_field("apiVersion", #api_version)?;
                object.serialize_field("kind", #name)?;
                object.serialize_field("metadata", &self.metadata)?;
                object.serialize_field("spec", &self.spec)?;
                #status
                object.end()
            }
        }
    }
}

fn deserialize(attributes: &Attributes) -> TokenStream {
    let Attributes { kind, kube_core, group, version, spec, status, .. } = attributes;
    let (name, api_version) = (kind.to_string(), format!("{group}/{version}"));
    let serde_path = quote!(#kube_core::__derive::serde).to_token_stream().to_string().replace(' ', "");
    let status_field = status.as_ref().map(|status| quote!(status: ::core::option::Option<#status>,));
    let status_value = status.as_ref().map(|_| quote!(status: wire.status,));
    quote! {
        const _: () = {
            #[derive(#kube_core::__derive::serde::Deserialize)]
            #[serde(crate = #serde_path, rename = #name, rename_all = "camelCase")]
            struct __Wire {
                api_version: ::core::option::Option<::std::string::String>,
                kind: ::core::option::Option<::std::string::String>,
                metadata: ::core::option::Option<#kube_core::ObjectMeta>,
                spec: #spec,
                #status_field
            }

            #[automatically_derived]
            impl<'de> #kube_core::__derive::serde::Deserialize<'de> for #kind {
                fn deserialize<D>(deserializer: D) -> ::core::result::Result<Self, D::Error>
                where
                    D: #kube_core::__derive::serde::Deserializer<'de>,
                {
                    let wire = <__Wire as #kube_core::__derive::serde::Deserialize>::deserialize(deserializer)?;
                    #kube_core::__derive::expect_type(
                        (#api_version, #name),
                        (wire.api_version.as_deref(), wire.kind.as_deref()),
                    )?;
                    ::core::result::Result::Ok(Self {
                        metadata: wire.metadata.unwrap_or_default(),
                        spec: wire.spec,
                        #status_value
                    })
                }
            }
        };
    }
}
