//! The calls of this client.

use std::cell::Cell;
use std::error::Error;
use std::fs;
use std::time::Duration;

use tokio::time::timeout;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig};
use tonic::{Request, Response, Status, Streaming};
use uuid::Uuid;

use crate::Options;
use crate::croupier::catalog_service_client::CatalogServiceClient;
use crate::croupier::hint_service_client::HintServiceClient;
use crate::croupier::match_service_client::MatchServiceClient;
use crate::croupier::search::{Effort, Position};
use crate::croupier::seat_config::Occupant;
use crate::croupier::{
    Bot, BotStrength, CreateMatchRequest, Game, GetGameRequest, GetViewRequest, Hint,
    JoinMatchRequest, ListGamesRequest, MatchAction, OpenSeat, Search, SearchLimits, SeatConfig,
    SeatToken, SubmitActionRequest, SuggestActionRequest, View, WatchMatchRequest,
    WatchMatchResponse,
};
use crate::errors::{self, Patience};

const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Besides `CALL_TIMEOUT`: the longest search of a server.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(60);
const HEARTBEAT: Duration = Duration::from_secs(5);
const MAX_SILENCE: Duration = Duration::from_millis(12_500); // 2.5 heartbeats.

/// The services of one server.
pub struct Client {
    catalog: CatalogServiceClient<Channel>,
    matches: MatchServiceClient<Channel>,
    hints: HintServiceClient<Channel>,
    /// How often a call was repeated,
    pub retries: Cell<u32>,
    /// and how often a stream was resumed.
    pub resumes: Cell<u32>,
}

impl Client {
    // --8<-- [start:connect]
    /// Returns a client that connects with its first call.
    pub fn new(options: &Options) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let tls = match &options.ca {
            Some(file) => {
                let authority = Certificate::from_pem(fs::read(file)?);
                Some(ClientTlsConfig::new().ca_certificate(authority))
            }
            None => options
                .tls
                .then(|| ClientTlsConfig::new().with_native_roots()),
        };
        let scheme = if tls.is_some() { "https" } else { "http" };
        let mut endpoint = Channel::from_shared(format!("{scheme}://{}", options.server))?
            // Notice a server that has vanished in silence, also while a stream waits.
            .http2_keep_alive_interval(Duration::from_secs(20))
            .keep_alive_timeout(Duration::from_secs(8));
        if let Some(tls) = tls {
            endpoint = endpoint.tls_config(tls)?;
        }
        let channel = endpoint.connect_lazy();
        Ok(Self {
            catalog: CatalogServiceClient::new(channel.clone()),
            matches: MatchServiceClient::new(channel.clone()),
            hints: HintServiceClient::new(channel),
            retries: Cell::default(),
            resumes: Cell::default(),
        })
    }
    // --8<-- [end:connect]

    pub fn forget_retries(&self) {
        self.retries.set(0);
        self.resumes.set(0);
    }

    // --8<-- [start:retry]
    /// Repeats a call until the server answers. The requests of this client may all be repeated:
    /// they change nothing, or have a request id.
    async fn persist<T>(
        &self,
        call: impl AsyncFn() -> Result<Response<T>, Status>,
    ) -> Result<T, Status> {
        let mut patience = Patience::default();
        loop {
            match call().await {
                Ok(response) => return Ok(response.into_inner()),
                Err(status) => patience.wait(status).await?,
            }
            self.retries.update(|count| count + 1);
        }
    }
    // --8<-- [end:retry]

    /// Returns the names of all games.
    pub async fn list_games(&self) -> Result<Vec<String>, Status> {
        let listed = self
            .persist(async || {
                let request = limited(ListGamesRequest::default(), CALL_TIMEOUT);
                self.catalog.clone().list_games(request).await
            })
            .await?;
        Ok(listed.games.into_iter().map(|game| game.name).collect())
    }

    /// Returns a game with its cards.
    pub async fn game(&self, name: &str) -> Result<Game, Status> {
        let message = GetGameRequest {
            name: name.to_string(),
            ..Default::default()
        };
        let described = self
            .persist(async || {
                let request = limited(message.clone(), CALL_TIMEOUT);
                self.catalog.clone().get_game(request).await
            })
            .await?;
        described.game.ok_or_else(missing)
    }

    // --8<-- [start:create]
    /// Creates a match with the default ruleset: this client against a bot.
    pub async fn create_match(&self, game: &Game, options: &Options) -> Result<Seat<'_>, Status> {
        let me = SeatConfig {
            occupant: Some(Occupant::Open(OpenSeat {})),
            display_name: options.name.clone(),
            ..Default::default()
        };
        let strength = BotStrength::Casual.into();
        let bot = SeatConfig {
            occupant: Some(Occupant::Bot(Bot { strength })),
            ..Default::default()
        };
        let message = CreateMatchRequest {
            ruleset: game.default_ruleset.clone(),
            seats: vec![me, bot],
            seed: options.seed,
            request_id: Uuid::new_v4().to_string(), // A repeated call then creates no second match.
            ..Default::default()
        };
        let created = self
            .persist(async || {
                let request = limited(message.clone(), CALL_TIMEOUT);
                self.matches.clone().create_match(request).await
            })
            .await?;
        // There is one token for each open seat, and only seat 0 is open.
        self.seat(created.name, created.seat_tokens.first())
    }
    // --8<-- [end:create]

    /// Takes the seat that an invitation is for.
    pub async fn join(&self, invitation: &str, options: &Options) -> Result<Seat<'_>, Status> {
        let message = JoinMatchRequest {
            invitation: invitation.to_string(),
            display_name: options.name.clone(),
            request_id: Uuid::new_v4().to_string(), // A repeated call then gets the same token.
            ..Default::default()
        };
        let joined = self
            .persist(async || {
                let request = limited(message.clone(), CALL_TIMEOUT);
                self.matches.clone().join_match(request).await
            })
            .await?;
        self.seat(joined.name, joined.seat_token.as_ref())
    }

    fn seat(&self, name: String, token: Option<&SeatToken>) -> Result<Seat<'_>, Status> {
        let bearer = format!("Bearer {}", token.ok_or_else(missing)?.token);
        Ok(Seat {
            client: self,
            name,
            bearer: bearer.parse().map_err(|_| missing())?,
        })
    }
}

/// A match, with the token of this client's seat.
pub struct Seat<'a> {
    client: &'a Client,
    name: String,
    bearer: MetadataValue<Ascii>,
}

impl Seat<'_> {
    /// Returns a request that speaks for the seat.
    fn authorized<T>(&self, mut request: Request<T>) -> Request<T> {
        let metadata = request.metadata_mut();
        metadata.insert("authorization", self.bearer.clone());
        request
    }

    /// Follows the match.
    pub fn watch(&self) -> Changes<'_> {
        Changes {
            seat: self,
            stream: None,
            max_silence: Duration::MAX,
            after_version: None,
            patience: Patience::default(),
        }
    }

    /// Returns what the seat knows of the match now.
    pub async fn view(&self) -> Result<View, Status> {
        let message = GetViewRequest {
            name: self.name.clone(),
            ..Default::default()
        };
        let response = self
            .client
            .persist(async || {
                let request = self.authorized(limited(message.clone(), CALL_TIMEOUT));
                self.client.matches.clone().get_view(request).await
            })
            .await?;
        response.view.ok_or_else(missing)
    }

    // --8<-- [start:hint]
    /// Asks what to play; the server searches with what the seat knows.
    pub async fn hint(&self, options: &Options) -> Result<Hint, Status> {
        let limits = SearchLimits {
            iterations: options.iterations,
            ..Default::default()
        };
        let search = Search {
            position: Some(Position::MatchName(self.name.clone())),
            effort: Some(Effort::Limits(limits)),
            seed: options.seed,
            ..Default::default()
        };
        let message = SuggestActionRequest {
            search: Some(search),
            ..Default::default()
        };
        let response = self
            .client
            .persist(async || {
                let request = limited(message.clone(), CALL_TIMEOUT + SEARCH_TIMEOUT);
                let request = self.authorized(request);
                self.client.hints.clone().suggest_action(request).await
            })
            .await?;
        response.hint.ok_or_else(missing)
    }
    // --8<-- [end:hint]

    // --8<-- [start:submit]
    /// Plays an action as the answer to a view; returns the version after it.
    pub async fn submit(&self, view: &View, action: Option<MatchAction>) -> Result<u64, Status> {
        let message = SubmitActionRequest {
            name: self.name.clone(),
            expected_version: Some(view.version),
            action,
            request_id: Uuid::new_v4().to_string(), // A repeated call then counts once.
            ..Default::default()
        };
        let response = self
            .client
            .persist(async || {
                let request = self.authorized(limited(message.clone(), CALL_TIMEOUT));
                self.client.matches.clone().submit_action(request).await
            })
            .await;
        match response {
            Ok(response) => Ok(response.view.ok_or_else(missing)?.version),
            // The match has gone on. The stream shows the newer view.
            Err(status) if errors::reason(&status) == "STALE_VERSION" => Ok(view.version),
            Err(status) => Err(status),
        }
    }
    // --8<-- [end:submit]
}

/// The versions of a match, from a stream that is resumed when it breaks or falls silent.
pub struct Changes<'a> {
    seat: &'a Seat<'a>,
    stream: Option<Streaming<WatchMatchResponse>>,
    max_silence: Duration,
    after_version: Option<u64>,
    patience: Patience,
}

impl Changes<'_> {
    /// Returns the next version, or None when the match is over.
    pub async fn next(&mut self) -> Result<Option<WatchMatchResponse>, Status> {
        loop {
            match self.receive().await {
                Ok(change) => {
                    self.patience = Patience::default();
                    if !change.as_ref().is_some_and(|change| change.up_to_date) {
                        return Ok(change);
                    }
                    self.max_silence = MAX_SILENCE;
                }
                Err(status) => {
                    self.patience.wait(status).await?;
                    let resumes = &self.seat.client.resumes;
                    resumes.update(|count| count + 1);
                }
            }
        }
    }

    async fn receive(&mut self) -> Result<Option<WatchMatchResponse>, Status> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let request = self.seat.authorized(Request::new(WatchMatchRequest {
                    name: self.seat.name.clone(),
                    after_version: self.after_version,
                    heartbeat_interval: HEARTBEAT.try_into().ok(),
                    ..Default::default()
                }));
                self.max_silence = Duration::MAX; // An older server has no heartbeats.
                let mut matches = self.seat.client.matches.clone();
                matches.watch_match(request).await?.into_inner()
            }
        };
        // A proxy can lose the server without a word, and keep its connection to this client.
        let change = timeout(self.max_silence, stream.message())
            .await
            .map_err(|_| Status::deadline_exceeded("the stream has fallen silent"))??;
        if let Some(change) = &change {
            self.after_version = Some(change.version);
        }
        self.stream = Some(stream); // Not kept after an error: the next call opens another one.
        Ok(change)
    }
}

/// Returns a request with a deadline.
fn limited<T>(message: T, timeout: Duration) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(timeout);
    request
}

fn missing() -> Status {
    Status::data_loss("the response lacks a field that it must have")
}
