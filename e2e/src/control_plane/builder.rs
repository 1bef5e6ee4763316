//! What a control plane is made of, and the order in which it comes up.

use std::{sync::atomic::AtomicU32, time::Duration};

use tokio::{net::TcpStream, sync::Mutex};

use super::{
    ControlPlane, LOOK_EVERY, Parts, READY_WITHIN, Running, TokenUser, folder::Folder, nodes, ports,
    supervise::Supervised, write_files,
};
use crate::{
    Cluster, Error, Pki, Program, Programs,
    pki::{MASTERS, token},
};

/// How often a start is tried when somebody else takes a port between the look and the bind. Twice in a row would
/// already be bad luck.
const TRIES: u32 = 5;

/// Says what runs. Start with [`Cluster::control_plane`], end with [`start`](Self::start).
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `start`"]
pub struct ControlPlaneBuilder {
    parts: Parts,
    nodes: u32,
    users: Vec<(String, Vec<String>)>,
    programs: Programs,
}

impl ControlPlaneBuilder {
    /// etcd and kube-apiserver alone: about 350 MB, ready in 2 s on an idle machine. Objects stay as they are written.
    pub(crate) fn new() -> Self {
        Self {
            parts: Parts::default(),
            nodes: 0,
            users: vec![("admin".into(), vec![MASTERS.into()])],
            programs: Programs::from_env(),
        }
    }

    /// With kube-controller-manager: deployments get their pods, deleted owners lose what they own, deleted namespaces
    /// end. About 120 MB.
    ///
    /// Its garbage collector looks for new kinds every 30 s: what a just-created kind owns waits for that.
    pub fn controller_manager(mut self) -> Self {
        self.parts.controller_manager = true;
        self
    }

    /// With kube-scheduler: pods get their nodes. About 70 MB.
    pub fn scheduler(mut self) -> Self {
        self.parts.scheduler = true;
        self
    }

    /// With kwok: nodes are ready, and pods that have a node run at once, without a kubelet. About 60 MB.
    pub fn kwok(mut self) -> Self {
        self.parts.kwok = true;
        self
    }

    /// With a log of all creations, each with the object as the server understood it before it judged it: one JSON
    /// document a line, in [`ControlPlane::audit_log`], written before the answer.
    pub fn audit(mut self) -> Self {
        self.parts.audit = true;
        self
    }

    /// With this many nodes, `node-0` and so on, which are ready before [`start`](Self::start) returns. The default is
    /// none; some imply [`kwok`](Self::kwok).
    pub fn nodes(mut self, nodes: u32) -> Self {
        self.nodes = nodes;
        self.parts.kwok |= nodes > 0;
        self
    }

    /// Everything, and one node: the nearest to a whole cluster.
    pub fn complete(self) -> Self {
        self.controller_manager().scheduler().nodes(1)
    }

    /// With a user known by a token (see [`ControlPlane::token`]). What it may do is for RBAC to say. There is always
    /// `admin` in `system:masters`. Users by certificate need not be named before.
    pub fn user(mut self, name: &str, groups: &[&str]) -> Self {
        self.users.push((name.into(), groups.iter().map(|&group| group.into()).collect()));
        self
    }

    /// Takes the programs from elsewhere. The default is [`Programs::from_env`].
    pub fn programs(mut self, programs: Programs) -> Self {
        self.programs = programs;
        self
    }

    /// Starts everything and waits until it is ready.
    ///
    /// # Errors
    /// [`Error::ProgramMissing`] before anything is started; [`Error::Exited`] or [`Error::Late`] with the end of the
    /// log of the program that failed, whose folder is then kept.
    pub async fn start(self) -> Result<Cluster, Error> {
        let mut tries = 1;
        loop {
            match self.try_start().await {
                Ok(plane) => return Ok(Cluster::of_control_plane(plane)),
                Err(error) if is_port_clash(&error) && tries < TRIES => {
                    tracing::info!("a port was taken by somebody else, trying others");
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn try_start(&self) -> Result<ControlPlane, Error> {
        self.check_programs()?;
        let plane = self.prepare()?;
        match self.bring_up(&plane).await {
            Ok(()) => Ok(plane),
            Err(error) => {
                if !is_port_clash(&error) {
                    plane.folder.keep();
                }
                Err(error)
            }
        }
    }

    /// A missing program is said before the first one starts.
    fn check_programs(&self) -> Result<(), Error> {
        let Parts { controller_manager, scheduler, kwok, .. } = self.parts;
        let needed = [
            (true, Program::Etcd),
            (true, Program::KubeApiserver),
            (controller_manager, Program::KubeControllerManager),
            (scheduler, Program::KubeScheduler),
            (kwok, Program::Kwok),
        ];
        needed
            .iter()
            .filter(|(needed, _)| *needed)
            .try_for_each(|(_, program)| self.programs.find(*program).map(drop))
    }

    /// Everything but running programs.
    fn prepare(&self) -> Result<ControlPlane, Error> {
        let [etcd_port, api_port] = ports::free()?;
        let user = |(name, groups): &(String, Vec<String>)| {
            Ok(TokenUser { name: name.clone(), groups: groups.clone(), token: token()? })
        };
        let plane = ControlPlane {
            running: Mutex::new(Running::default()),
            programs: self.programs.clone(),
            parts: self.parts,
            users: self.users.iter().map(user).collect::<Result<_, Error>>()?,
            pki: Pki::new()?,
            etcd_port,
            api_port,
            kubeconfigs: AtomicU32::new(0),
            folder: Folder::new()?,
        };
        write_files(&plane.folder, &plane.pki, &plane.users, &plane.server())?;
        Ok(plane)
    }

    async fn bring_up(&self, plane: &ControlPlane) -> Result<(), Error> {
        let layout = plane.layout();
        let mut running = plane.running.lock().await;
        let etcd = running.etcd.insert(plane.spawn(Program::Etcd, &layout.etcd())?);
        wait_listening(etcd, plane.etcd_port).await?;
        plane.start_apiserver_in(&mut running).await?;
        let Parts { controller_manager, scheduler, kwok, .. } = self.parts;
        for (wanted, program, args) in [
            (controller_manager, Program::KubeControllerManager, layout.kube_controller_manager()),
            (scheduler, Program::KubeScheduler, layout.kube_scheduler()),
            (kwok, Program::Kwok, layout.kwok()),
        ] {
            if wanted {
                running.others.push(plane.spawn(program, &args)?);
            }
        }
        if self.nodes == 0 {
            return Ok(());
        }
        let client = plane.client()?;
        nodes::create(&client, self.nodes).await?;
        wait_nodes(&mut running, &client, self.nodes).await
    }
}

/// etcd listens as soon as it serves: it has no peers to wait for.
async fn wait_listening(etcd: &mut Supervised, port: u16) -> Result<(), Error> {
    let started = kube_client::clock::now();
    loop {
        etcd.check()?;
        let Err(error) = TcpStream::connect(("127.0.0.1", port)).await else { return Ok(()) };
        let waited = kube_client::clock::now() - started;
        if waited > READY_WITHIN {
            return Err(etcd.late("ready", waited, error.to_string()));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Until pods can be placed. A program that has ended would make this wait in vain, so each is looked at.
async fn wait_nodes(running: &mut Running, client: &kube_client::Client, count: u32) -> Result<(), Error> {
    let started = kube_client::clock::now();
    loop {
        running.others.iter_mut().try_for_each(Supervised::check)?;
        let unready = nodes::unready(client, count).await?;
        let waited: Duration = kube_client::clock::now() - started;
        match (unready.is_empty(), running.others.last()) {
            (false, Some(kwok)) if waited > READY_WITHIN => {
                return Err(kwok.late("making its nodes ready", waited, unready.join(", ")));
            }
            (false, _) => tokio::time::sleep(LOOK_EVERY).await,
            (true, _) => return Ok(()),
        }
    }
}

/// Both servers say it in the words of the system.
fn is_port_clash(error: &Error) -> bool {
    matches!(error, Error::Exited { tail, .. } if tail.contains("address already in use"))
}
