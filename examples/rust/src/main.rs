//! Plays whole matches at a Croupier server: seat 0 for itself, by the hints of the server, against
//! a bot.

mod client;
mod errors;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde_json::json;
use tonic::Status;

use client::Client;

/// The stubs that build.rs makes.
mod croupier {
    tonic::include_proto!("croupier.v1");
}

/// Plays whole matches at a Croupier server by its hints, against a bot.
#[derive(Parser)]
struct Options {
    /// The server, as HOST:PORT
    #[arg(long, default_value = "127.0.0.1:50051")]
    server: String,
    /// Use TLS, and trust the authorities of this system
    #[arg(long)]
    tls: bool,
    /// Use TLS, and trust the authorities in this PEM file
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The name that the other players see
    #[arg(long, default_value = "")]
    name: String,
    /// Play in the match of this invitation, which is of --game and allows hints
    #[arg(long, value_name = "INVITATION")]
    join: Option<String>,
    /// What to play, such as skystones
    #[arg(long, value_name = "NAME", default_value = "all")]
    game: String,
    /// Make the match reproducible (for a server with --allow-seeds)
    #[arg(long)]
    seed: Option<u64>,
    /// How long to search for each hint
    #[arg(long, default_value_t = 200)]
    iterations: u32,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(&Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(status) => {
            eprintln!("{}", errors::describe(&status));
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &Options) -> Result<(), Status> {
    let client = Client::new(options).map_err(Status::from_error)?;
    let names = if options.game == "all" {
        client.list_games().await?
    } else {
        vec![format!("games/{}", options.game)]
    };
    for name in names {
        play(&client, &name, options).await?;
    }
    Ok(())
}

/// Plays a match of a game, and prints what it came to as one line of JSON.
async fn play(client: &Client, name: &str, options: &Options) -> Result<(), Status> {
    client.forget_retries();
    let game = client.game(name).await?;
    println!(
        "{}: {} cards, rules version {}",
        game.title,
        game.cards.len(),
        game.rules_version
    );
    let seat = match &options.join {
        Some(invitation) => client.join(invitation, options).await?,
        None => client.create_match(&game, options).await?,
    };

    let mut decisions = 0;
    // --8<-- [start:watch]
    let mut newest = 0; // The version of the newest view that an answer has shown.
    let mut changes = seat.watch();
    while let Some(change) = changes.next().await? {
        let Some(view) = change.view else {
            continue; // The next change follows at once.
        };
        if view.version < newest || view.legal_actions.is_empty() {
            continue; // From before this seat's last decision, or the other seat's turn.
        }
        let hint = seat.hint(options).await?;
        newest = seat.submit(&view, hint.action).await?;
        decisions += 1;
        println!(
            "decision {decisions} at version {}, expected score {:.2}",
            view.version, hint.expected_score
        );
    }
    // --8<-- [end:watch]

    // The match is over: its last view has the result.
    let result = seat.view().await?.result.unwrap_or_default();
    let reason = result.reason().as_str_name();
    let outcome = json!({
        "game": name.trim_start_matches("games/"),
        "scores": result.scores,
        "reason": reason.trim_start_matches("END_REASON_"),
        "decisions": decisions,
        "retries": client.retries.get(),
        "resumes": client.resumes.get(),
    });
    println!("{outcome}");
    Ok(())
}
