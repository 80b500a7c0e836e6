//! A scenario's world: its database, its channel, its processes, and the ways to break them.

use crate::api::Api;
use crate::proxy::Proxy;
use crate::servers::{self, Servers, servers};
use crate::settings::{DECISION_KEY, OPERATORS, Setup};
use crate::truth::Sandbox;
use anyhow::{Context, Result};
use dev::ports::free_port;
use dev::postgres::Postgres;
use dev::process::{Child, Program};
use dev::temporal::{TemporalServer, TestServer};
use domain::operator::TokenDigest;
use domain::{Currency, MerchantId, Money, OperatorName, Sku};
use sqlx::PgPool;
use std::path::PathBuf;
use std::time::Duration;
use store::Store;
use store::catalog::{Merchant, Product};
use store::operators::KnownName;
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, WorkflowStartOptions,
};
use temporalio_common::data_converters::RawValue;
use temporalio_common::protos::temporal::api::common::v1::Payload;
use temporalio_common::protos::temporal::api::enums::v1::IndexedValueType;
use temporalio_common::protos::temporal::api::operatorservice::v1::AddSearchAttributesRequest;
use workflows::payment::PaymentWorkflow;

/// What is on the shelf of every world at first.
pub const STOCK: i64 = 1_000;
const START_LIMIT: Duration = Duration::from_secs(30);
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// Everything of one scenario. Dropping it ends its processes.
pub struct World {
    pub setup: Setup,
    pub merchant: String,
    pub task_queue: String,
    pub sandbox: Sandbox,
    pub api: Api,
    /// Direct access to the rows, as PostgreSQL's administrator, for the checker.
    pub rows: PgPool,
    /// The store under the worker's role: the door that a later source of truth uses.
    pub store: Store,
    pub client: Client,
    pub proxy: Option<Proxy>,
    pub postgres: Option<Postgres>,
    pub temporal: Option<TemporalServer>,
    pub skipping: Option<TestServer>,
    pub workers: Vec<Child>,
    /// Where the first worker and the API serve their metrics.
    pub worker_metrics: u16,
    pub api_metrics: u16,
    starter: Option<Child>,
    _sandbox: Child,
    database: String,
    folder: PathBuf,
    servers: &'static Servers,
}

impl World {
    /// Starts a world.
    ///
    /// # Panics
    /// When something does not start: the message quotes its log.
    pub async fn start(setup: Setup) -> Self {
        Self::try_start(setup).await.unwrap_or_else(|error| panic!("starting a world: {error:#}"))
    }

    async fn try_start(setup: Setup) -> Result<Self> {
        let servers = tokio::task::block_in_place(servers);
        let (name, folder) = servers.place()?;
        let postgres = tokio::task::block_in_place(|| {
            let folder = folder.join("postgres");
            setup
                .own_postgres
                .then(|| servers::start_postgres(&servers.workspace, &folder))
                .transpose()
        })?;
        let temporal = tokio::task::block_in_place(|| {
            let folder = folder.join("temporal");
            setup
                .own_temporal
                .then(|| servers::start_temporal(&servers.workspace, &folder))
                .transpose()
        })?;
        let skipping = tokio::task::block_in_place(|| {
            let log = folder.join("test-server.log");
            setup.time_skips.then(|| TestServer::start(&servers.workspace, &log)).transpose()
        })?;
        let server = postgres.as_ref().unwrap_or(&servers.postgres);
        let database = name.replace('-', "_");
        servers::create_database(server, &database)?;
        let merchant = setup.merchant.map_or_else(|| name.clone(), str::to_owned);
        load_catalog(&server.url(store::migrate::OWNER_ROLE, &database), &merchant).await?;
        let (sandbox, sandbox_process) = start_sandbox(servers, &folder, &setup)?;
        let proxy = if setup.proxy { Some(Proxy::start(server.port()).await?) } else { None };
        let address = temporal_url(servers, temporal.as_ref(), skipping.as_ref());
        let client = connect(&address).await?;
        if skipping.is_some() {
            register_attributes(&client).await?;
        }
        let mut world = Self {
            merchant,
            task_queue: format!("payments-{name}"),
            sandbox,
            api: Api::new(free_port()?),
            rows: PgPool::connect_lazy(&server.url("postgres", &database))?,
            store: Store::connect_for_payments(&server.url("oncepay_worker", &database), 4)?,
            client,
            proxy,
            postgres,
            temporal,
            skipping,
            workers: Vec::new(),
            worker_metrics: free_port()?,
            api_metrics: free_port()?,
            starter: None,
            _sandbox: sandbox_process,
            database,
            folder,
            servers,
            setup,
        };
        for _ in 0..world.setup.workers {
            world.start_worker()?;
        }
        if world.setup.api {
            world.start_api()?;
        }
        Ok(world)
    }

    /// The address of this world's database under a role.
    #[must_use]
    pub fn database_url(&self, role: &str) -> String {
        self.server().url(role, &self.database)
    }

    /// A folder of this world's own, for what a program writes beside.
    #[must_use]
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    fn server(&self) -> &Postgres {
        self.postgres.as_ref().unwrap_or(&self.servers.postgres)
    }

    #[must_use]
    pub fn temporal_url(&self) -> String {
        temporal_url(self.servers, self.temporal.as_ref(), self.skipping.as_ref())
    }

    /// Starts a payment's workflow by its id with its documented JSON, as any client may, and
    /// gives the id.
    ///
    /// # Panics
    /// When Temporal refuses.
    pub async fn start_payment(&self, input: &serde_json::Value) -> String {
        self.start_payment_at(&self.client, input).await
    }

    /// The same at another Temporal.
    ///
    /// # Panics
    /// When Temporal refuses.
    pub async fn start_payment_at(&self, client: &Client, input: &serde_json::Value) -> String {
        let payload = Payload {
            metadata: [("encoding".to_owned(), b"json/plain".to_vec())].into(),
            data: input.to_string().into_bytes(),
            ..Payload::default()
        };
        let key = input["key"].as_str().unwrap_or_default();
        let id = format!("payment/{}/{key}", self.merchant);
        let options = WorkflowStartOptions::new(self.task_queue.clone(), id.clone()).build();
        let input = RawValue::new(vec![payload]);
        client
            .start_workflow(PaymentWorkflow::run, input, options)
            .await
            .expect("Temporal starts the workflow");
        id
    }

    /// One more worker process, which polls and reaches its database when this returns.
    ///
    /// # Errors
    /// When it is not ready in time.
    pub fn start_worker(&mut self) -> Result<()> {
        let worker = self.spawn_worker(&self.temporal_url())?;
        self.workers.push(worker);
        Ok(())
    }

    fn spawn_worker(&self, temporal_url: &str) -> Result<Child> {
        let port = free_port()?;
        let log = self.folder.join(format!("worker-{port}.log"));
        let server = self.server();
        let database = match &self.proxy {
            Some(proxy) => server
                .url("oncepay_worker", &self.database)
                .replace(&format!(":{}/", server.port()), &format!(":{}/", proxy.port())),
            None => server.url("oncepay_worker", &self.database),
        };
        let worker = Program::new("worker", &self.servers.binaries.worker, &log)
            .env("ONCEPAY_DATABASE_URL", database)
            .env("ONCEPAY_DATABASE_CONNECTIONS", "20")
            .env("ONCEPAY_TEMPORAL_ADDRESS", temporal_url)
            .env("ONCEPAY_TASK_QUEUE", &self.task_queue)
            .env("ONCEPAY_WORKER_LISTEN", format!("127.0.0.1:{port}"))
            .env("ONCEPAY_WORKER_METRICS_LISTEN", format!("127.0.0.1:{}", self.worker_metrics))
            .env("ONCEPAY_SANDBOX_URL", self.sandbox.url())
            .env("ONCEPAY_SANDBOX_ACCOUNTS_FILE", self.folder.join("accounts.json"))
            .env("ONCEPAY_FULFILMENT_URL", self.sandbox.fulfilment_url())
            .env("ONCEPAY_LOOKUP_LADDER_MS", self.setup.ladder_ms)
            .env("ONCEPAY_AWAITING_PAYER_MS", self.setup.awaiting_payer_ms)
            .env("ONCEPAY_FOUR_EYES_ABOVE", self.setup.four_eyes_above)
            .env("ONCEPAY_DECISION_KEY", DECISION_KEY)
            .spawn()?;
        let ready = format!("http://127.0.0.1:{port}/readyz");
        worker.wait_until(START_LIMIT, || dev::http::is_ok(&ready))?;
        Ok(worker)
    }

    /// Another Temporal and another worker process, on the same database and the same channel.
    ///
    /// # Errors
    /// When one of them does not start.
    pub async fn second_fleet(&self) -> Result<Fleet> {
        let folder = self.folder.join("second-temporal");
        let start = || servers::start_temporal(&self.servers.workspace, &folder);
        let temporal = tokio::task::block_in_place(start)?;
        let worker = tokio::task::block_in_place(|| self.spawn_worker(&temporal.url()))?;
        let client = connect(&temporal.url()).await?;
        Ok(Fleet { client, worker, _temporal: temporal })
    }

    /// The logs of this world's processes.
    #[must_use]
    pub fn logs(&self) -> Vec<String> {
        let files = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let logs = files.filter(|file| file.path().extension().is_some_and(|end| end == "log"));
        let bytes = logs.filter_map(|file| std::fs::read(file.path()).ok());
        bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
    }

    /// Ends every worker as a power cut would.
    pub fn kill_workers(&mut self) {
        for worker in self.workers.drain(..) {
            worker.kill_9();
        }
    }

    fn start_api(&mut self) -> Result<()> {
        let log = self.folder.join("starter.log");
        let starter = Program::new("oncepay", &self.servers.binaries.oncepay, &log)
            .arg("serve")
            .env("ONCEPAY_LISTEN", format!("127.0.0.1:{}", self.api.port()))
            .env("ONCEPAY_METRICS_LISTEN", format!("127.0.0.1:{}", self.api_metrics))
            .env("ONCEPAY_DATABASE_URL", self.server().url("oncepay_api", &self.database))
            .env("ONCEPAY_TEMPORAL_ADDRESS", self.temporal_url())
            .env("ONCEPAY_TASK_QUEUE", &self.task_queue)
            .env("ONCEPAY_DECISION_KEY", DECISION_KEY)
            .spawn()?;
        let ready = format!("http://127.0.0.1:{}/readyz", self.api.port());
        starter.wait_until(START_LIMIT, || dev::http::is_ok(&ready))?;
        self.starter = Some(starter);
        Ok(())
    }
}

/// A second Temporal with a worker process of its own.
pub struct Fleet {
    pub client: Client,
    worker: Child,
    _temporal: TemporalServer,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.worker.kill_9();
        let _ = self.worker.wait(STOP_LIMIT);
    }
}

impl Drop for World {
    /// A test that failed shows what its processes complained about.
    fn drop(&mut self) {
        if std::thread::panicking() {
            for log in self.logs() {
                let complains = |line: &&str| line.contains("WARN") || line.contains("ERROR");
                for line in log.lines().filter(complains) {
                    eprintln!("{line}");
                }
            }
        }
        for child in self.starter.iter().chain(&self.workers) {
            child.resume();
            child.kill_9();
            let _ = child.wait(STOP_LIMIT);
        }
    }
}

fn temporal_url(
    servers: &Servers,
    own: Option<&TemporalServer>,
    skipping: Option<&TestServer>,
) -> String {
    let shared = || own.unwrap_or(&servers.temporal).url();
    skipping.map_or_else(shared, TestServer::url)
}

async fn connect(address: &str) -> Result<Client> {
    let options = ConnectionOptions::new(url::Url::parse(address)?).identity("scenario").build();
    let connection = Connection::connect(options).await.context("connecting to Temporal")?;
    Ok(Client::new(connection, ClientOptions::new(dev::temporal::NAMESPACE).build())?)
}

/// The server that skips time knows no search attribute by itself.
async fn register_attributes(client: &Client) -> Result<()> {
    let kind = |kind: &str| match kind {
        "Int" => IndexedValueType::Int,
        "Bool" => IndexedValueType::Bool,
        _ => IndexedValueType::Keyword,
    };
    let attributes = dev::temporal::SEARCH_ATTRIBUTES;
    let search_attributes =
        attributes.iter().map(|(name, of)| ((*name).to_owned(), kind(of) as i32)).collect();
    let namespace = dev::temporal::NAMESPACE.to_owned();
    let request = AddSearchAttributesRequest { search_attributes, namespace };
    let mut operator = client.connection().operator_service();
    operator.add_search_attributes(tonic::Request::new(request)).await?;
    Ok(())
}

fn start_sandbox(
    servers: &Servers,
    folder: &std::path::Path,
    setup: &Setup,
) -> Result<(Sandbox, Child)> {
    let accounts = folder.join("accounts.json");
    std::fs::write(&accounts, setup.accounts().to_string())?;
    let sandbox = Sandbox::at(free_port()?, free_port()?);
    let child = Program::new("sandbox", &servers.binaries.sandbox, folder.join("sandbox.log"))
        .args(["--listen", &format!("127.0.0.1:{}", sandbox.port())])
        .args(["--fulfilment-listen", &format!("127.0.0.1:{}", sandbox.fulfilment_port())])
        .arg("--accounts")
        .arg(&accounts)
        .spawn()?;
    let ready = format!("{}/healthz", sandbox.url());
    child.wait_until(START_LIMIT, || dev::http::is_ok(&ready))?;
    Ok((sandbox, child))
}

async fn load_catalog(owner_url: &str, merchant: &str) -> Result<()> {
    let store = Store::connect_lazy(owner_url, 1)?;
    let currency = Currency::parse("CNY")?;
    let id = MerchantId::parse(merchant)?;
    let shop = Merchant {
        id: id.clone(),
        name: "Test shop".to_owned(),
        currency,
        freight: 0,
        free_freight_from: None,
    };
    let tea = Product {
        merchant: id,
        sku: Sku::parse("tea")?,
        name: "Tea".to_owned(),
        unit_price: Money::new(1_999, currency)?,
        stock: STOCK,
    };
    store.load_catalog(&[shop], &[tea], &[]).await?;
    for (name, token) in OPERATORS {
        let (name, token) = (OperatorName::parse(name)?, TokenDigest::of(token)?);
        store.add_operator(&name, &token, KnownName::Refuse).await?;
    }
    store.close().await;
    Ok(())
}
