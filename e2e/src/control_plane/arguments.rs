//! The command line of every program. Pure: files and ports in, arguments out.
//!
//! Whatever is not written here is the programs' own default, because a test on this control plane should mean the same
//! on a cluster that somebody else has made. Each exception has its reason beside it.

use std::path::Path;

use super::Parts;

/// What the command lines are made from.
pub(super) struct Layout<'a> {
    pub(super) folder: &'a Path,
    pub(super) etcd_port: u16,
    pub(super) api_port: u16,
    pub(super) parts: Parts,
}

impl Layout<'_> {
    fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    pub(super) fn etcd_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.etcd_port)
    }

    pub(super) fn etcd(&self) -> Vec<String> {
        vec![
            format!("--data-dir={}", self.file("etcd-data")),
            format!("--listen-client-urls={}", self.etcd_url()),
            format!("--advertise-client-urls={}", self.etcd_url()),
            // One member has no peers; port 0 keeps several clusters apart.
            "--listen-peer-urls=http://127.0.0.1:0".into(),
            // The data does not outlive the process, so no write needs to wait for a disk.
            "--unsafe-no-fsync".into(),
            "--log-level=warn".into(),
        ]
    }

    pub(super) fn kube_apiserver(&self) -> Vec<String> {
        // ServiceAccount: pods need no account, whose token controller may not run.
        let mut off = "ServiceAccount".to_owned();
        if !self.parts.controller_manager {
            // It taints every new node, and only the controller manager takes the taint away again.
            off += ",TaintNodesByCondition";
        }
        let mut args = vec![
            format!("--etcd-servers={}", self.etcd_url()),
            // Tests compact when they want to (`ControlPlane::compact_etcd`), and at no other time.
            "--etcd-compaction-interval=0".into(),
            "--bind-address=127.0.0.1".into(),
            format!("--secure-port={}", self.api_port),
            // Said outright, for otherwise it looks for a network interface with a default route. An address that only
            // this machine knows is no endpoint for pods, hence no endpoints of the "kubernetes" service either.
            "--advertise-address=127.0.0.1".into(),
            "--endpoint-reconciler-type=none".into(),
            format!("--tls-cert-file={}", self.file("server.crt")),
            format!("--tls-private-key-file={}", self.file("server.key")),
            format!("--client-ca-file={}", self.file("ca.crt")),
            format!("--token-auth-file={}", self.file("tokens.csv")),
            "--authorization-mode=RBAC".into(),
            format!("--service-account-key-file={}", self.file("service-accounts.pub")),
            format!("--service-account-signing-key-file={}", self.file("service-accounts.key")),
            "--service-account-issuer=https://kubernetes.default.svc".into(),
            "--service-cluster-ip-range=10.96.0.0/16".into(),
            format!("--disable-admission-plugins={off}"),
            "--profiling=false".into(),
            // Without it, a server that is asked to end waits a minute for its watches, which end only with it.
            "--shutdown-watch-termination-grace-period=1s".into(),
        ];
        if self.parts.audit {
            args.push(format!("--audit-policy-file={}", self.file("audit-policy.yaml")));
            args.push(format!("--audit-log-path={}", self.file("logs/audit.log")));
        }
        args
    }

    pub(super) fn kube_controller_manager(&self) -> Vec<String> {
        let mut args = self.component();
        args.extend([
            "--use-service-account-credentials=false".into(),
            format!("--service-account-private-key-file={}", self.file("service-accounts.key")),
            format!("--root-ca-file={}", self.file("ca.crt")),
        ]);
        args
    }

    pub(super) fn kube_scheduler(&self) -> Vec<String> {
        self.component()
    }

    pub(super) fn kwok(&self) -> Vec<String> {
        // Its built-in stages serve: nodes become ready and renew their leases, pods run as soon as they have a node,
        // pods of jobs succeed, deleted pods go.
        vec![format!("--kubeconfig={}", self.file("kubeconfig")), "--manage-all-nodes=true".into()]
    }

    /// What the components that Kubernetes itself brings have in common.
    fn component(&self) -> Vec<String> {
        vec![
            format!("--kubeconfig={}", self.file("kubeconfig")),
            // There is one of each, and it should work at once rather than after a lease of 15 s.
            "--leader-elect=false".into(),
            // Nobody asks for its health or metrics: one port less to clash.
            "--secure-port=0".into(),
            // The default of 20 requests a second makes tests with thousands of objects wait for minutes.
            "--kube-api-qps=500".into(),
            "--kube-api-burst=1000".into(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(parts: Parts) -> Layout<'static> {
        Layout { folder: Path::new("/f"), etcd_port: 1, api_port: 2, parts }
    }

    #[test]
    fn nodes_are_tainted_only_where_somebody_takes_the_taint_away() {
        for (controller_manager, off) in
            [(true, "ServiceAccount"), (false, "ServiceAccount,TaintNodesByCondition")]
        {
            let args = layout(Parts { controller_manager, ..Parts::default() }).kube_apiserver();
            assert!(args.contains(&format!("--disable-admission-plugins={off}")), "{args:?}");
        }
    }

    #[test]
    fn nothing_listens_beyond_loopback() {
        let layout = layout(Parts::default());
        for (args, expected) in [
            (layout.etcd(), "--listen-client-urls=http://127.0.0.1:1"),
            (layout.etcd(), "--listen-peer-urls=http://127.0.0.1:0"),
            (layout.kube_apiserver(), "--bind-address=127.0.0.1"),
            (layout.kube_controller_manager(), "--secure-port=0"),
            (layout.kube_scheduler(), "--secure-port=0"),
        ] {
            assert!(args.iter().any(|arg| arg == expected), "{expected}: {args:?}");
        }
    }
}
