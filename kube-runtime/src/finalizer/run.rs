//! Performs the edits, around the work of a reconciler.

use std::{error::Error, fmt::Debug, sync::Arc};

use kube_client::Api;
use kube_core::{Patch, PatchParams, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{add_patch, is_present, remove_patch};
use crate::controller::Action;

/// How often an edit is made on a newly read object when others change its finalizers at the same time. They are few, and each
/// round sees their last edit; after that the reconcile fails and is retried with a delay.
const MAX_TRIES: usize = 3;

/// Why a reconcile with a finalizer failed.
#[derive(Debug, thiserror::Error)]
pub enum FinalizerError<E: Error + 'static> {
    /// The finalizer could not be put on the object. Nothing was applied.
    #[error("cannot add the finalizer")]
    Add(#[source] kube_client::Error),
    /// The finalizer could not be taken off. The cleanup was done, and will be done again.
    #[error("cannot remove the finalizer")]
    Remove(#[source] kube_client::Error),
    /// The reconciler's own work failed.
    #[error("cannot apply")]
    Apply(#[source] E),
    /// The reconciler's own cleanup failed. The finalizer stays, and so does the object.
    #[error("cannot clean up")]
    Cleanup(#[source] E),
}

/// Reconciles an object under the protection of a finalizer: `apply` runs only when the finalizer is on the object, and
/// `cleanup` when deletion was asked for, before the finalizer comes off. The cleanup may run more than once, and must bear it.
///
/// `name` is a domain and a path, such as `websites.example.dev/cleanup`, as the server wants it. An object that is gone in the
/// meantime is no error: there is nothing left to do for it.
///
/// # Errors
/// What failed, and in which step.
pub async fn finalize<K, E, Applied, Cleaned>(
    api: &Api<K>,
    name: &str,
    object: Arc<K>,
    apply: impl FnOnce(Arc<K>) -> Applied + Send,
    cleanup: impl FnOnce(Arc<K>) -> Cleaned + Send,
) -> Result<Action, FinalizerError<E>>
where
    K: Resource + DeserializeOwned + Debug + Send + Sync,
    E: Error + 'static,
    Applied: Future<Output = Result<Action, E>> + Send,
    Cleaned: Future<Output = Result<(), E>> + Send,
{
    if object.is_deleting() {
        if is_present(object.meta(), name) {
            cleanup(object.clone()).await.map_err(FinalizerError::Cleanup)?;
            edit(api, object, |object| remove_patch(object.meta(), name))
                .await
                .map_err(FinalizerError::Remove)?;
        }
        return Ok(Action::AwaitChange);
    }
    match edit(api, object, |object| add_patch(object.meta(), name)).await.map_err(FinalizerError::Add)? {
        // Deletion was asked for while the finalizer was about to be added: then it is not there, and there is nothing to clean up.
        Some(object) if !object.is_deleting() => apply(object).await.map_err(FinalizerError::Apply),
        _ => Ok(Action::AwaitChange),
    }
}

/// Makes an edit, again on a newly read object if others were quicker. The object as it is then; none if it is gone.
async fn edit<K>(
    api: &Api<K>,
    object: Arc<K>,
    patch: impl Fn(&K) -> Option<Value>,
) -> Result<Option<Arc<K>>, kube_client::Error>
where
    K: Resource + DeserializeOwned,
{
    let mut object = object;
    let mut tries = 0;
    loop {
        let Some(patch) = patch(&object) else { return Ok(Some(object)) };
        tries += 1;
        match api.patch(object.name(), &Patch::Json(patch), &PatchParams::default()).await {
            Ok(changed) => return Ok(Some(Arc::new(changed))),
            Err(error) if error.is_not_found() => return Ok(None),
            // 422 is how the server says that a test in the patch failed.
            Err(error) if tries < MAX_TRIES && (error.is_conflict() || error.is_invalid()) => {
                match api.get_opt(object.name()).await? {
                    Some(newer) if newer.uid() == object.uid() => object = Arc::new(newer),
                    _ => return Ok(None),
                }
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, sync::Mutex};

    use http::{Request, Response};
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_client::{Body, Client};
    use serde_json::json;

    use super::*;

    const NAME: &str = "example.dev/cleanup";

    /// A server that answers one request after the other with these, and the log of what was asked.
    fn server(answers: Vec<(u16, Value)>) -> (Api<ConfigMap>, Arc<Mutex<Vec<String>>>) {
        let log = Arc::<Mutex<Vec<String>>>::default();
        let answers = Arc::new(Mutex::new(answers.into_iter()));
        let asked = log.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            asked.lock().unwrap().push(request.method().to_string());
            let (code, body) = answers.lock().unwrap().next().expect("no more requests than answers");
            async move {
                Ok::<_, Infallible>(
                    Response::builder().status(code).body(Body::from(body.to_string())).unwrap(),
                )
            }
        });
        (Api::namespaced(Client::new(service, "d"), "d"), log)
    }

    fn object(uid: &str, finalizers: &[&str], deleting: bool) -> Value {
        let mut metadata = json!({ "name": "a", "namespace": "d", "uid": uid, "finalizers": finalizers });
        if deleting {
            metadata["deletionTimestamp"] = json!("2020-01-01T00:00:00Z");
        }
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })
    }

    fn status(code: u16) -> (u16, Value) {
        (code, json!({ "kind": "Status", "code": code }))
    }

    /// What was done: requests, then the work.
    async fn run(
        object: Value,
        answers: Vec<(u16, Value)>,
    ) -> (String, Result<Action, FinalizerError<Infallible>>) {
        let (api, log) = server(answers);
        let did = Mutex::new(Vec::new());
        let object = Arc::new(serde_json::from_value(object).unwrap());
        let result = finalize(
            &api,
            NAME,
            object,
            async |object: Arc<ConfigMap>| {
                did.lock().unwrap().push(format!(" apply:{}", object.finalizers().len()));
                Ok(Action::AwaitChange)
            },
            async |_| {
                did.lock().unwrap().push(" cleanup".to_owned());
                Ok(())
            },
        )
        .await;
        let asked = log.lock().unwrap().join(" ");
        (format!("{asked}{}", did.into_inner().unwrap().concat()), result)
    }

    #[tokio::test]
    async fn the_finalizer_goes_on_before_the_work_and_comes_off_after_the_cleanup() {
        let rows = [
            (object("u", &[], false), vec![(200, object("u", &[NAME], false))], "PATCH apply:1"),
            (object("u", &[NAME], false), vec![], " apply:1"),
            (object("u", &[NAME], true), vec![(200, object("u", &[], true))], "PATCH cleanup"),
            (object("u", &["other"], true), vec![], ""),
        ];
        for (object, answers, did) in rows {
            let (told, result) = run(object, answers).await;
            assert_eq!(told, did);
            assert_eq!(result.unwrap(), Action::AwaitChange);
        }
    }

    #[tokio::test]
    async fn an_object_that_is_gone_is_done() {
        let rows = [
            (object("u", &[], false), vec![status(404)], "PATCH"),
            (object("u", &[NAME], true), vec![status(404)], "PATCH cleanup"),
            (object("u", &[NAME], true), vec![status(409), status(404)], "PATCH GET cleanup"),
            (
                object("u", &[NAME], true),
                vec![status(422), (200, object("other", &[NAME], false))],
                "PATCH GET cleanup",
            ),
        ];
        for (object, answers, did) in rows {
            let (told, result) = run(object, answers).await;
            assert_eq!((told.as_str(), result.unwrap()), (did, Action::AwaitChange));
        }
    }

    #[tokio::test]
    async fn an_edit_that_others_were_quicker_than_is_made_on_what_they_left() {
        let left = object("u", &["other", NAME], true);
        let answers = vec![status(422), (200, left), (200, object("u", &["other"], true))];
        let (told, result) = run(object("u", &[NAME], true), answers).await;
        assert_eq!((told.as_str(), result.unwrap()), ("PATCH GET PATCH cleanup", Action::AwaitChange));

        let deleting = object("u", &[], true);
        let (told, result) = run(object("u", &[], false), vec![status(422), (200, deleting)]).await;
        assert_eq!(
            (told.as_str(), result.unwrap()),
            ("PATCH GET", Action::AwaitChange),
            "too late to add it"
        );
    }

    #[tokio::test]
    async fn a_refusal_ends_after_a_few_tries_and_says_which_step() {
        let present = || object("u", &[NAME], true);
        let answers = vec![status(422), (200, present()), status(422), (200, present()), status(422)];
        let (_, result) = run(present(), answers).await;
        assert!(matches!(result, Err(FinalizerError::Remove(_))));
        let (_, result) = run(object("u", &[], false), vec![status(403)]).await;
        assert!(matches!(result, Err(FinalizerError::Add(_))));
    }
}
