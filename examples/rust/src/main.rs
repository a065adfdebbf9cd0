//! Plays a whole match at a Croupier server by its hints, against a bot.

use std::time::{Duration, Instant};
use std::{cell::Cell, error::Error, fs, iter::successors, path::PathBuf, process::exit};

use clap::Parser;
use serde_json::json;
use tokio::time::{sleep, timeout};
use tonic::metadata::MetadataValue;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Response, Status};
use tonic_types::StatusExt;
use uuid::Uuid;

use catalog_service_client::CatalogServiceClient;
use hint_service_client::HintServiceClient;
use match_service_client::MatchServiceClient;

tonic::include_proto!("croupier.v1"); // The stubs that build.rs makes.

/// Plays a whole match at a Croupier server by its hints, against a bot.
#[derive(Parser)]
struct Options {
    #[arg(long, default_value = "127.0.0.1:50051", help = "The server, as HOST:PORT")]
    server: String,
    #[arg(long, help = "Use TLS, and trust the authorities of this system")]
    tls: bool,
    #[arg(long, value_name = "FILE", help = "Use TLS, and trust the authorities in this PEM file")]
    ca: Option<PathBuf>,
    #[arg(long, default_value = "", help = "The name that the other players see")]
    name: String,
    #[arg(
        long,
        help = "Play in the match of this invitation, which is of --game and allows hints"
    )]
    join: Option<String>,
    #[arg(long, default_value = "skystones", help = "What to play")]
    game: String,
    #[arg(long, help = "Make the match reproducible (for a server with --allow-seeds)")]
    seed: Option<u64>,
    #[arg(long, default_value_t = 200, help = "How long to search for each hint")]
    iterations: u32,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    if let Err(failure) = play(&Options::parse()).await {
        let causes = successors(Some(failure.as_ref() as &dyn Error), |&error| error.source());
        causes.for_each(|cause| eprintln!("{cause}"));
        let status = failure.downcast_ref().map(Status::get_error_details_vec);
        status.iter().flatten().for_each(|detail| eprintln!("  {detail:?}")); // Quotas and so on.
        exit(1);
    }
}

/// Plays a match, and prints what it came to as one line of JSON.
async fn play(options: &Options) -> Result<(), Box<dyn Error + Send + Sync>> {
    // --8<-- [start:connect]
    let scheme = if options.tls || options.ca.is_some() { "https" } else { "http" };
    let mut endpoint = Endpoint::new(format!("{scheme}://{}", options.server))?
        // Notice a server that has vanished in silence, also while a stream waits.
        .http2_keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(8));
    if let Some(file) = &options.ca {
        let authority = Certificate::from_pem(fs::read(file)?);
        endpoint = endpoint.tls_config(ClientTlsConfig::new().ca_certificate(authority))?;
    }
    let channel = endpoint.connect_lazy();
    let mut catalog = CatalogServiceClient::new(channel.clone());
    let mut matches = MatchServiceClient::new(channel.clone());
    // --8<-- [end:connect]

    let (retries, resumes) = (Cell::new(0), Cell::new(0)); // Calls repeated, and streams resumed.
    let game = GetGameRequest { name: format!("games/{}", options.game), ..Default::default() };
    let described = call(&retries, 30, game, async |it| catalog.get_game(it).await).await?;
    let request_id = Uuid::new_v4().to_string(); // Repeated calls then have the effect of one.
    let display_name = options.name.clone();
    let (name, token) = if let Some(invitation) = options.join.clone() {
        let join = JoinMatchRequest { invitation, display_name, request_id, ..Default::default() };
        let joined = call(&retries, 30, join, async |it| matches.join_match(it).await).await?;
        (joined.name, joined.seat_token)
    } else {
        // --8<-- [start:create]
        let occupant = Some(seat_config::Occupant::Open(OpenSeat {}));
        let me = SeatConfig { occupant, display_name, ..Default::default() };
        let occupant =
            Some(seat_config::Occupant::Bot(Bot { strength: BotStrength::Casual.into() }));
        let bot = SeatConfig { occupant, ..Default::default() };
        let deal = CreateMatchRequest {
            ruleset: described.game.unwrap_or_default().default_ruleset,
            seats: vec![me, bot],
            seed: options.seed,
            request_id,
            ..Default::default()
        };
        let created = call(&retries, 30, deal, async |it| matches.create_match(it).await).await?;
        // There is one token for each open seat, and only seat 0 is open.
        (created.name, created.seat_tokens.first().cloned())
        // --8<-- [end:create]
    };
    let bearer = MetadataValue::try_from(format!("Bearer {}", token.unwrap_or_default().token))?;
    let authorize = move |mut request: Request<()>| {
        request.metadata_mut().insert("authorization", bearer.clone());
        Ok(request)
    };
    let mut hints = HintServiceClient::with_interceptor(channel.clone(), authorize.clone());
    let mut matches = MatchServiceClient::with_interceptor(channel, authorize);

    let mut decisions = 0;
    let mut newest = 0; // The version of the newest view that an answer has shown.
    let mut result = MatchResult::default();
    let mut after_version = None;
    // --8<-- [start:watch]
    // When the stream breaks or falls silent, it is resumed after the last version that came.
    repeat(&resumes, async |answered| {
        let message = WatchMatchRequest {
            name: name.clone(),
            after_version,
            heartbeat_interval: Duration::from_secs(5).try_into().ok(),
            ..Default::default()
        };
        let mut stream = matches.watch_match(message).await?.into_inner();
        let mut silence = Duration::MAX; // Until the server has proved that it is up to date.
        loop {
            // A proxy can lose the server without a word, and keep its connection to this client.
            let silent = |_| Status::deadline_exceeded("the stream has fallen silent");
            let Some(change) = timeout(silence, stream.message()).await.map_err(silent)?? else {
                return Ok(Ok(())); // The match is over.
            };
            answered.set(true);
            after_version = Some(change.version);
            if change.up_to_date {
                silence = Duration::from_millis(12_500); // 2.5 heartbeats.
            }
            let view = change.view.unwrap_or_default(); // Empty if the next change follows at once.
            result = view.result.unwrap_or_default();
            if view.version < newest || view.legal_actions.is_empty() {
                continue; // From before this seat's last decision, or the other seat's turn.
            }
            // --8<-- [start:hint]
            // The server searches with what the seat knows.
            let limits = SearchLimits { iterations: options.iterations, ..Default::default() };
            let search = Search {
                position: Some(search::Position::MatchName(name.clone())),
                effort: Some(search::Effort::Limits(limits)),
                seed: options.seed,
                ..Default::default()
            };
            let message = SuggestActionRequest { search: Some(search), ..Default::default() };
            let suggest = async |it| hints.suggest_action(it).await; // It may take 60 s more.
            let hint = match call(&retries, 90, message, suggest).await {
                Ok(suggested) => suggested.hint.unwrap_or_default(),
                Err(refused) => return Ok(Err(refused)),
            };
            // --8<-- [end:hint]
            // --8<-- [start:submit]
            let message = SubmitActionRequest {
                name: name.clone(),
                expected_version: Some(view.version),
                action: hint.action,
                request_id: Uuid::new_v4().to_string(), // A repeated call then counts once.
                ..Default::default()
            };
            let submit = async |it| matches.submit_action(it).await;
            match call(&retries, 30, message, submit).await {
                Ok(submitted) => newest = submitted.view.unwrap_or_default().version,
                // The match has gone on. The stream shows the newer view.
                Err(refused) if reason(&refused).as_deref() == Some("STALE_VERSION") => continue,
                Err(refused) => return Ok(Err(refused)),
            }
            // --8<-- [end:submit]
            decisions += 1;
            println!("decision {decisions} at version {}", view.version);
        }
    })
    .await??;
    // --8<-- [end:watch]

    let reason = result.reason().as_str_name().trim_start_matches("END_REASON_");
    let outcome = json!({
        "game": options.game, "scores": result.scores, "reason": reason, "decisions": decisions,
        "retries": retries.get(), "resumes": resumes.get(),
    });
    println!("{outcome}");
    Ok(())
}

// --8<-- [start:retry]
/// Gives each attempt of a call a deadline, and repeats the call until the server answers. It may:
/// the requests of this client change nothing, or have a request id.
async fn call<M: Clone, T>(
    count: &Cell<u32>,
    seconds: u64,
    message: M,
    mut method: impl AsyncFnMut(Request<M>) -> Result<Response<T>, Status>,
) -> Result<T, Status> {
    let attempt = async |_: &Cell<bool>| {
        let mut request = Request::new(message.clone());
        request.set_timeout(Duration::from_secs(seconds));
        method(request).await
    };
    Ok(repeat(count, attempt).await?.into_inner())
}

/// Makes attempts until one succeeds, or its error will not pass. An attempt sets its argument when
/// the server has answered, so that the time starts over.
async fn repeat<T>(
    count: &Cell<u32>,
    mut attempt: impl AsyncFnMut(&Cell<bool>) -> Result<T, Status>,
) -> Result<T, Status> {
    let answered = Cell::new(true);
    let (mut next_pause, mut until) = (Duration::ZERO, Instant::now());
    loop {
        let status = match attempt(&answered).await {
            Ok(result) => return Ok(result),
            Err(status) => status,
        };
        if answered.take() {
            next_pause = Duration::from_millis(100);
            until = Instant::now() + Duration::from_secs(30);
        }
        let refused = reason(&status).is_some();
        let delay = status.get_details_retry_info().and_then(|info| info.retry_delay);
        let temporary = match status.code() {
            // The server says so, or nobody is there.
            Code::Unavailable => !format!("{status:?}").contains("InvalidCertificate"),
            // The connection was lost, or a proxy has lost the server.
            Code::Internal | Code::Unknown | Code::Cancelled | Code::DeadlineExceeded => !refused,
            Code::ResourceExhausted => refused && delay.is_some(),
            _ => false,
        };
        // A fifth more or less, so that the clients of a lost server come back apart.
        let pause = delay.unwrap_or(next_pause.mul_f64(rand::random_range(0.8..1.2)));
        if !temporary || Instant::now() + pause > until {
            return Err(status);
        }
        next_pause = (2 * next_pause).min(Duration::from_secs(2));
        sleep(pause).await;
        count.update(|count| count + 1);
    }
}
// --8<-- [end:retry]

// --8<-- [start:errors]
/// Returns why a call was refused, such as "STALE_VERSION", if the server itself has said so.
fn reason(status: &Status) -> Option<String> {
    let info = status.get_details_error_info()?;
    (info.domain == "croupier.v1").then_some(info.reason)
}
// --8<-- [end:errors]
